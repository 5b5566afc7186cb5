"""Workflows of every kind, for tests that need real processes."""
