"""The books of the market in a database: tables, what they refuse, migrations, and one transaction at a time."""
