"""The console: what an operator sees of the runs."""
