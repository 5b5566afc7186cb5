"""What workflow authors touch; ``import saga_flow`` offers all of it."""
