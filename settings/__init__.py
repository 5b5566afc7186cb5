"""The settings of this project: base, dev, test and production."""
