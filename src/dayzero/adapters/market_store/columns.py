"""What the tables are written with."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Text,
    UniqueConstraint,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

METADATA = MetaData()


def text(name: str, *, null: bool = False) -> Column[str]:
    """Make a column of text."""
    return Column(name, Text, nullable=null)


def whole(name: str, *, null: bool = False) -> Column[int]:
    """Make a column of whole minor units of money."""
    return Column(name, BigInteger, nullable=null)


def small(name: str, *, null: bool = False) -> Column[int]:
    """Make a column of small whole numbers; 0 and 1 where it is a flag."""
    return Column(name, Integer, nullable=null)


def filled(name: str, of: str) -> Column[str]:
    """Make the column that says what a nullable one says, and ``''`` where that is empty: a reference over it is never skipped."""
    return Column(name, Text, Computed(f"coalesce({of}, '')", persisted=True), nullable=False)


def unique(table: str, columns: str) -> UniqueConstraint:
    """Let no two rows agree in these columns; a name of PostgreSQL has at most 63 bytes."""
    names = columns.split()
    return UniqueConstraint(*names, name=f"{table}_uq_{'_'.join(name.removesuffix('_id') for name in names)}"[:63])


def check(name: str, rule: str) -> CheckConstraint:
    """Hold each row to a rule."""
    return CheckConstraint(rule, name=name)


def refers(name: str, columns: str, target: str, names: str) -> ForeignKeyConstraint:
    """Have these columns name a row of another table, which is unique in them."""
    return ForeignKeyConstraint(columns.split(), [f"{target}.{entry}" for entry in names.split()], name=name)


HEX = "length({0}) = 64"
SAID = "length(trim({0})) > 0"


class UtcNow(FunctionElement[str]):
    """The database's own clock: UTC, RFC 3339, to the second."""

    inherit_cache = True


@compiles(UtcNow, "sqlite")
def _sqlite_now(_element: UtcNow, _compiler: SQLCompiler, **_: object) -> str:
    return "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')"


@compiles(UtcNow, "postgresql")
def _postgres_now(_element: UtcNow, _compiler: SQLCompiler, **_: object) -> str:
    return "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
