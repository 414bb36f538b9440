"""Find packages: one index in SQL, with FTS5 on SQLite and tsvector on PostgreSQL; a cache that is made anew at any time."""
