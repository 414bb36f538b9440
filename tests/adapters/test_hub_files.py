import hashlib
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from tests.simulators.hub import Hub as SimulatedHub
from tests.simulators.hub import serving

from dayzero.adapters.hub_files import Hub, fetch
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.core.pins import Commit, FilePin, HubRevision, Sha256
from dayzero.core.quantities import Bytes
from dayzero_verify import weights
from dayzero_verify.report import Status
from dayzero_verify.resume import ResumeFile
from dayzero_verify.statement import ModelFile

ORIGIN = HubRevision(repository="org/small", revision=Commit("a" * 40))
LARGE = bytes(range(256)) * 9000  # more than two pieces
FILES = {"m 1.gguf": LARGE, "inner/config.json": b"{}", "empty.txt": b""}


def pins(files: dict[str, bytes] = FILES) -> tuple[FilePin, ...]:
    return tuple(
        FilePin(path=path, sha256=Sha256(hashlib.sha256(content).hexdigest()), size=Bytes(len(content)))
        for path, content in files.items()
    )


ONE = pins({"m 1.gguf": LARGE})


def bring(hub: SimulatedHub, folder: Path, files: Sequence[FilePin] = ONE, *, token: str = "") -> list[float]:
    """Fetch from a simulated hub, and give the pauses that were taken."""
    pauses: list[float] = []
    folder.mkdir(exist_ok=True)
    with ResumeFile(folder / "resume.jsonl") as resume:
        known = Hub(endpoint=hub.url, token=token, attempts=3, sleep=pauses.append)
        fetch(known, ORIGIN, files, folder, resume)
    return pauses


def left(folder: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found.pop("resume.jsonl")
    return found


def test_files_are_fetched_at_the_commit_and_the_verifier_then_only_looks_at_them(tmp_path):
    with serving(SimulatedHub(FILES)) as hub:
        bring(hub, tmp_path / "m", pins())
    assert left(tmp_path / "m") == FILES
    assert {one.path for one in hub.asked} == {
        f"/org/small/resolve/{'a' * 40}/{path}" for path in ("m%201.gguf", "inner/config.json")
    }  # an empty file needs no byte
    said: list[str] = []
    files = [ModelFile(path=pin.path, size=pin.size.count, sha256=pin.sha256.hex) for pin in pins()]
    how = weights.Options(resume=tmp_path / "m" / "resume.jsonl", say=said.append)
    assert weights.outcome(files, tmp_path / "m", "full", how).row.status is Status.PASS
    assert said == []  # small files are hashed by every check; a large one that is hashed, or known, is told


def test_a_large_file_is_known_to_the_verifier_once_it_has_arrived(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "_SMALL_BYTES", 1000)
    with serving(SimulatedHub(FILES)) as hub:
        bring(hub, tmp_path / "m")
    said: list[str] = []
    files = [ModelFile(path=pin.path, size=pin.size.count, sha256=pin.sha256.hex) for pin in ONE]
    how = weights.Options(resume=tmp_path / "m" / "resume.jsonl", say=said.append)
    assert "(1 from the resume file)" in weights.outcome(files, tmp_path / "m", "full", how).row.reason
    assert said == ["known       'm 1.gguf', from the resume file"]


def test_what_is_there_is_not_asked_for(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "m 1.gguf").write_bytes(b"anything: whoever calls checks it")
    with serving(SimulatedHub({})) as hub:
        bring(hub, tmp_path / "m")
    assert hub.asked == []


def begun(folder: Path, content: bytes) -> Path:
    folder.mkdir()
    (folder / ".m 1.gguf.part").write_bytes(content)
    return folder


def test_a_partial_file_is_taken_up_where_it_ends(tmp_path):
    with serving(SimulatedHub(FILES)) as hub:
        bring(hub, begun(tmp_path / "m", LARGE[:1000]))
    assert [one.range for one in hub.asked] == ["bytes=1000-"]
    assert left(tmp_path / "m") == {"m 1.gguf": LARGE}


def test_a_partial_file_that_is_whole_needs_no_request_and_one_that_is_too_long_is_begun_anew(tmp_path):
    with serving(SimulatedHub(FILES)) as hub:
        bring(hub, begun(tmp_path / "whole", LARGE))
        assert hub.asked == []
        bring(hub, begun(tmp_path / "long", LARGE + b"more"))
    assert [one.range for one in hub.asked] == [""]
    assert left(tmp_path / "whole") == left(tmp_path / "long") == {"m 1.gguf": LARGE}


def test_a_server_that_ignores_ranges_sends_everything_again(tmp_path):
    with serving(SimulatedHub(FILES, ranges=False)) as hub:
        bring(hub, begun(tmp_path / "m", b"some other beginning"))
    assert left(tmp_path / "m") == {"m 1.gguf": LARGE}


def test_an_answer_that_breaks_off_is_taken_up(tmp_path):
    with serving(SimulatedHub(FILES, cut=[5000, 0, 700_000])) as hub:
        bring(hub, tmp_path / "m")
    assert [one.range for one in hub.asked] == ["", "bytes=5000-", "bytes=5000-", "bytes=705000-"]
    assert left(tmp_path / "m") == {"m 1.gguf": LARGE}


def test_a_busy_server_is_asked_again_after_as_long_as_it_asks_for(tmp_path):
    with serving(SimulatedHub(FILES, failures=[429, 503])) as hub:
        assert bring(hub, tmp_path / "m") == [7.0, 7.0]
    assert left(tmp_path / "m") == {"m 1.gguf": LARGE}


def test_a_server_that_never_delivers_is_given_up_and_what_arrived_is_kept(tmp_path):
    with (
        serving(SimulatedHub(FILES, cut=[5000, 0, 0, 0])) as hub,
        pytest.raises(RemoteError, match="did not arrive in 3 attempts"),
    ):
        bring(hub, tmp_path / "m")
    assert left(tmp_path / "m") == {".m 1.gguf.part": LARGE[:5000]}


@pytest.mark.parametrize(
    ("status", "why"), [(401, "asks for a token"), (403, "denies access"), (404, "does not have it")]
)
def test_a_file_that_is_not_given_is_asked_for_once(tmp_path, status, why):
    with serving(SimulatedHub(FILES, failures=[status] * 9)) as hub, pytest.raises(InputError, match=why):
        bring(hub, tmp_path / "m")
    assert len(hub.asked) == 1


def test_wrong_bytes_are_named_by_both_digests_and_kept_under_a_name_that_no_engine_loads(tmp_path):
    wrong = b"\xff" + LARGE[1:]
    with serving(SimulatedHub({"m 1.gguf": wrong})) as hub, pytest.raises(IntegrityError) as raised:
        bring(hub, tmp_path / "m")
    (kept,) = left(tmp_path / "m").items()
    assert (kept[0].startswith("m 1.gguf.wrong-"), kept[1]) == (True, wrong)
    digest = hashlib.sha256(wrong).hexdigest()
    assert f"has sha256 {digest} instead of the pinned {ONE[0].sha256}; what arrived is kept as {kept[0]}" in str(
        raised.value
    )
    with serving(SimulatedHub(FILES)) as hub:
        bring(hub, tmp_path / "m")
    assert left(tmp_path / "m")["m 1.gguf"] == LARGE


def test_more_bytes_than_are_pinned_are_not_written(tmp_path):
    with (
        serving(SimulatedHub({"m 1.gguf": LARGE * 2})) as hub,
        pytest.raises(IntegrityError, match="more than the pinned 2304000 bytes"),
    ):
        bring(hub, tmp_path / "m")
    assert sum(map(len, left(tmp_path / "m").values())) <= len(LARGE)


def test_a_range_of_another_file_is_refused(tmp_path):
    with (
        serving(SimulatedHub(FILES, lies=True)) as hub,
        pytest.raises(IntegrityError, match=r"is another file there: asked for bytes 1000-2303999/2304000"),
    ):
        bring(hub, begun(tmp_path / "m", LARGE[:1000]))


def test_a_redirect_is_followed_without_the_token(tmp_path):
    with serving(SimulatedHub(FILES)) as store, serving(SimulatedHub(redirect=store.url)) as hub:
        bring(hub, tmp_path / "m", token="hush")  # noqa: S106  (not a password)
    assert [one.authorization for one in hub.asked] == ["Bearer hush"]
    assert [one.authorization for one in store.asked] == [""]
    assert left(tmp_path / "m") == {"m 1.gguf": LARGE}


def test_a_circle_of_redirects_ends(tmp_path):
    with serving(SimulatedHub()) as hub:
        hub.redirect = hub.url
        with pytest.raises(RemoteError, match="redirected more than 5 times"):
            bring(hub, tmp_path / "m")


def test_a_token_goes_over_tls_or_the_loopback_and_to_the_endpoint_only():
    hub = Hub(endpoint="https://hub.example", token="hush")  # noqa: S106  (not a password)
    plain = Hub(endpoint="http://hub.example", token="hush")  # noqa: S106  (same)
    sent = {
        url: "Authorization" in asker.headers(httpx.URL(url))
        for asker, url in (
            (hub, "https://hub.example/org/small"),
            (hub, "https://hub.example:444/org/small"),
            (hub, "https://cdn.hub.example/org/small"),
            (plain, "http://hub.example/org/small"),
        )
    }
    assert list(sent.values()) == [True, False, False, False]


@pytest.mark.parametrize(
    "endpoint", ["", "hub.example", "ftp://hub.example", "https://", "https://u:p@hub.example", "https://h/?q"]
)
def test_an_address_that_is_no_hub_is_refused(endpoint):
    with pytest.raises(InputError, match="not a hub's address"):
        Hub(endpoint=endpoint)


def test_a_disk_that_is_too_small_is_told_before_the_first_byte(tmp_path):
    huge = FilePin(path="huge", sha256=Sha256("0" * 64), size=Bytes(1 << 60))
    with (
        serving(SimulatedHub({})) as hub,
        pytest.raises(RemoteError, match="bytes free, and 1152921504606846976 are still"),
    ):
        bring(hub, tmp_path / "m", (huge,))
    assert hub.asked == []
