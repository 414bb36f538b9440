import subprocess
from pathlib import Path

import pytest

from dayzero.adapters.repository_files import ignored_by_git, lying_raw, name_in, published_pages, unmatched
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.model import RawFile
from dayzero.evidence.rules import Policy


def _write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def _raw(name: str) -> RawFile:
    digest = Sha256.of(name.encode())
    return RawFile(sha256=digest, name=name, size=Bytes(1), captured_at="2026-07-30T12:00:00Z", command="x")


def test_the_published_pages_are_readme_docs_site_and_those_named(tmp_path: Path):
    for name in ("README.md", "docs/a/b.md", "docs/c.txt", "site/index.html", "site/p/x.html", "other.md", "src/d.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    pages = published_pages(tmp_path, (tmp_path / "other.md", tmp_path / "README.md"))
    assert [str(Path(page.path).relative_to(tmp_path)) for page in pages] == [
        "README.md",
        "docs/a/b.md",
        "site/index.html",
        "site/p/x.html",
        "other.md",
    ]
    assert pages[0].content == b"README.md"


def test_a_named_page_has_to_be_there(tmp_path: Path):
    with pytest.raises(InputError):
        published_pages(tmp_path, (tmp_path / "no.md",))


def test_a_policy_says_which_pages_are_published_and_what_their_units_are(tmp_path: Path):
    _write(tmp_path, "README.md", "a/b/c.md", "a/d.md", "a/.venv/e.md", ".github/README.md")
    policy = Policy(pages=("a/**/*.md", ".github/*.md", "no/*.md"), units=("req/s",))
    pages = published_pages(tmp_path, policy=policy)
    assert [str(Path(page.path).relative_to(tmp_path)) for page in pages] == ["a/b/c.md", "a/d.md", ".github/README.md"]
    assert {page.units for page in pages} == {("req/s",)}
    assert unmatched(tmp_path, policy.pages) == ("no/*.md",)


@pytest.mark.parametrize(
    ("pattern", "lying"),
    [
        ("results/**/*.json", {"results/a.json", "results/x/y/b.json"}),
        ("results/*.json", {"results/a.json"}),
        ("results/?.json", {"results/a.json"}),
        ("**", {"results/a.json", "results/x/y/b.json", "c.log"}),
        ("result", set()),
        ("results/a.jso", set()),
        ("results/a+json", set()),
    ],
)
def test_recorded_files_lie_where_a_pattern_names_them_and_never_outside(tmp_path: Path, pattern: str, lying: set[str]):
    root = tmp_path / "root"
    _write(tmp_path, "outside.json")
    _write(root, "results/a.json")
    (root / "results" / "link").symlink_to(tmp_path)
    names = ("results/a.json", "results/x/y/b.json", "c.log", "results/../../outside.json", "results/link/outside.json")
    found = lying_raw(root, (pattern,), [_raw(name) for name in (*names, str(tmp_path / "outside.json"))])
    assert {str(path.relative_to(root)) for path in found.values()} == lying


def test_a_file_is_filed_where_it_lies_only_when_the_policy_names_it(tmp_path: Path):
    _write(tmp_path, "root/results/a.json", "b.json")
    root = tmp_path / "root"
    assert name_in(root, root / "results" / ".." / "results" / "a.json", ("results/*",)) == "results/a.json"
    for file, patterns in ((root / "results" / "a.json", ("other/*",)), (tmp_path / "b.json", ("**",))):
        with pytest.raises(InputError):
            name_in(root, file, patterns)


def test_what_git_leaves_out_is_known_and_what_it_tracks_is_not_ignored(tmp_path: Path):
    _write(tmp_path, "a.log", "b.log", "c.json", "sub/d.log")
    assert ignored_by_git(tmp_path, (tmp_path / "a.log",)) == frozenset()
    (tmp_path / ".gitignore").write_text("*.log")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "add", "-f", "b.log"], check=True)
    files = tuple(tmp_path / name for name in ("a.log", "b.log", "c.json", "sub/d.log"))
    assert ignored_by_git(tmp_path, files) == {tmp_path / "a.log", tmp_path / "sub" / "d.log"}
    assert ignored_by_git(tmp_path, ()) == frozenset()
