import os
from pathlib import Path

import pytest
from tests.adapters.kit_samples import FILES, OTHER
from tests.simulators.oci_registry import Asked, Registry, Reply, oci_registry

from dayzero.adapters import kit_files
from dayzero.adapters.kit_files import KitFiles, read_kit, write_kit
from dayzero.adapters.kit_places import FolderPlace, RegistryPlace, WebPlace, parse_place, pull, push
from dayzero.core.errors import InputError, IntegrityError, RemoteError

DIGEST = f"sha256:{'ab' * 32}"


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("oci://example.org/kits/a:1.0.0", RegistryPlace("example.org", "kits/a", "1.0.0")),
        ("oci://localhost:5000/a:x", RegistryPlace("localhost:5000", "a", "x")),
        ("oci://[::1]:5000/a__b/c-d:x", RegistryPlace("[::1]:5000", "a__b/c-d", "x")),
        (f"oci://example.org/a@{DIGEST}", RegistryPlace("example.org", "a", DIGEST)),
        ("https://example.org/x/a-1.kit.zip?k=v", WebPlace("https://example.org/x/a-1.kit.zip?k=v")),
        ("some/folder", FolderPlace(Path("some/folder"))),
    ],
)
def test_a_place_is_read_as_it_is_typed_and_written_back(typed, place):
    assert parse_place(typed) == place
    assert str(place) == typed


@pytest.mark.parametrize(
    "typed",
    [
        "oci://example.org/a",
        "oci://example.org/A:1",
        "oci://example.org/a:1@sha256:00",
        "oci://example.org/../a:1",
        "oci://user:pw@example.org/a:1",
        "oci://example.org/a@sha256:AB",
        "oci://example.org/a:.x",
        "oci://example.org/a:1/2",
        "oci:///a:1",
        "ftp://example.org/a.kit.zip",
        "https://example.org/a.zip",
        "https://example.org/%2e%2e%2fa.kit.zip",
        "",
    ],
)
def test_what_is_no_place_is_refused(typed):
    with pytest.raises(InputError) as caught:
        parse_place(typed)
    assert caught.value.hint


def test_a_kit_goes_through_a_folder_and_comes_back(tmp_path):
    push(FILES, FolderPlace(tmp_path / "new"))
    assert pull(FolderPlace(tmp_path / "new")).files == FILES
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "a-1.0.0.kit.intoto.jsonl",
        "a-1.0.0.kit.tlog-proof",
        "a-1.0.0.kit.zip",
    ]


def test_the_same_kit_again_is_no_fault_and_other_bytes_are_never_replaced(tmp_path):
    write_kit(FILES, tmp_path)
    write_kit(FILES, tmp_path)
    there = tmp_path / "a-1.0.0.kit.intoto.jsonl"
    there.write_bytes(b"precious")
    (tmp_path / "a-1.0.0.kit.zip").unlink()
    with pytest.raises(IntegrityError, match="with other bytes"):
        write_kit(FILES, tmp_path)
    assert there.read_bytes() == b"precious"
    assert not (tmp_path / "a-1.0.0.kit.zip").exists()


def test_a_link_is_not_written_through(tmp_path):
    (tmp_path / "a-1.0.0.kit.zip").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IntegrityError, match="is there already"):
        write_kit(FILES, tmp_path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_kit_is_written_whole_or_not_at_all(tmp_path, monkeypatch, which):
    made, link = [], os.link

    def full(source: Path, target: Path) -> None:
        if len(made) == which:
            raise OSError(28, "No space left on device")
        made.append(target)
        link(source, target)

    monkeypatch.setattr(kit_files.os, "link", full)
    with pytest.raises(RemoteError, match="disk is full"):
        write_kit(FILES, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_links_takes_a_kit_too(tmp_path, monkeypatch):
    def unable(_source: Path, _target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(kit_files.os, "link", unable)
    write_kit(FILES, tmp_path)
    assert read_kit(tmp_path / "a-1.0.0.kit.zip") == FILES


def test_statements_about_another_archive_are_not_sent_on(tmp_path):
    mixed = KitFiles(stem="a-1.0.0", archive=OTHER.archive, attestation=FILES.attestation)
    write_kit(mixed, tmp_path)
    with pytest.raises(InputError, match="about another archive"):
        pull(FolderPlace(tmp_path))
    (tmp_path / "a-1.0.0.kit.intoto.jsonl").write_bytes(b"{}\n")
    with pytest.raises(InputError, match="does not begin with a kit statement"):
        pull(FolderPlace(tmp_path))


def test_a_folder_with_no_kit_or_two_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no kits"):
        pull(FolderPlace(tmp_path))
    with pytest.raises(InputError, match="is not a folder"):
        pull(FolderPlace(tmp_path / "absent"))
    for stem in ("a-1", "b-1"):
        write_kit(KitFiles(stem=stem, archive=FILES.archive, attestation=FILES.attestation), tmp_path)
    with pytest.raises(InputError, match="holds 2 kits"):
        pull(FolderPlace(tmp_path))


def files_at(**files: bytes):
    """Serve files by name, where a registry would answer otherwise."""

    def spoil(asked: Asked, _reply: Reply) -> Reply:
        name = asked.path.rpartition("/")[2].partition("?")[0]
        return Reply(200, files[name]) if name in files else Reply(404)

    return spoil


def web(registry: Registry, query: str = "") -> WebPlace:
    return WebPlace(f"http://{registry.host}/x/a-1.0.0.kit.zip{query}")


def test_a_kit_comes_from_a_web_server_with_what_lies_beside_it():
    served = dict(FILES.named())
    with oci_registry(spoil=files_at(**served)) as server:
        assert pull(web(server, "?k=v")).files == FILES
        assert {asked.path.partition("?")[2] for asked in server.asked} == {"k=v"}
        del served["a-1.0.0.kit.tlog-proof"]
        server.spoil = files_at(**served)
        assert pull(web(server)).files.proof is None
        del served["a-1.0.0.kit.intoto.jsonl"]
        server.spoil = files_at(**served)
        with pytest.raises(RemoteError, match=r"there is no http.*intoto\.jsonl"):
            pull(web(server))


def test_a_web_server_that_mixes_kits_is_refused():
    served = {**dict(FILES.named()), "a-1.0.0.kit.zip": OTHER.archive}
    with oci_registry(spoil=files_at(**served)) as server, pytest.raises(IntegrityError, match="about another archive"):
        pull(web(server))


def test_a_web_server_takes_no_kits():
    with pytest.raises(InputError, match="takes no kits"):
        push(FILES, WebPlace("https://example.org/a-1.0.0.kit.zip"))


@pytest.mark.parametrize(
    "typed", ["http://example.org/a-1.0.0.kit.zip", "http://127.0.0.1.example.org/a-1.0.0.kit.zip"]
)
def test_plain_http_stays_on_this_machine(typed):
    with pytest.raises(InputError, match="is not https"):
        pull(parse_place(typed))
