"""Books in which a row stood for each affirmation are brought to one row a signature, and the audit holds that to what was recorded."""

from collections.abc import Iterator

import pytest
import sqlalchemy
from alembic import command
from tests.market import books

from dayzero.adapters.market_store.migrate import config_for, migrate
from dayzero.adapters.store.engine import open_engine
from dayzero.core.errors import IntegrityError
from dayzero.market.affirmation import as_kept, listed
from dayzero.market.audit import audit
from dayzero.market.chain import Head, entry_row, rows_in
from dayzero.market.model import Deed, Purchase, Row
from dayzero.market.order import buy

SEALED = "signature_seal"


def as_before(rows: tuple[Row, ...]) -> Iterator[Row]:
    """Write rows as the schema of before had them: a list of its own nowhere, and a row for each affirmation and the seal."""
    for row in rows:
        values = {name: value for name, value in row.values.items() if name != "affirmations"}
        yield Row(row.table, values)
        if row.table == "signature":
            made = row.values["affirmations"].split(" ")
            of = {"signature_id": row.values["id"], "terms_id": row.values["terms_id"]}
            for ord_, sha256 in enumerate(made, start=1):
                yield Row("signature_affirmation", {**of, "ord": ord_, "prev_ord": ord_ - 1 or None, "sha256": sha256})
            seal = {"account_id": row.values["account_id"], "last_ord": len(made), "at": row.values["signed_at"]}
            yield Row(SEALED, {**of, **seal})


@pytest.fixture
def before(place, owner, shop, market, tmp_path, request):
    """Give books of the schema before, with the same sales and chains as they were written then, and the sales as they are."""
    books.fund(owner, shop.buyer, 3_000_000)
    order = books.buy_signed(market, shop)
    buy(market, Purchase(account_id=shop.buyer, key="second", tier_id=shop.community))
    journal = owner.books.read(lambda desk: desk.every("journal"))
    fresh = place.cluster and place.cluster.url(request.getfixturevalue("postgres_database"))
    database = fresh or str(tmp_path / "before.db")
    engine = open_engine(database)
    with engine.begin() as connection:
        command.upgrade(config_for(connection), "0002")
    heads: dict[str, Head] = {}
    with engine.begin() as connection:
        for entry in sorted(
            journal, key=lambda entry: (entry["account_id"] != "house", entry["account_id"], entry["seq"])
        ):
            account = entry["account_id"]
            deed = Deed(account=account, kind=entry["kind"], at="then", rows=tuple(as_before(rows_in(entry["body"]))))
            written = entry_row(deed, heads.get(account, Head()))
            heads[account] = Head(written.values["seq"], written.values["hash"])
            for row in (*deed.rows, written):
                put(connection, row)
    yield engine, database, order
    engine.dispose()


def put(connection, row: Row) -> None:
    names = ", ".join(row.values)
    statement = f"INSERT INTO {row.table} ({names}) VALUES ({', '.join(f':{name}' for name in row.values)})"
    connection.execute(sqlalchemy.text(statement), row.values)


def everything(market, table: str) -> tuple[object, ...]:
    return market.books.read(lambda desk: desk.every(table))


def test_books_of_before_are_brought_over_whole_and_hold(before, owner, clock):
    engine, database, order = before
    assert migrate(engine) == "0005"
    with books.market_at(database, clock) as brought:
        for table in ("terms", "terms_affirmation", "signature", "orders", "transfer", "entitlement", "balance"):
            assert everything(brought, table) == everything(owner, table)
            assert everything(owner, table)
        found = audit(brought)
        assert found.findings == ()
        assert found.rows == audit(owner).rows
        assert order.entitlement_id


def test_what_is_brought_over_otherwise_than_it_was_recorded_is_found(before, clock):
    engine, database, _ = before
    with engine.begin() as connection:  # as an owner who tampers before the upgrade
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SET session_replication_role = replica")
        else:
            connection.exec_driver_sql("DROP TRIGGER signature_not_updated")
        connection.exec_driver_sql("UPDATE signature SET signer = 'Eve'")
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SET session_replication_role = origin")
    migrate(engine)
    with books.market_at(database, clock) as brought:
        assert [(found.kind, found.reason.partition(";")[0]) for found in audit(brought).findings] == [
            ("row", "signer is 'Eve', recorded was 'Ada Byron'")
        ]


def test_books_with_a_signature_that_is_not_whole_are_left_as_they_are(before):
    engine, _, _ = before
    with engine.begin() as connection:
        held = dict(connection.exec_driver_sql("SELECT * FROM signature").mappings().one())
        put(connection, Row("signature", {**held, "id": "unsealed"}))
    with pytest.raises(IntegrityError, match=r"does not hold to the schema: .*affirmations") as refused:
        migrate(engine)
    assert "Nothing was changed" in refused.value.hint
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one() == "0002"
        assert connection.exec_driver_sql("SELECT count(*) FROM signature_affirmation").scalar_one() == 4


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_file_whose_references_do_not_hold_is_left_as_it_is(before):
    engine, _, _ = before
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        driver.execute("PRAGMA foreign_keys = OFF")
        with connection.begin():
            connection.exec_driver_sql("INSERT INTO tier_withdrawal VALUES ('none', 'why', 'then')")
        driver.execute("PRAGMA foreign_keys = ON")
    with pytest.raises(IntegrityError, match="a row of tier_withdrawal refers to none of price_tier"):
        migrate(engine)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one() == "0002"
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_the_applications_role_signs_after_the_schema_changed_under_it(before, place, shop, clock):
    engine, database, _ = before
    with engine.begin() as connection:
        connection.exec_driver_sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {books.APPLICATION}")
        connection.exec_driver_sql("ALTER TABLE transfer ENABLE ROW LEVEL SECURITY")
        connection.exec_driver_sql(
            f"CREATE POLICY transfer_{books.APPLICATION}_reads ON transfer FOR SELECT TO {books.APPLICATION} USING (true)"
        )
    migrate(engine)
    as_application = database.replace(f"//{place.cluster.user}@", f"//{books.APPLICATION}@")
    assert as_application != database
    with books.market_at(as_application, clock) as brought:
        assert books.buy_signed(brought, shop, "later").state == "paid"
        assert audit(brought).findings == ()


SIGNATURE = Row("signature", {"id": "s"})
MADE = Row("signature_affirmation", {"signature_id": "s", "ord": 1, "sha256": "a"})
SEAL = Row(SEALED, {"signature_id": "s", "last_ord": 1})
TERMS = (
    Row("terms", {"id": "t"}),
    *(Row("terms_affirmation", {"terms_id": "t", "ord": n, "sha256": str(n)}) for n in (1, 2)),
)


@pytest.mark.parametrize(
    "rows",
    [
        (MADE,),
        (SEAL,),
        (SIGNATURE,),
        (SIGNATURE, MADE),
        (SIGNATURE, SEAL),
        (SIGNATURE, MADE, MADE, SEAL),
        (Row("signature", {"id": "s", "affirmations": "a"}), MADE, SEAL),
    ],
)
def test_an_entry_that_records_a_part_of_a_signature_is_not_read_as_one(rows):
    with pytest.raises(IntegrityError, match="no whole signature"):
        as_kept(rows)


def test_an_entry_of_before_reads_as_the_rows_of_today_and_one_of_today_as_it_is():
    assert as_kept((SIGNATURE, MADE, SEAL)) == (Row("signature", {"id": "s", "affirmations": "a"}),)
    brought = as_kept(TERMS)
    assert {row.values["affirmations"] for row in brought} == {listed(["1", "2"])}
    assert [row.table for row in brought] == ["terms", "terms_affirmation", "terms_affirmation"]
    assert as_kept(brought) is brought
