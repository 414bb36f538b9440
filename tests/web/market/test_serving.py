"""The command that serves the market, as a process: cookies behind TLS, and whose word on addresses counts."""

import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from tests.browser.shop import Shop
from tests.market import stall

from dayzero.wiring.market import init_market, open_market

BUYER, LIAR = "203.0.113.9", "203.0.113.77"


@pytest.fixture
def database(tmp_path: Path, stand: Shop) -> Path:
    init_market(tmp_path / "market.db")
    with open_market(tmp_path / "market.db") as owner:
        stall.stock(owner, stand)
    return tmp_path / "market.db"


@pytest.fixture(params=[True, False], ids=["proxy", "no-proxy"])
def server(request: pytest.FixtureRequest, database: Path, stand: Shop) -> Iterator[tuple[str, bool]]:
    behind = ["--public-url", stall.ORIGIN, "--proxy", "127.0.0.1"] if request.param else []
    words = [sys.executable, "-W", "error", "-m", "dayzero", "catalog", "serve", *stand.options]
    with subprocess.Popen(
        [*words, "--market", str(database), *behind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith("serving the catalog and the market at http://127.0.0.1:")
        yield said.split()[-1], request.param
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (0, "Ctrl-C stops it.\nstopped\n")


def test_behind_a_proxy_the_buyer_is_who_it_names_and_cookies_are_bound_to_tls(
    server: tuple[str, bool], database: Path
):
    address, behind = server
    origin = stall.ORIGIN if behind else address.rstrip("/")
    told = {"X-Forwarded-For": f"{LIAR}, {BUYER}", "X-Forwarded-Proto": "https"}
    with httpx.Client(base_url=address, headers=told, timeout=30) as client:
        page = client.get("account/sign-up")
        name = "__Host-dayzero" if behind else "dayzero"
        cookie = page.headers["set-cookie"]
        assert cookie.startswith(f"{name}=")
        assert ("Secure" in cookie) == behind
        token = re.search(r'name="form_token" value="([0-9a-f]{64})"', page.text)
        assert token is not None
        sent = client.post(
            "account/sign-up",
            data={"form_token": token[1], "password": "x", "again": "x"},
            headers={"Origin": origin, "Cookie": cookie.partition(";")[0]},
        )
        assert sent.status_code == 422
        assert "15 to 256" in sent.text
        assert client.get("market/").status_code == 200
    counted = sha256(f"opening an account:{BUYER if behind else '127.0.0.1'}".encode()).hexdigest()
    with sqlite3.connect(database) as plain:
        assert plain.execute("SELECT bucket, tried FROM attempt").fetchall() == [(counted, 1)]
