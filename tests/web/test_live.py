"""What the live catalog says changes with what lies on the disk; it never tells what is no longer so."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.web.client import Client
from tests.web.conftest import Disk

from dayzero.adapters.search.index import SqlSearchIndex
from dayzero.adapters.store.engine import open_engine
from dayzero.catalog.facets import Filter
from dayzero.core.launch import LaunchSpec
from dayzero.web.app import app_of
from dayzero.wiring import catalog_deploy
from dayzero.wiring.catalog_live import LiveCatalog, UnavailableError
from dayzero.wiring.catalog_source import CatalogSource
from dayzero.wiring.plugins import target

NAME = "demo-smollm2"
REASON = "the clock of the client was stepped"


def shown(client: Client) -> dict[str, dict[str, object]]:
    """Give the numbers that the document of the package shows, by slug."""
    document = client.get(f"/api/v1/packages/{NAME}/1.0.0.json").json()
    return {number["slug"]: number for number in document["measurements"] if number["state"] == "shown"}


def headline(client: Client) -> tuple[str, str, str]:
    """Give the headline number: its slug, its value, and its raw file."""
    slug = client.get(f"/api/v1/packages/{NAME}/1.0.0.json").json()["headline"]
    number = shown(client)[slug]
    return slug, str(number["value"]), str(number["raw"]["sha256"])  # type: ignore[index]


def value_is_on(text: str, slug: str, value: str) -> bool:
    return re.search(rf'data-claim="{re.escape(slug)}" value="{re.escape(value)}"', text) is not None


def everywhere(client: Client, slug: str) -> dict[str, str]:
    paths = (
        "/",
        "/find?q=smollm2",
        f"/packages/{NAME}/",
        f"/packages/{NAME}/1.0.0/",
        f"/claims/{slug}/",
        "/api/v1/packages",
        "/api/v1/packages.json",
        f"/api/v1/packages/{NAME}.json",
        f"/api/v1/packages/{NAME}/1.0.0.json",
        f"/api/v1/claims/{slug}.json",
        "/feeds/retractions.atom",
    )
    return {path: client.get(path).text for path in paths}


def test_a_retraction_is_seen_on_every_page_and_document_at_the_next_request(changing: Disk):
    client = changing.client()
    slug, value, _ = headline(client)
    before = everywhere(client, slug)
    assert value_is_on(before[f"/packages/{NAME}/"], slug, value)
    assert value_is_on(before["/"], slug, value)
    tag = client.get("/").headers["etag"]
    changing.retract(slug, REASON)
    after = everywhere(client, slug)
    for path, text in after.items():
        assert not value_is_on(text, slug, value), path
        assert text != before[path], path
    assert slug not in shown(client)
    assert REASON in after[f"/packages/{NAME}/"]
    assert REASON in after["/feeds/retractions.atom"]
    assert client.get("/", if_none_match=tag).status_code == 200


def test_a_yank_is_seen_at_the_next_request_and_what_was_published_stays(changing: Disk):
    client = changing.client()
    release = client.get(f"/api/v1/releases/{NAME}/1.0.0.json").content
    assert client.get(f"/api/v1/packages/{NAME}/1.0.0.json").json()["yanked"] is None
    changing.yank(NAME, "1.0.0", "its engine build was withdrawn")
    assert (
        client.get(f"/api/v1/packages/{NAME}/1.0.0.json").json()["yanked"]["reason"] == "its engine build was withdrawn"
    )
    for path in (f"/packages/{NAME}/1.0.0/", "/feeds/releases.atom", "/api/v1/packages?q=smollm2", "/find?q=smollm2"):
        assert "its engine build was withdrawn" in client.get(path).text or "anked" in client.get(path).text, path
    assert client.get(f"/api/v1/releases/{NAME}/1.0.0.json").content == release


READ = (
    "/",
    "/find",
    f"/packages/{NAME}/",
    "/api/v1/packages",
    f"/api/v1/releases/{NAME}/1.0.0.json",
    "/healthz",
    "/feeds/releases.atom",
)


def unavailable(client: Client) -> str:
    """Check that nothing that is read is told, and give the reason."""
    reasons = set()
    for path in READ:
        answer = client.get(path)
        assert answer.status_code == 503, path
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["retry-after"] == "5"
        if "json" in answer.headers["content-type"]:
            reasons.add(answer.json()["error"])
    for path in ("/style.css", "/site.js", "/openapi.json"):
        assert client.get(path).status_code == 200
    (reason,) = reasons
    return str(reason)


def test_a_number_that_was_changed_in_the_ledger_leaves_no_page_until_the_ledger_is_whole_again(changing: Disk):
    client = changing.client()
    _, value, _ = headline(client)
    whole = changing.ledger.read_bytes()
    assert value.encode() in whole
    changing.ledger.write_bytes(whole.replace(f'"{value}"'.encode(), b'"999.99"'))
    assert "ledger.jsonl" in unavailable(client)
    changing.ledger.write_bytes(whole)
    assert client.get("/").status_code == 200
    assert headline(client)[1] == value


def test_a_raw_file_that_is_gone_leaves_no_page_and_is_named(changing: Disk):
    client = changing.client()
    raw = headline(client)[2]
    assert client.get(f"/evidence/raw/{raw}").status_code == 200
    (changing.evidence / "raw" / raw).unlink()
    assert raw in unavailable(client)
    assert client.get(f"/evidence/raw/{raw}").status_code == 503


def test_a_frozen_definition_that_was_changed_leaves_no_page_and_is_named(changing: Disk):
    client = changing.client()
    slug = headline(client)[0]
    frozen = changing.packages / NAME / "releases" / "1.0.0" / "package.toml"
    frozen.write_text(frozen.read_text() + "\n# one more line\n")
    changing.retract(slug, REASON)  # what is looked at each time, so that the test need not wait
    assert str(frozen) in unavailable(client)


def test_a_deploy_file_that_does_not_prove_leaves_out_its_version_and_nothing_else(
    changing: Disk, monkeypatch: pytest.MonkeyPatch
):
    real = target("shell")

    class Dropping:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def render(self, spec: LaunchSpec) -> str:
            text = real.render(spec)
            return text.replace("8192", "4096") if spec.name == NAME else text

    monkeypatch.setattr(catalog_deploy, "target", lambda name: Dropping() if name == "shell" else target(name))
    client = changing.client()
    refused = client.get(f"/packages/{NAME}/1.0.0/")
    assert refused.status_code == 503
    assert "shell: argv word" in refused.text
    assert client.get("/").status_code == 200
    assert client.get("/packages/demo-kimi-k3-tiny/").status_code == 200


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def looking(disk: Disk, clock: Clock) -> tuple[LiveCatalog, SqlSearchIndex]:
    source, index = CatalogSource(disk.places()), SqlSearchIndex(open_engine(disk.folder / "search.db"))
    return LiveCatalog(source.read, index, source.fit_on, look=source.stamp, clock=clock), index


def test_a_definition_that_is_worked_on_is_read_again_when_all_files_are_looked_at(changing: Disk):
    clock = Clock()
    live, index = looking(changing, clock)
    client = Client(app_of(live))
    assert client.get(f"/packages/{NAME}/draft/").status_code == 404
    file = changing.packages / NAME / "package.toml"
    file.write_text(re.sub(r'^title = ".*"$', 'title = "Zanzibar"', file.read_text(), count=1, flags=re.MULTILINE))
    assert client.get(f"/packages/{NAME}/draft/").status_code == 404
    clock.now += 1
    assert "Zanzibar" in client.get(f"/packages/{NAME}/draft/").text
    assert client.get("/api/v1/packages?q=zanzibar").json()["total"] == 0  # a draft never stands in a release's place
    file.write_text("no definition")
    clock.now += 1
    with pytest.raises(UnavailableError, match=re.escape(str(file))):
        live.now()
    assert index.stamp()


def test_what_another_server_put_into_the_index_is_never_told_and_is_put_right_at_the_next_request(changing: Disk):
    live, index = looking(changing, Clock())
    now = live.now()
    index.replace((), "of another server")
    with pytest.raises(UnavailableError, match="another state"):
        now.search(Filter(q="smollm2"), limit=10)
    assert Client(app_of(live)).get("/api/v1/packages?q=smollm2").json()["total"] == 1
    assert index.stamp() == now.stamp


def test_a_search_index_that_is_broken_is_said_to_be_and_is_made_anew_with_its_file(changing: Disk):
    file = changing.folder / "search.db"
    client = changing.client()
    assert client.get("/find").status_code == 200
    file.write_bytes(b"not a database" * 1000)
    for more in (file.with_name("search.db-wal"), file.with_name("search.db-shm")):
        more.unlink(missing_ok=True)
    fresh = pytest.raises(Exception, match="search index does not answer")
    with fresh:
        changing.client()
    file.unlink()
    assert changing.client().get("/find?q=smollm2").status_code == 200


def test_many_readers_at_once_get_one_state_before_and_one_after(changing: Disk):
    client = changing.client()
    slug, value, _ = headline(client)
    path = f"/packages/{NAME}/"

    def states(_: int) -> bool:
        return value_is_on(client.get(path).text, slug, value)

    with ThreadPoolExecutor(8) as pool:
        before = list(pool.map(states, range(24)))
        changing.retract(slug, REASON)
        after = list(pool.map(states, range(24)))
    assert (set(before), set(after)) == ({True}, {False})


def test_an_index_that_holds_this_state_already_is_not_written_again(changing: Disk):
    assert changing.client().get("/find").status_code == 200
    before = contents(changing.folder / "search.db")
    assert changing.client().get("/find?q=smollm2").status_code == 200
    assert contents(changing.folder / "search.db") == before


def contents(file: Path) -> list[tuple[object, ...]]:
    engine = open_engine(file)
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.exec_driver_sql("SELECT * FROM catalog_search_state ORDER BY key")]
    engine.dispose()
    return rows
