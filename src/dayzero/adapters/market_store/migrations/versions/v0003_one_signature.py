"""A signature is one row: the list of what is affirmed is held to that of its terms; no row of its own for each, and no seal."""

from dayzero.adapters.market_store.migrations.script import run_script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Write the lists that the rows of before make, hold them to each other, and let those rows go: the journal has them."""
    run_script("v0003_one_signature")


def downgrade() -> None:
    """Refuse: history is not taken back.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("the market's history is only appended to")
