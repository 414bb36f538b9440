"""The page of operator latencies on a live server: there where a document is given, and as new as it."""

from dataclasses import replace

from tests.catalog import performance_sample
from tests.web.client import Client

from dayzero.web.app import create_app


def test_the_page_is_there_only_where_a_document_is_given_and_follows_it(disk, client, tmp_path):
    assert client.get("/perfdb/index.html").status_code == 404
    assert client.get("/perfdb/page.json").status_code == 404
    assert "perfdb" not in client.get("/").text
    file = performance_sample.write(tmp_path / "page.json")
    live = Client(create_app(replace(disk.places(), performance=file), tmp_path / "search.db"))
    shown = live.get("/perfdb/")
    assert (shown.status_code, "k3-conv-floor" in shown.text) == (200, True)
    assert live.get("/perfdb/page.json").content == file.read_bytes()
    assert 'href="perfdb/index.html"' in live.get("/").text
    performance_sample.write(file, retractions=[])
    assert "k3-conv-floor" not in live.get("/perfdb/").text
