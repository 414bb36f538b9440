"""The databases: SQLite by default, PostgreSQL for scale, both through SQLAlchemy."""
