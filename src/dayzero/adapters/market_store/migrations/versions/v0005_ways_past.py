"""Ways past the refusals are closed: money without its delivery, the owner's functions, SQLite's row numbers and types."""

from dayzero.adapters.market_store.migrations.script import run_script

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the triggers that were missing, and take the owner's functions out of everybody's hands; no row changes."""
    run_script("v0005_ways_past")


def downgrade() -> None:
    """Refuse: history is not taken back.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("the market's history is only appended to")
