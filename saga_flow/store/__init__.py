"""
The only writer of engine tables.

Each module is a noun and each function one transaction or one statement of
docs/writes.md, whose row numbers the docstrings name.
"""
