"""The first schema: accounts, offer, signatures, orders, money, entitlements, journal, blocks."""

from importlib.resources import files

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make every table, index, function and trigger."""
    connection = op.get_bind()
    script = files(__package__ or "dayzero.adapters.market_store.migrations.versions").joinpath(
        f"v0001_market.{connection.dialect.name}.sql"
    )
    for statement in script.read_text(encoding="utf-8").split("\n--;;\n"):
        connection.exec_driver_sql(statement)


def downgrade() -> None:
    """Refuse: history is not taken back.

    Raises:
        NotImplementedError: Always.
    """
    raise NotImplementedError("the market's history is only appended to")
