from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.site.pages import whole_site
from tests.catalog.sample import ROWS, digest

from dayzero.adapters.site.folder import write_site
from dayzero.core.errors import EvidenceError, InputError, RemoteError


def test_a_written_site_holds_exactly_its_files(tmp_path: Path):
    write_site(whole_site().items(), tmp_path / "site")
    found = {p.relative_to(tmp_path / "site").as_posix() for p in (tmp_path / "site").rglob("*") if p.is_file()}
    assert found == set(whole_site())
    assert (tmp_path / "site" / f"evidence/raw/{digest(ROWS)}").read_bytes() == ROWS
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_an_earlier_site_is_replaced_as_a_whole(tmp_path: Path):
    write_site(whole_site().items(), tmp_path / "site")
    write_site([("index.json", b'{"schema": "dayzero/catalog-index/v1"}')], tmp_path / "site")
    assert not (tmp_path / "site/packages/kimi-k3-8xb300").exists()
    assert not (tmp_path / "site/evidence").exists()


@pytest.mark.parametrize(
    "present", [{"thesis.tex": "x"}, {"index.json": "{}"}, {"index.json": "no json"}, {"index.html": "mine"}]
)
def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path, present: dict[str, str]):
    for name, text in present.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="would be removed"):
        write_site(whole_site().items(), tmp_path)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == present


def test_a_site_with_a_foreign_file_in_it_is_left_alone(tmp_path: Path):
    write_site(whole_site().items(), tmp_path / "site")
    (tmp_path / "site/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'notes\.txt'"):
        write_site(whole_site().items(), tmp_path / "site")
    assert (tmp_path / "site/notes.txt").read_text() == "mine"


def test_a_file_in_the_folders_place_is_left_alone(tmp_path: Path):
    (tmp_path / "site").write_text("mine")
    with pytest.raises(InputError, match="is not a folder"):
        write_site(whole_site().items(), tmp_path / "site")


def test_a_write_that_fails_leaves_the_earlier_site(tmp_path: Path):
    write_site(whole_site().items(), tmp_path / "site")
    before = (tmp_path / "site/index.html").read_bytes()
    with pytest.raises(RemoteError, match="cannot write the site"):
        write_site((*whole_site().items(), ("x" * 300, b"")), tmp_path / "site")
    assert (tmp_path / "site/index.html").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_a_folder_that_cannot_be_made_is_a_remote_error(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RemoteError, match="cannot write the site"):
        write_site(whole_site().items(), tmp_path / "file" / "site")


@pytest.mark.parametrize("path", ["../escape", "/etc/x", "a/../../b", ""])
def test_a_path_out_of_the_site_is_refused(tmp_path: Path, path: str):
    with pytest.raises(InputError, match="not a path inside the site"):
        write_site(((path, b"x"),), tmp_path / "site")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_on_the_disk_before_the_next_one_is_made(tmp_path: Path):
    def files() -> Iterator[tuple[str, bytes]]:
        for number in range(3):
            assert sum(path.is_file() for path in tmp_path.rglob("*")) == number
            yield f"{number}.txt", b"x"

    write_site(files(), tmp_path / "site")
    assert sorted(path.name for path in (tmp_path / "site").iterdir()) == ["0.txt", "1.txt", "2.txt"]


def test_a_build_that_fails_half_way_leaves_the_earlier_site(tmp_path: Path):
    def files() -> Iterator[tuple[str, bytes]]:
        yield "index.html", b"new"
        raise EvidenceError("a raw file is gone", hint="Put it back.")

    write_site([("index.html", b"old"), ("index.json", b'{"schema": "dayzero/catalog/v1"}')], tmp_path / "site")
    with pytest.raises(EvidenceError):
        write_site(files(), tmp_path / "site")
    assert (tmp_path / "site/index.html").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["site"]
