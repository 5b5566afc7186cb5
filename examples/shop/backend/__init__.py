"""
The fake outside world: gateway, warehouse, carrier and mail server.

Every function is plain Python with one short transaction of its own and knows
nothing of sagas. Called again with the same idempotency key it answers as it did
the first time and changes nothing.
"""
