"""Records into what a template prints; pure, so that they are tested by tables."""
