"""State that many agents share, in SQL: one set of tables for SQLite and PostgreSQL."""
