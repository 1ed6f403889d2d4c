"""A store in PostgreSQL, shared by processes on many machines (extra `postgres`)."""
