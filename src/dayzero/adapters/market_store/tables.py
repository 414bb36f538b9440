"""Every table of the market, by name."""

from collections.abc import Mapping

from sqlalchemy import Table

from dayzero.adapters.market_store import money_tables, offer_tables
from dayzero.adapters.market_store.columns import METADATA

__all__ = ["APPEND_ONLY", "KEPT", "METADATA", "TABLES", "money_tables", "offer_tables"]

TABLES: Mapping[str, Table] = {table.name: table for table in METADATA.sorted_tables}

KEPT = "balance"
"""The one table whose rows change: triggers keep it, and nobody writes to it."""

APPEND_ONLY = tuple(name for name in sorted(TABLES) if name != KEPT)
