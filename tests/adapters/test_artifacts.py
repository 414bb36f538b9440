"""Wheels, sdists, folders, environments and checkouts as what is installed, and what is wrong with some of them."""

import os
import struct
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulators.elf_symbols import shared_object
from tests.simulators.wheels import make_sdist, make_wheel

from dayzero.adapters.artifact_elf import dynamic_tables
from dayzero.adapters.artifact_open import open_given
from dayzero.adapters.artifact_pack import PackedFiles, packed
from dayzero.adapters.artifact_zip import ZipFiles
from dayzero.audit.dynamic_symbols import read_symbols
from dayzero.audit.ports import DigestedFiles, SearchedFiles
from dayzero.core.errors import InputError, IntegrityError

LIBRARY = shared_object(exports=["launch"], undefined=["at_empty"], needed=["libtorch.so"], versions=["GLIBC_2.34"])


def test_of_a_wheel_its_text_and_the_symbols_of_its_libraries_are_kept_and_the_rest_is_only_named(tmp_path):
    files = {"p/__init__.py": "x = 1\n", "p/_C.abi3.so": LIBRARY + b"\0" * 100_000, "p/weights.bin": b"\1" * 1000}
    wheel = make_wheel(
        tmp_path, "vllm", "0.21.0", files, requires=["torch==2.11.0"], tag="1-cp38-abi3-manylinux_2_24_x86_64"
    )
    (one,) = open_given(wheel, tmp_path / "packs")
    assert (one.name, one.version, one.requires) == ("vllm", "0.21.0", ("torch==2.11.0",))
    assert one.files.read("p/__init__.py") == b"x = 1\n"
    assert read_symbols(one.files.read("p/_C.abi3.so")) == read_symbols(LIBRARY)
    assert len(one.files.read("p/_C.abi3.so")) < 1000
    assert "p/weights.bin" in one.files.names()
    with pytest.raises(InputError, match=r"no file p/weights\.bin"):
        one.files.read("p/weights.bin")


def test_what_is_kept_is_kept_by_the_digest_and_made_once(tmp_path):
    wheel = make_wheel(tmp_path, "a", "1", {"a.py": "x = 1\n"})
    first = packed(wheel, tmp_path / "packs")
    written = first.stat().st_mtime_ns
    assert packed(wheel, tmp_path / "packs") == first
    assert first.stat().st_mtime_ns == written
    again = make_wheel(tmp_path, "a", "1", {"a.py": "x = 2\n"})
    assert packed(again, tmp_path / "packs") != first


def test_a_kept_archive_that_was_damaged_is_made_again(tmp_path):
    wheel = make_wheel(tmp_path, "a", "1", {"a.py": "x = 1\n"})
    pack = packed(wheel, tmp_path / "packs")
    pack.write_bytes(pack.read_bytes()[:50])
    assert PackedFiles("a 1", packed(wheel, tmp_path / "packs")).read("a.py") == b"x = 1\n"


@pytest.mark.parametrize(("field", "value"), [(16, 1), (10, 8), (10, 99), (20, 3), (24, 7), (42, 1 << 30)])
def test_a_member_of_a_kept_archive_that_is_not_what_its_directory_says_is_refused(tmp_path, field, value):
    pack = packed(make_wheel(tmp_path, "a", "1", {"a.py": "x = 1\n"}), tmp_path / "packs")
    content = bytearray(pack.read_bytes())
    at = next(
        one for one in range(len(content)) if content[one : one + 4] == b"PK\1\2" and content[one + 46 :][:4] == b"a.py"
    )
    struct.pack_into("<H" if field == 10 else "<I", content, at + field, value)  # checksum, method, sizes, offset
    pack.write_bytes(content)
    with pytest.raises(InputError, match=r"a 1 cannot be read"):
        PackedFiles("a 1", pack).read("a.py")


def test_a_kept_file_of_no_length_is_kept(tmp_path):
    pack = packed(make_wheel(tmp_path, "a", "1", {"a.py": "", "a/b.py": "x" * 100_000}), tmp_path / "packs")
    files = PackedFiles("a 1", pack)
    assert (files.read("a.py"), files.read("a/b.py")) == (b"", b"x" * 100_000)


def test_a_wheel_whose_record_lists_another_file_is_not_used(tmp_path):
    wheel = make_wheel(tmp_path, "a", "1", {"a.py": "x = 1\n"}, wrong=["a.py"])
    with pytest.raises(IntegrityError, match=r"a\.py is not the file that the wheel's RECORD lists"):
        open_given(wheel, tmp_path / "packs")
    assert not list((tmp_path / "packs").glob("*.zip"))


def test_a_library_that_record_lists_otherwise_is_not_used_either(tmp_path):
    wheel = make_wheel(tmp_path, "a", "1", {"a.so": LIBRARY}, wrong=["a.so"])
    with pytest.raises(IntegrityError):
        open_given(wheel, tmp_path / "packs")


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.98])
def test_a_wheel_that_was_cut_short_is_refused(tmp_path, keep):
    wheel = make_wheel(tmp_path, "a", "1", {"a.py": "x = 1\n" * 500})
    content = wheel.read_bytes()
    wheel.write_bytes(content[: keep if keep > 1 else int(len(content) * keep)])
    with pytest.raises(InputError, match="cannot be read"):
        open_given(wheel, tmp_path / "packs")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.py", b"\0" * (3 << 20))
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\1\2")
    struct.pack_into("<I", content, at + 24, 4_000_000_000)
    path.write_bytes(content)
    with pytest.raises(InputError, match="would unpack to 3814 MiB from almost nothing"):
        ZipFiles("a 1", path)


def test_a_file_that_is_named_twice_is_refused(tmp_path):
    path = tmp_path / "twice.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.py", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.py", "2")
    with pytest.raises(InputError, match="names a file twice"):
        ZipFiles("a 1", path)


def test_a_folder_of_wheels_is_each_of_them(tmp_path):
    make_wheel(tmp_path / "w", "vllm", "0.27.0")
    make_wheel(tmp_path / "w", "Flashinfer_Python", "0.6.14")
    assert sorted(map(str, open_given(tmp_path / "w", tmp_path / "packs"))) == [
        "flashinfer-python==0.6.14",
        "vllm==0.27.0",
    ]


def test_an_sdist_is_read_as_it_would_be_installed_and_none_of_its_code_runs(tmp_path):
    files = {"src/flashinfer/__init__.py": "x = 1\n", "setup.py": "raise SystemExit\n"}
    (one,) = open_given(make_sdist(tmp_path, "flashinfer-python", "0.2.8rc1", files), tmp_path / "packs")
    assert (str(one), one.files.read("flashinfer/__init__.py")) == ("flashinfer-python==0.2.8rc1", b"x = 1\n")


def test_an_environment_is_each_distribution_with_its_own_files(tmp_path):
    site = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    for name in ("a", "b"):
        with zipfile.ZipFile(make_wheel(tmp_path, name, "1", {f"{name}/__init__.py": "x = 1\n"})) as archive:
            archive.extractall(site)
    first, second = open_given(tmp_path / "venv", tmp_path / "packs")
    assert [str(first), str(second)] == ["a==1", "b==1"]
    assert "b/__init__.py" not in first.files.names()


def installed(tmp_path):
    """An environment with one distribution, and its module."""
    site = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    with zipfile.ZipFile(make_wheel(tmp_path, "a", "1", {"a/b.py": "x = 1\n", "a/data.json": "{}"})) as archive:
        archive.extractall(site)
    (one,) = open_given(tmp_path / "venv", tmp_path / "packs")
    return one.files, site / "a" / "b.py"


def edited(path):
    """Change a file to another text of the same length, and give it back its times."""
    before = path.stat()
    path.write_text("x = 2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (edited, True),
        (lambda path: path.unlink(), True),
        (lambda path: path.with_name("data.json").write_text("[]"), False),
        (lambda path: path.touch(), False),
    ],
    ids=["same size and times", "gone", "no Python", "times alone"],
)
def test_an_environment_that_was_changed_by_hand_is_another_one(tmp_path, change, seen):
    files, path = installed(tmp_path)
    before = files.digest
    change(path)
    (again,) = open_given(tmp_path / "venv", tmp_path / "packs")
    assert isinstance(files, DigestedFiles)
    assert not isinstance(files, SearchedFiles)
    assert (again.files.digest != before) == seen


def test_what_is_digested_of_an_environment_is_what_is_read_of_it(tmp_path):
    files, path = installed(tmp_path)
    digest = files.digest
    edited(path)
    assert files.read("a/b.py") == b"x = 1\n"
    (again,) = open_given(tmp_path / "venv", tmp_path / "packs")
    assert again.files.digest != digest


def test_a_checkout_is_named_by_its_commit(tmp_path):
    (tmp_path / ".git" / "refs" / "heads").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "refs" / "heads" / "main").write_text("0123456789abcdef0123456789abcdef01234567\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "vllm"\ndynamic = ["version", "dependencies"]\n')
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "cuda.txt").write_text("-r common.txt\nflashinfer-python==0.6.14  # kernels\n")
    (tmp_path / "requirements" / "common.txt").write_text("-r cuda.txt\ntransformers>=4.56\n")
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "envs.py").write_text("x = 1\n")
    (one,) = open_given(tmp_path, tmp_path / "packs")
    assert (one.version, one.files.artifact) == ("0+g0123456789ab", "vllm at 0123456789ab")
    assert one.requires == ("flashinfer-python==0.6.14", "transformers>=4.56")
    assert one.files.read("vllm/envs.py") == b"x = 1\n"


@pytest.mark.parametrize("name", ["nothing", "notes.txt", "x.whl", "empty"])
def test_what_is_no_distribution_is_refused(tmp_path, name):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "x.whl").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        open_given(tmp_path / name, tmp_path / "packs")


@given(content=st.binary(max_size=300))
def test_anything_may_call_itself_a_library(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("elf") / "a.so"
    for head in (b"", LIBRARY[:64], LIBRARY[:200]):
        path.write_bytes(head + content or b"\0")
        assert isinstance(dynamic_tables(path), bytes)


def test_a_kept_archive_says_which_python_files_hold_a_word_and_what_may(tmp_path):
    files = {
        "a/one.py": "word",
        "a/two.py": "no\nword\n",
        "a/rd.py": "wo",
        "a/rdx.py": "",
        "a/c.cu": "word",
        "a/w.bin": b"word",
    }
    kept = PackedFiles("a 1", packed(make_wheel(tmp_path, "a", "1", files), tmp_path / "packs"))
    assert kept.holding(b"word") == {"a/one.py", "a/two.py", "a/w.bin"}
    assert kept.holding(b"a/one") == {"a/w.bin"}  # a name is no content
    assert kept.holding(b"oPK") == {"a/w.bin"}  # nor is the end of one file with what the archive has before the next
    assert kept.holding(b"") == {"a/one.py", "a/two.py", "a/rd.py", "a/rdx.py", "a/w.bin"}


def test_a_kept_file_that_was_damaged_may_hold_every_word(tmp_path):
    pack = packed(make_wheel(tmp_path, "a", "1", {"a.py": "once", "b.py": "twice"}), tmp_path / "packs")
    pack.write_bytes(pack.read_bytes().replace(b"once", b"0nce"))
    pack.with_suffix(".words").unlink()
    assert PackedFiles("a 1", pack).holding(b"word") == {"a.py"}
    assert not pack.with_suffix(".words").exists()  # what is damaged is not written down


def test_what_was_written_down_before_a_file_was_damaged_still_says_what_it_held(tmp_path):
    pack = packed(make_wheel(tmp_path, "a", "1", {"a.py": "once(", "b.py": "twice"}), tmp_path / "packs")
    pack.write_bytes(pack.read_bytes().replace(b"once", b"0nce"))
    kept = PackedFiles("a 1", pack)
    assert (kept.holding(b"word"), kept.holding(b"once"), kept.holding(b"once()")) == (set(), {"a.py"}, {"a.py"})
    with pytest.raises(InputError, match="cannot be read"):
        kept.read("a.py")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: b"",
        lambda kept: kept[:-1] + b"\0",
        lambda kept: kept[:70] + b"{}\n",
        lambda kept: kept.replace(b'"a.py","b.py"', b'"b.py","a.py"'),
    ],
)
def test_words_that_were_damaged_are_written_down_again(tmp_path, spoil):
    pack = packed(make_wheel(tmp_path, "a", "1", {"a.py": "once", "b.py": "twice"}), tmp_path / "packs")
    words = pack.with_suffix(".words")
    whole = words.read_bytes()
    words.write_bytes(spoil(whole))
    assert PackedFiles("a 1", pack).holding(b"once") == {"a.py"}
    assert words.read_bytes() == whole


def test_words_of_another_archive_are_not_believed(tmp_path):
    one, other = (
        packed(make_wheel(tmp_path, "a", "1", {"a.py": text}), tmp_path / "packs") for text in ("once", "twice")
    )
    other.with_suffix(".words").write_bytes(one.with_suffix(".words").read_bytes())
    assert PackedFiles("a 1", other).holding(b"twice") == {"a.py"}


def test_words_are_found_where_nothing_can_be_written(tmp_path):
    pack = packed(make_wheel(tmp_path, "a", "1", {"a.py": "once"}), tmp_path / "packs")
    pack.with_suffix(".words").unlink()
    pack.with_suffix(".words").mkdir()
    assert PackedFiles("a 1", pack).holding(b"once") == {"a.py"}


@given(
    st.lists(st.one_of(st.binary(max_size=12), st.text("ab_( .\n", max_size=9).map(str.encode)), max_size=6),
    st.one_of(st.binary(min_size=1, max_size=3), st.text("ab_( .\n", min_size=1, max_size=4).map(str.encode)),
)
def test_a_word_is_found_where_the_text_holds_it(texts, word):
    with tempfile.TemporaryDirectory() as folder:
        files = {f"{number}.py": text for number, text in enumerate(texts)}
        kept = PackedFiles("a 1", packed(make_wheel(Path(folder), "a", "1", files), Path(folder) / "packs"))
        assert kept.holding(word) == {name for name, text in files.items() if word in text}


def test_a_kept_archive_with_another_file_has_another_digest(tmp_path):
    pack = packed(make_wheel(tmp_path, "a", "1", {"a.py": "once"}), tmp_path / "packs")
    first = PackedFiles("a 1", pack).digest
    assert PackedFiles("a 1", pack).digest == first
    with zipfile.ZipFile(pack, "a") as archive:
        archive.writestr("b.py", "more")
    assert PackedFiles("a 1", pack).digest != first
