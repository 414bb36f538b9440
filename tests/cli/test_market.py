"""``dayzero market``, end to end in SQLite: what the operator types, and what is printed and answered."""

import csv
import json
import sqlite3
from pathlib import Path

import pytest
from tests.market import books, stall

from dayzero.cli.main import run
from dayzero.identity.errors import TurnedAwayError
from dayzero.identity.sign_in import check_password
from dayzero.market.model import AFFIRMATION_KINDS, Purchase
from dayzero.market.order import buy
from dayzero.wiring.market import shipped_terms

TERMS = """
title = "Enterprise licence"
body = "The recipe is configuration and documentation.\\nThe licensee keeps it to itself.\\n"
""" + "".join(f'\n[[affirmation]]\nkind = "{each.kind}"\nbody = "{each.body}"\n' for each in books.TERMS.affirmations)


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Type commands in a folder with a market, a terms file, a definition and a kit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAYZERO_MARKET", str(tmp_path / "market.db"))
    Path("terms.toml").write_text(TERMS, encoding="utf-8")
    Path("package.toml").write_text("name = 'kimi-k3'", encoding="utf-8")
    Path("kit.zip").write_bytes(b"kit")

    def type_(line: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(["market", *line.split()]) == code, capsys.readouterr().err
        said = capsys.readouterr()
        return (said.out if code != 2 else said.err).strip()

    return type_


@pytest.fixture
def opened(typed):
    """Put a package on offer, and give a buyer credit, by commands alone."""
    typed("init")
    typed("threshold EUR 500000")
    typed("version kimi-k3 1.0.0 --definition package.toml --kit kit.zip")
    terms = typed("terms terms.toml")
    price = f"tier enterprise kimi-k3 --version 1.0.0 --amount-minor 900000 --currency EUR --terms {terms}"
    found = {"terms": terms, "tier": typed(price), "buyer": typed("account acme")}
    typed("grant acme 2000000 EUR --key invoice-1 --why prepaid")
    return found


def sell(opened, clock) -> str:
    with books.market_at("market.db", clock) as market:
        asked = Purchase(account_id=opened["buyer"], key="k", tier_id=opened["tier"], signing=books.signing())
        return buy(market, asked).id


def test_a_market_is_made_stocked_sold_from_refunded_and_audited(typed, opened, clock):
    assert typed("terms terms.toml") == opened["terms"]
    first = typed("grant acme 2000000 EUR --key invoice-1 --why prepaid")
    assert first == typed("grant acme 2000000 EUR --key invoice-1 --why prepaid")
    order = sell(opened, clock)
    assert typed("audit").startswith("proven\nchecked: ")
    assert typed(f"refund {order} --key r1 --why asked --amount-minor 1") == f"order {order} is paid"
    assert typed(f"refund {order} --key r2 --why asked") == f"order {order} is refunded"
    assert typed("audit").startswith("proven")
    assert typed("export -o ledger.csv") == "ledger.csv: 4 transfers"
    rows = list(csv.DictReader(Path("ledger.csv").read_text(encoding="utf-8").splitlines()))
    moved = {(row["kind"], row["debit"], row["credit"], row["amount_minor"]) for row in rows}
    assert moved == {
        ("grant", "house:grants", "acme:wallet", "2000000"),
        ("sale", "acme:wallet", "house:revenue", "900000"),
        ("refund", "house:revenue", "acme:wallet", "1"),
        ("refund", "house:revenue", "acme:wallet", "899999"),
    }


def test_a_price_above_the_threshold_without_terms_is_refused(typed, opened):
    said = typed("tier dear kimi-k3 --version 1.0.0 --amount-minor 500001 --currency EUR", 2)
    assert said.startswith("error: a price above 500000 EUR needs a signed licence\nhint: ")
    assert opened["tier"]


def test_rights_and_offers_are_taken_back(typed, opened, clock):
    sell(opened, clock)
    with books.market_at("market.db", clock) as market:
        held = market.books.read(lambda desk: desk.every("entitlement"))[0]["id"]
    assert typed(f"revoke {held} --reason breach --why resold") == f"entitlement {held} is revoked"
    assert "revoked before" in typed(f"revoke {held} --reason breach --why resold", 2)
    assert typed(f"withdraw {opened['tier']} --why dearer") == f"{opened['tier']} is sold no more"
    assert "withdrawn before" in typed(f"withdraw {opened['tier']} --why dearer", 2)
    assert typed("notice kimi-k3 1.0.0 --kind yanked --why gone") == "kimi-k3 1.0.0: yanked"
    assert len(typed("provider stripe EUR")) == 32
    assert typed("audit").startswith("proven")


def test_the_audit_names_a_changed_row_and_answers_four(typed, opened, clock):
    sell(opened, clock)
    typed_key(typed)
    assert Path(typed("checkpoint --sign market.key.pem -o outside")).is_file()
    said = json.loads(typed("audit --checkpoints outside --key market.pub.pem --output-format json"))
    assert (said["schema"], said["findings"], said["checkpoints"]) == ("dayzero/market/v1", [], 1)
    plain = sqlite3.connect("market.db", isolation_level=None)
    plain.execute("DROP TRIGGER signature_not_updated")
    plain.execute("UPDATE signature SET entity = 'Evil GmbH'")
    plain.close()
    said = typed("audit", 4)
    assert "entity is 'Evil GmbH', recorded was 'Acme GmbH'" in said
    assert "refuted: the books were changed" in said


def typed_key(typed) -> None:
    assert run(["keys", "new", "market"]) == 0
    assert typed("--help")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("audit", "no market is there"),
        ("audit --database mysql://u@h/d", "cannot use the database"),
        ("init --app-role web", "SQLite has no roles"),
    ],
)
def test_what_cannot_be_used_is_said(typed, line, says):
    assert says in typed(line, 2)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("threshold eur 500000", "'eur' is no currency"),
        ("threshold EUR -1", "an amount is 0 to"),
        ("grant acme 5 euro --key k --why w", "'euro' is no currency"),
        ("grant acme -5 EUR --key k --why w", "an amount is 1 to"),
        ("grant acme 99999999999999999999 EUR --key k --why w", "an amount is 1 to"),
        ("grant nobody 5 EUR --key k --why w", "there is no account 'nobody'"),
        ("tier free kimi-k3 --version 1.0.0 --amount-minor 0 --currency EUR", "an amount is 1 to"),
        ("tier t kimi-k3 --version 1.0.0 --amount-minor 5 --currency Eur", "'Eur' is no currency"),
        ("tier t kimi-k3 --maintenance-days -5 --amount-minor 5 --currency EUR", "maintenance runs for 1 to"),
        ("tier t kimi-k3 --maintenance-days 9999999 --amount-minor 5 --currency EUR", "maintenance runs for 1 to"),
        ("tier t kimi-k3 --amount-minor 5 --currency EUR", "a price is for a version or for maintenance"),
        ("provider strip EUR", "no provider 'strip' is known"),
        ("provider credit EUR", "no provider 'credit' is known"),
        ("provider stripe eur", "'eur' is no currency"),
        ("version kimi/k3 1 --definition package.toml --kit kit.zip", "'kimi/k3' names no package or version"),
        ("version kimi-k3 v~1 --definition package.toml --kit kit.zip", "'v~1' names no package or version"),
        ("withdraw nothing --why x", "there is no price nothing"),
        ("account \u200b", "an account has a name that can be read and typed"),
    ],
)
@pytest.mark.usefixtures("opened")
def test_what_the_books_do_not_take_is_said_in_words_and_with_a_hint(typed, line, says):
    said = typed(line, 2)
    assert said.startswith("error: ")
    assert says in said
    assert "\nhint: " in said
    assert "constraint" not in said.lower()


def test_a_database_that_is_not_there_is_not_made(typed):
    assert "no market is there" in typed("audit --database typo.db", 2)
    assert not Path("typo.db").exists()


def test_the_operator_gives_a_new_password_that_signs_in_where_the_old_one_did(typed, opened, clock):
    first, second = typed("password acme"), typed("password acme")
    assert first != second
    with stall.identity_at("market.db", clock) as identity:
        check_password(identity, opened["buyer"], second)
        with pytest.raises(TurnedAwayError):
            check_password(identity, opened["buyer"], first)
    assert "there is no account 'nobody'" in typed("password nobody", 2)
    assert typed("audit").startswith("proven")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--market gone/market.db", "unable to open"),
        ("--market empty.db", "no market is there"),
        ("--market market.db --public-url shop.example", "is no address of a server"),
        ("--market market.db --public-url https://shop.example/path", "is no address of a server"),
        ("site --market market.db", "a built site is served as it is"),
        ("--market market.db --proxy proxy.example", "is no address of a proxy"),
        ("--market market.db --proxy *", "is no address of a proxy"),
    ],
)
@pytest.mark.usefixtures("opened")
def test_a_server_that_cannot_sell_says_why(capsys, line, says):
    Path("site").mkdir()
    capsys.readouterr()
    assert run(["catalog", "serve", *line.split()]) in {2, 3}
    said = capsys.readouterr().err
    assert says in said
    assert "hint: " in said
    assert "Traceback" not in said


@pytest.mark.usefixtures("opened")
def test_stripe_by_halves_is_said_before_anybody_buys(capsys, monkeypatch):
    monkeypatch.setenv("STRIPE_API_KEY", "sk_test")
    assert run(["catalog", "serve", "--market", "market.db", "--public-url", "https://shop.example"]) == 2
    assert "Stripe is configured by halves" in capsys.readouterr().err


def test_the_terms_that_come_with_dayzero_ask_for_the_four_affirmations(typed):
    typed("init")
    assert typed("terms") == typed("terms")
    assert tuple(entry.kind for entry in shipped_terms().affirmations) == AFFIRMATION_KINDS


def test_terms_that_are_none_are_refused(typed):
    typed("init")
    for content in ("title = 'x'", "nonsense", "title='x'\nbody='y'\naffirmation = []"):
        Path("terms.toml").write_text(content, encoding="utf-8")
        assert "error: " in typed("terms terms.toml", 2)
    assert "cannot read" in typed("terms gone.toml", 2)
