from pathlib import Path

import pytest

from dayzero.adapters.package_files import load_collected, load_package, parse_package
from dayzero.core.errors import InputError
from dayzero.core.pins import FromSeed, InDistribution

PACKAGES = Path(__file__).parents[2] / "packages"
TEXT = (PACKAGES / "demo-kimi-k3-tiny" / "package.toml").read_text(encoding="utf-8")


def test_the_demo_definitions_parse_into_recipes():
    tiny, smol = (load_package(PACKAGES / name / "package.toml") for name in ("demo-kimi-k3-tiny", "demo-smollm2"))
    assert tiny.recipe.model.origin == FromSeed(generator="kimi-k3", seed=7)
    assert isinstance(smol.recipe.model.origin, InDistribution)
    assert tiny.recipe.flags[:2] == ("--n-ctx", "8192")
    assert [cell.concurrency for cell in tiny.workload.cells] == [1, 4]
    assert sum(claim.headline for claim in tiny.claims) == 1
    assert tiny.walls[0].build.version == "2026.8.10229"


@pytest.mark.parametrize(
    ("old", "new", "key", "complaint"),
    [
        ("concurrency = 4", 'concurrency = "4"', "workload.cells[1].concurrency", "Expected `int`"),
        ("concurrency = 4", "concurency = 4", "workload.cells[1].concurency", "unknown field"),
        ('tier = "open"', 'tier = "free"', "tier", "Invalid enum value"),
        (
            'version = "2026.8.10229"',
            'version = "2026.10.11549"',
            "walls[0].build.version",
            "is the build that the recipe pins",
        ),
        ('path = "tiny', 'path = "../tiny', "model.files[0].path", "not a relative path"),
        ('id = "c4-ttft-p50"', 'id = "c1-ttft-p50"', "claims[7].id", "is taken"),
        ('schema = "dayzero/package/v1"', 'schema = "dayzero/package/v2"', "schema", "Invalid enum value"),
    ],
)
def test_an_error_names_file_line_and_key(old, new, key, complaint):
    with pytest.raises(InputError) as raised:
        parse_package(TEXT.replace(old, new, 1), "package.toml")
    line = TEXT[: TEXT.index(old)].count("\n") + 1
    assert raised.value.message.startswith(f"package.toml:{line}: {key}: ")
    assert complaint in raised.value.message


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('kind = "added"\n', "", "package.toml:\\d+: changes\\[0\\]: Object missing required field `kind`"),
        (
            "seed = 7\n",
            'seed = 7\n[model.hub]\nrepository = "a/b"\nrevision = "' + "0" * 40 + '"\n',
            "model: 2 origins given",
        ),
        ("[model.from_seed]\n", "[model.seeded]\n", "model.seeded: Object contains unknown field"),
        ('tier = "open"', "tier = open", "package.toml:9: Invalid value"),
        ('cell = "c4", metric = "ttft_ms"', 'cell = "c9", metric = "ttft_ms"', "no cell 'c9' in the workload"),
        (
            "headline = true",
            "headline = true\n[[claims]]\nid = 'x'\nlabel = 'x'\nsource = 's'\nextractor = 'e@1'\nheadline = true",
            "more than one headline",
        ),
    ],
)
def test_a_definition_that_contradicts_itself_is_refused(old, new, complaint):
    with pytest.raises(InputError, match=complaint):
        parse_package(TEXT.replace(old, new, 1), "package.toml")


def test_a_definition_in_a_collection_has_the_name_of_its_folder(tmp_path):
    folder = tmp_path / "other-name"
    folder.mkdir()
    (folder / "package.toml").write_text(TEXT, encoding="utf-8")
    with pytest.raises(
        InputError, match=r"package.toml:2: name: 'demo-kimi-k3-tiny' is not the folder's name 'other-name'"
    ):
        load_collected(folder / "package.toml")
    assert load_package(folder / "package.toml").name == "demo-kimi-k3-tiny"


def test_a_missing_or_unreadable_definition_is_bad_input(tmp_path):
    with pytest.raises(InputError, match="no package definition"):
        load_package(tmp_path / "package.toml")
    (tmp_path / "package.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="utf-8"):
        load_package(tmp_path / "package.toml")
