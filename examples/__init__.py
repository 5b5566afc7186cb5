"""Example projects that run against the engine; not part of the package."""
