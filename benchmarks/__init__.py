"""What Saga Flow costs, beside what the database can do (see README.md)."""
