"""The same real PostgreSQL that the store is tried on."""

from store.conftest import postgresql, server

__all__ = ["postgresql", "server"]
