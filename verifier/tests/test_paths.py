import pytest

from dayzero_verify.paths import PathError, check_path, check_paths


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../x",
        "a/../x",
        "a/./x",
        ".",
        "..",
        "a//b",
        "a/",
        ".gitattributes",
        "a/.hidden",
        "a\\b",
        "C:x",
        "C:/x",
        "a b",
        "a\nb",
        "a\x00b",
        "-rf",
        "~",
        "caf\u00e9",
        "cafe\u0301",
        "\uff41",
        "a\u202eb",
        "name.",
        "folder./x",
        "con",
        "NUL.txt",
        "a/aux",
        "Lpt1.tar.gz",
        "x" * 241,
        "a\n",
    ],
)
def test_a_path_that_could_mean_another_file_is_refused(path: str):
    with pytest.raises(PathError):
        check_path(path)


@pytest.mark.parametrize("path", ["README.md", "evidence/raw/0a", "_x/a-b+c@d=e.tar.gz", "console", "x" * 240, "0"])
def test_a_plain_path_is_taken(path: str):
    check_path(path)


@pytest.mark.parametrize(
    "paths",
    [("a", "a"), ("README.md", "readme.MD"), ("a", "a/b"), ("A", "a/b"), ("dir/x", "Dir/y"), ("a/b/c", "a/B/d")],
)
def test_paths_that_collide_where_letter_case_is_ignored_are_refused(paths: tuple[str, ...]):
    for order in (paths, tuple(reversed(paths))):
        with pytest.raises(PathError):
            check_paths(order)


def test_paths_that_only_look_alike_are_taken():
    check_paths(("a", "ab", "a.b/c", "b/a", "b/c/a"))
