"""Passwords, sessions, tokens and limits, on both databases: each law, and what refuses to break it."""

import unicodedata

import pytest
import sqlalchemy
from argon2 import PasswordHasher
from hypothesis import given
from hypothesis import strategies as st
from tests.market import stall

from dayzero.adapters.market_store.guard import guard_sign_ins
from dayzero.adapters.store.engine import open_engine
from dayzero.core.errors import RemoteError
from dayzero.identity import password, token
from dayzero.identity.errors import TurnedAwayError
from dayzero.identity.limit import spend
from dayzero.identity.model import SESSION_S, TOKEN_DAYS, Limit
from dayzero.identity.sign_in import begin_session, check_password, end_session, session_of, set_password

GOOD = "seven grey herons argue"


@pytest.fixture
def identity(place, clock, shop):
    with stall.identity_at(place.database, clock) as found:
        yield found


@given(st.text(min_size=0, max_size=14))
def test_a_short_password_is_unfit_whatever_it_is_made_of(text):
    with pytest.raises(TurnedAwayError, match="15 to 256"):
        password.check_fit(text, "")


@given(st.text(alphabet="abc defghij-klmno1234567890éß日本", min_size=1, max_size=8), st.integers(2, 40))
def test_something_short_said_again_and_again_is_unfit(text, times):
    with pytest.raises(TurnedAwayError):
        password.check_fit(text * times, "")


@pytest.mark.parametrize("said", [GOOD, "x" * 12 + "yzw", "日本語のとても長い合い言葉です", "\t tabs and  spaces \t"])
def test_no_kind_of_character_is_asked_for(said):
    password.check_fit(said, "")


def test_every_common_password_in_the_list_is_refused_and_long_enough_to_be_one():
    assert len(password._commonest()) > 80  # noqa: SLF001
    for said in password._commonest():  # noqa: SLF001
        assert len(said) >= password.SHORTEST, said
        with pytest.raises(TurnedAwayError):
            password.check_fit(said.upper(), "")


def test_the_name_of_the_account_is_no_password():
    with pytest.raises(TurnedAwayError, match="holds the name"):
        password.check_fit("my K7M2-9QXD-4TNP it is", "k7m2-9qxd-4tnp")


def test_a_password_written_with_other_code_points_for_the_same_letters_is_the_same():
    kept = password.hashed(unicodedata.normalize("NFD", "übermütige Störche fliegen"))
    assert password.holds(kept, unicodedata.normalize("NFC", "übermütige Störche fliegen"))
    assert not password.holds(kept, "übermütige Storche fliegen")
    assert not password.holds("", "nobody has this password")
    assert not password.holds("nonsense", GOOD)


def test_a_password_is_checked_replaced_and_hashed_again_where_it_was_cheap(identity, shop):
    with pytest.raises(TurnedAwayError, match="name or the password is wrong"):
        check_password(identity, shop.buyer, GOOD)
    set_password(identity, shop.buyer, "acme", GOOD)
    check_password(identity, shop.buyer, GOOD)
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(GOOD)
    identity.register.put("credential", {"account_id": shop.buyer, "password": cheap, "changed_at": 1})
    check_password(identity, shop.buyer, GOOD)
    assert identity.register.every("credential", account_id=shop.buyer)[0]["password"] != cheap


def test_a_session_is_known_by_its_secret_until_it_ends(identity, clock, shop):
    first, second = begin_session(identity, shop.buyer), begin_session(identity, shop.buyer)
    assert session_of(identity, first).account_id == shop.buyer
    end_session(identity, first)
    assert session_of(identity, first) is None
    assert session_of(identity, second) is not None
    assert session_of(identity, "") is session_of(identity, "x") is None
    clock.turn(seconds=SESSION_S)
    assert session_of(identity, second) is None
    begin_session(identity, shop.buyer)
    assert len(identity.register.every("session")) == 1  # those that are over are swept


def test_a_token_is_listed_without_its_secret_and_taken_back_for_good(identity, clock, shop):
    secret, made = token.issue(identity, shop.buyer, " ci ", ("read",))
    assert (made.label, made.scopes, secret[:3]) == ("ci", ("read",), token.PREFIX)
    assert token.token_of(identity, secret) == made
    assert secret not in repr(token.tokens(identity, shop.buyer))
    clock.turn(days=TOKEN_DAYS - 1)
    assert token.token_of(identity, secret) is not None
    token.revoke(identity, shop.buyer, made.id)
    token.revoke(identity, shop.buyer, made.id)
    assert token.token_of(identity, secret) is None
    assert token.tokens(identity, shop.buyer)[0].revoked
    with pytest.raises(TurnedAwayError, match="no such token"):
        token.revoke(identity, "somebody", made.id)
    with pytest.raises(TurnedAwayError, match="has a name"):
        token.issue(identity, shop.buyer, " ", ("read",))


def test_tries_are_counted_for_each_by_itself_and_forgotten(identity, clock):
    limit = Limit(what="knocking", most=2, window_s=600)
    for _ in range(2):
        spend(identity, limit, "a")
    spend(identity, limit, "b")
    with pytest.raises(TurnedAwayError) as refused:
        spend(identity, limit, "a")
    assert (refused.value.code, refused.value.retry_after_s) == ("too-often", 600)
    clock.turn(seconds=599)
    with pytest.raises(TurnedAwayError, match="knocking") as refused:
        spend(identity, limit, "a")
    assert "Try again in a minute." in refused.value.hint
    clock.turn(seconds=1)
    spend(identity, limit, "a")
    clock.turn(days=2)
    spend(identity, limit, "c")
    assert len(identity.register.every("attempt")) == 1


BAD_ROWS = (
    ("credential", {"account_id": "{buyer}", "password": GOOD, "changed_at": 1}),
    ("credential", {"account_id": "house", "password": "$argon2id$x", "changed_at": 1}),
    ("credential", {"account_id": "nobody", "password": "$argon2id$x", "changed_at": 1}),
    ("session", {"token_sha256": "short", "account_id": "{buyer}", "created_at": 1, "expires_at": 2}),
    ("session", {"token_sha256": "0" * 64, "account_id": "nobody", "created_at": 1, "expires_at": 2}),
    (
        "token",
        {
            "token_sha256": "0" * 64,
            "id": "i",
            "account_id": "{buyer}",
            "label": "x",
            "scopes": "buy",
            "created_at": 1,
            "expires_at": 2,
            "revoked_at": None,
        },
    ),
)


@pytest.mark.parametrize(("table", "values"), BAD_ROWS)
def test_the_schema_refuses_what_is_no_credential(identity, shop, table, values):
    said = {name: shop.buyer if value == "{buyer}" else value for name, value in values.items()}
    with pytest.raises(RemoteError):
        identity.register.put(table, said)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO account VALUES ('x', 'x', '')",
        "UPDATE journal SET body = ''",
        "DELETE FROM transfer",
        "DROP TABLE session",
        "ATTACH DATABASE ':memory:' AS other",
        "PRAGMA foreign_keys = OFF",
    ],
)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_who_keeps_sign_ins_in_sqlite_touches_nothing_else(place, statement):
    engine = open_engine(place.database)
    guard_sign_ins(engine)
    with pytest.raises(sqlalchemy.exc.DatabaseError, match=r"not authorized|prohibited"), engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM credential",
        "UPDATE credential SET account_id = 'x'",
        "DELETE FROM token",
        "UPDATE token SET account_id = 'x'",
        "UPDATE token SET scopes = 'read buy'",
        "UPDATE token SET expires_at = 99999999999",
        "TRUNCATE session",
        "DROP TABLE attempt",
        "ALTER TABLE session DROP CONSTRAINT session_account",
    ],
)
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_the_applications_role_changes_of_sign_ins_what_it_has_to(place, identity, shop, statement):
    set_password(identity, shop.buyer, "acme", GOOD)
    token.issue(identity, shop.buyer, "ci", ("read",))
    begin_session(identity, shop.buyer)
    engine = open_engine(place.database)
    with (
        pytest.raises(sqlalchemy.exc.DBAPIError, match=r"permission denied|must be owner"),
        engine.begin() as connection,
    ):
        connection.exec_driver_sql(statement)
    engine.dispose()
