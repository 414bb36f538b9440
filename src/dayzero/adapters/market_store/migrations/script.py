"""Run what a migration holds for one database: statements in a file beside it, each as it was on the day it was written."""

from importlib.resources import files

from alembic import op


def run_script(name: str) -> None:
    """Run the statements of a migration.

    Args:
        name: The file's name before the database's: ``v0001_market`` for ``v0001_market.sqlite.sql``.
    """
    connection = op.get_bind()
    folder = files("dayzero.adapters.market_store.migrations.versions")
    script = folder.joinpath(f"{name}.{connection.dialect.name}.sql")
    for statement in script.read_text(encoding="utf-8").split("\n--;;\n"):
        connection.exec_driver_sql(statement)
