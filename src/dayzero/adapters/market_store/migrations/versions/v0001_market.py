"""The first schema: accounts, offer, signatures, orders, money, entitlements, journal, blocks."""

from dayzero.adapters.market_store.migrations.script import run_script

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make every table, index, function and trigger."""
    run_script("v0001_market")


def downgrade() -> None:
    """Refuse: history is not taken back.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("the market's history is only appended to")
