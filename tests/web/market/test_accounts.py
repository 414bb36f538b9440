"""Accounts, sessions, forms and limits, as somebody meets them who means no good."""

import re
import sqlite3
from statistics import median
from time import perf_counter

import pytest
from tests.market import stall
from tests.web.market.buyer import Buyer

from dayzero.identity.model import SESSION_S, Limit
from dayzero.identity.sign_in import set_password
from dayzero.market.account import open_account
from dayzero.web.app import app_of
from dayzero.wiring.storefront import Limits

COOKIE = "__Host-dayzero"


def cookie(buyer: Buyer) -> str:
    return buyer.client.cookies.get(COOKIE) or ""


def signed_in(buyer: Buyer) -> bool:
    return buyer.get("/account/", follow=False).status_code == 200


def test_an_account_is_opened_left_and_entered_again(browsers):
    buyer = browsers()
    assert buyer.get("/account/", follow=False).headers["location"].endswith("account/sign-in?next=account%2F")
    name = buyer.sign_up()
    assert re.fullmatch(r"[2-9a-z]{4}(-[2-9a-z]{4}){2}", name)
    assert name in buyer.get("/account/").text
    buyer.send(buyer.form("sign-out"))
    assert not signed_in(buyer)
    assert buyer.sign_in(name.upper()).status_code == 200
    assert signed_in(buyer)


def test_an_account_that_the_operator_named_is_entered_in_any_letters(browsers, owner, front):
    account_id = open_account(owner, "  Acme GmbH ")
    set_password(front.identity, account_id, "Acme GmbH", stall.PASSWORD)
    for name in ("Acme GmbH", " Acme GmbH "):
        buyer = browsers()
        assert buyer.sign_in(name).status_code == 200
        assert signed_in(buyer)
    guest = browsers()
    assert guest.sign_in("acme gmbh").status_code == 422  # its own letters, or small ones that somebody has
    for letters in ("acme gmbh", "ACME GMBH", "Acme gmbh"):
        for _ in range(2):
            guest.sign_in(letters, "no")
    assert guest.sign_in("Acme GmbH", "no").status_code == 422
    assert guest.sign_in("Acme GmbH").status_code == 429  # the tries of all spellings are one count


def test_the_cookie_is_for_this_host_alone_and_out_of_reach(browsers):
    buyer = browsers()
    answer = buyer.get("/account/sign-in", follow=False)
    (set_,) = answer.headers.get_list("set-cookie")
    assert set_.startswith(f"{COOKIE}=")
    parts = {part.strip().partition("=")[0].lower() for part in set_.split(";")[1:]}
    assert parts == {"httponly", "max-age", "path", "samesite", "secure"}
    assert "Path=/;" in set_
    assert "SameSite=lax" in set_
    assert answer.headers["strict-transport-security"]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "same-origin"
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert {"default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"} <= set(policy.split("; "))


def test_the_secret_changes_at_sign_in_and_the_one_before_is_worth_nothing(browsers):
    buyer = browsers()
    name = buyer.sign_up()
    first = cookie(buyer)
    buyer.sign_in(name)
    second = cookie(buyer)
    assert first != second
    thief = browsers()
    thief.client.cookies.set(COOKIE, first, domain="shop.test")
    assert not signed_in(thief)
    buyer.get("/account/")
    buyer.send(buyer.form("sign-out"))
    thief.client.cookies.set(COOKIE, second, domain="shop.test")
    assert not signed_in(thief)


def test_a_session_ends_by_itself(browsers, clock):
    buyer = browsers()
    buyer.sign_up()
    clock.turn(seconds=SESSION_S - 1)
    assert signed_in(buyer)
    clock.turn(seconds=1)
    assert not signed_in(buyer)


def test_a_new_password_signs_every_browser_out(browsers):
    here, there = browsers(), browsers()
    name = here.sign_up()
    there.sign_in(name)
    other = "a fresh one of nine words"
    assert here.post("/account/password", "password", now="no", password=other, again=other).status_code == 422
    here.post("/account/password", "password", now=stall.PASSWORD, password=other, again=other)
    assert (signed_in(here), signed_in(there)) == (True, False)
    assert there.sign_in(name).status_code == 422
    there.sign_in(name, other)
    there.get("/account/")
    there.send(there.form("sign-out"), everywhere="1")
    assert not signed_in(here)


@pytest.mark.parametrize(
    ("password", "says"),
    [
        ("short", "15 to 256 characters"),
        ("x" * 257, "15 to 256 characters"),
        ("qwertyuiop1234567890", "anybody would try"),
        ("PasswordPassword1", "anybody would try"),
        ("herons herons herons ", "again and again"),
        ("aaaaaaaaaaaaaaaab", "again and again"),
    ],
)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_password_that_is_unfit_is_refused_with_the_reason(browsers, owner, password, says):
    answer = browsers().post("/account/sign-up", "sign-up", password=password, again=password)
    assert answer.status_code == 422
    assert says in answer.text
    assert len(owner.books.read(lambda desk: desk.every("account"))) == 1  # the house


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_wrong_name_and_a_wrong_password_are_answered_alike(browsers, front):
    name = browsers().sign_up()
    guest = browsers()
    known, unknown = guest.sign_in(name, "not it, not at all"), guest.sign_in("zzzz-zzzz-zzzz", "not it, not at all")
    assert known.status_code == unknown.status_code == 422

    def without(page: str, word: str) -> str:
        return re.sub(r'value="[0-9a-f]{64}"', "", page).replace(word, "")

    assert without(known.text, name) == without(unknown.text, "zzzz-zzzz-zzzz")
    assert front.identity.register.every("session", account_id="house") == ()


def test_looking_for_a_name_that_nobody_has_makes_as_many_hashes_as_one_that_somebody_has(browsers, monkeypatch):
    """A hash takes tens of milliseconds and everything else takes less than one, so that the count of hashes is the time."""
    from dayzero.identity import password as passwords  # noqa: PLC0415  (what is counted)

    name = browsers().sign_up()
    took: dict[str, list[float]] = {name: [], "zzzz-zzzz-zzzz": []}
    asked = [name]
    hasher = type(passwords._hasher())  # noqa: SLF001
    verify = hasher.verify

    def counting(self, kept, given) -> bool:
        began = perf_counter()
        try:
            return verify(self, kept, given)
        finally:
            took[asked[-1]].append(perf_counter() - began)

    monkeypatch.setattr(hasher, "verify", counting)
    guest = browsers()
    for who in took:
        asked.append(who)
        for _ in range(3):
            assert guest.sign_in(who, "not it, not at all").status_code == 422
    assert {who: len(times) for who, times in took.items()} == dict.fromkeys(took, 3)
    assert min(median(times) for times in took.values()) > 0.001  # a real hash in both cases


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": stall.ORIGIN},
        {"Origin": "http://shop.test"},
    ],
)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_form_from_elsewhere_does_nothing(buyer, headers):
    buyer.get("/account/")
    answer = buyer.send(buyer.form("account/tokens"), headers=headers, label="stolen")
    assert answer.status_code == 403
    assert "not sent from a page of this market" in answer.text
    assert "stolen" not in buyer.get("/account/").text


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_form_counts_for_the_browser_that_it_was_shown_to(buyer, browsers):
    buyer.get("/account/")
    form = buyer.form("account/tokens")
    other = browsers()
    other.sign_up()
    other.get("/account/")
    assert other.send(form, label="x").status_code == 403
    for token in ("", "0" * 64, "é"):
        assert buyer.send(form, label="x", form_token=token).status_code == 403
    bare = Buyer(buyer.client._transport.app)  # noqa: SLF001  (no headers of a browser at all)
    bare.client.headers.pop("Sec-Fetch-Site")
    answer = bare.ask("POST", "/account/sign-in", data={"name": "a", "password": "b"})
    assert answer.status_code == 403
    bare.close()
    assert buyer.send(form, label="mine").status_code == 200


@pytest.mark.parametrize(
    "where",
    [
        "https://evil.test/",
        "//evil.test",
        "market/../../evil",
        "market//evil.test",
        "javascript:alert(1)",
        "api/",
        "market/" + "a" * 5000 + "!",
    ],
)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_sign_in_leads_on_to_a_page_of_the_market_only(browsers, where):
    buyer = browsers()
    name = buyer.sign_up()
    answer = buyer.sign_in(name, next=where)
    assert str(answer.url) == f"{stall.ORIGIN}/account/"
    assert str(buyer.sign_in(name, next="market/").url) == f"{stall.ORIGIN}/market/"


def test_too_many_tries_are_told_when_to_come_again(place, clock, live, prices):
    few = Limits(
        sign_in_account=Limit(what="signing in to this account", most=2, window_s=900),
        sign_up=Limit(what="opening an account", most=2, window_s=3600),
    )
    with stall.front_at(place, clock, live, limits=few) as front:
        app = app_of(live, front)
        buyer, other = Buyer(app, "192.0.2.1"), Buyer(app, "192.0.2.2")
        name = buyer.sign_up()
        assert [buyer.sign_in(name, "no").status_code for _ in range(3)] == [422, 422, 429]
        answer = other.sign_in(name)  # from another address, with the right password
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= 900
        assert "Try again in" in answer.text
        clock.turn(seconds=int(answer.headers["retry-after"]))
        assert other.sign_in(name).status_code == 200
        other.sign_up()
        again = [other.post("/account/sign-up", "sign-up", password="x", again="x").status_code for _ in range(2)]  # noqa: S106
        assert again == [422, 429]
        buyer.close()
        other.close()


def test_nothing_that_opens_an_account_is_kept_in_the_database(buyer, front, place):
    token = buyer.token("buy")
    secrets = {"password": stall.PASSWORD, "cookie": cookie(buyer), "token": token}
    tables = ("credential", "session", "token")
    kept = repr([front.identity.register.every(table) for table in tables])
    assert "$argon2id$" in kept
    assert {what for what, secret in secrets.items() if secret in kept} == set()
    if not place.cluster:
        with sqlite3.connect(place.database) as plain:
            everything = "".join(plain.iterdump())
        assert {what for what, secret in secrets.items() if secret in everything} == set()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_body_that_is_no_form_is_refused(buyer):
    buyer.get("/account/")
    token = buyer.form("account/tokens").fields["form_token"]
    head = {"Origin": stall.ORIGIN}
    send = {"Content-Type": "application/x-www-form-urlencoded", **head}

    def status(content: bytes, headers: dict[str, str]) -> int:
        return buyer.ask("POST", "/account/tokens", content=content, headers=headers).status_code

    assert status(b"{}", {"Content-Type": "application/json", **head}) == 415
    assert status(b"label=%ff", send) == 422
    assert status(f"form_token={token}&label=%00".encode(), send) == 422
    assert status(b"a=1&" * 200, send) == 422
    assert status(b"a=" + b"x" * 70_000, send) == 422
    assert status(b"x" * 300_000, send) == 413
    assert buyer.ask("POST", "/market/", headers=head).status_code == 405
