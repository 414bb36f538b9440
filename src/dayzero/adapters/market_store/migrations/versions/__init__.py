"""Migrations of the market's schema, run by Alembic for both databases."""
