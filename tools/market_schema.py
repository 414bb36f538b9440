"""Write the schema of the market as the files of its first migration: one a database, statements apart by a line of ``--;;``.

    python -m tools.market_schema FOLDER

A later migration is written by hand; tests/adapters/market_store/test_migrations.py holds what all of them make to the tables.
"""

import sys
from pathlib import Path

from dayzero.adapters.market_store.schema import statements


def main() -> None:
    """Write both files."""
    for backend in ("sqlite", "postgresql"):
        text = "\n--;;\n".join(statements(backend)) + "\n"
        (Path(sys.argv[1]) / f"v0001_market.{backend}.sql").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
