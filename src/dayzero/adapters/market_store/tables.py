"""Every table of the market, by name: the books, and beside them who may sign in."""

from collections.abc import Mapping

from sqlalchemy import Table

from dayzero.adapters.market_store import money_tables, offer_tables
from dayzero.adapters.market_store.columns import METADATA
from dayzero.adapters.market_store.sign_in_tables import SIGN_IN

__all__ = ["APPEND_ONLY", "KEPT", "METADATA", "SIGN_IN", "TABLES", "money_tables", "offer_tables"]

TABLES: Mapping[str, Table] = {table.name: table for table in METADATA.sorted_tables if table.name not in SIGN_IN}
"""The books; :data:`SIGN_IN` stands beside them."""

KEPT = "balance"
"""The one table whose rows change: triggers keep it, and nobody writes to it."""

APPEND_ONLY = tuple(name for name in sorted(TABLES) if name != KEPT)
