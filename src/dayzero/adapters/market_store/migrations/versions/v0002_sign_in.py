"""Who may sign in: credentials, sessions, tokens, and how often something was tried."""

from dayzero.adapters.market_store.migrations.script import run_script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables beside the books."""
    run_script("v0002_sign_in")


def downgrade() -> None:
    """Refuse: history is not taken back.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("the market's history is only appended to")
