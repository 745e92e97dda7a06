"""The service: every operation over HTTP, for this machine and this user alone."""
