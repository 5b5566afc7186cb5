"""
Decides what happens next and makes it happen: passes, attempts, rollbacks.

Empty on purpose: importing the drivers here would pull the tables into
``import saga_flow``.
"""
