"""One reference holds an order to its price and one a right to its order, where several were; what an index says twice is gone."""

from dayzero.adapters.market_store.migrations.script import run_script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Write beside each name that may be missing what it is or that there is none, and hold the rows to each other by that."""
    run_script("v0004_one_reference")


def downgrade() -> None:
    """Refuse: history is not taken back.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("the market's history is only appended to")
