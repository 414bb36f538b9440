from pathlib import Path

import pytest

from dayzero.adapters.package_files import load_collected, load_package, parse_package
from dayzero.core.errors import InputError
from dayzero.core.pins import Commit, FromSeed, HubRevision, InDistribution
from dayzero.core.quantities import Bytes
from dayzero.core.workload import ClosedLoop, Constant, Poisson, Ramp, Slo

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
        (
            'advisory = "DZA-2026-001"',
            'avoided_by = ["--n-ctx", "--no-such-flag"]\nadvisory = "DZA-2026-001"',
            "walls[0].avoided_by",
            "--no-such-flag is no setting of the recipe",
        ),
        ('path = "tiny', 'path = "../tiny', "model.files[0].path", "not a relative path"),
        ('id = "c4-ttft-p50"', 'id = "c1-ttft-p50"', "claims[7].id", "is taken"),
        ('schema = "dayzero/package/v1"', 'schema = "dayzero/package/v2"', "schema", "Invalid enum value"),
        ('"--kv-unified", "true"', '"--kv-unified", "true\\n"', "serving.flags[7]", "Expected `str` matching regex"),
        ("memory_bytes = 536_870_912", "nodes = 0", "system.nodes", "Expected `int` >= 1"),
        ('version = "2026.10.11549"', 'lock = "my.lock"', "engine.lock", "Invalid enum value"),
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


def test_a_wall_of_the_recipe_s_own_build_names_the_settings_that_avoid_it() -> None:
    package = load_package(PACKAGES / "kimi-k3-8xb300" / "package.toml")
    walls = {
        wall.advisory: wall.avoided_by for wall in package.walls if wall.build.version == package.recipe.engine.version
    }
    assert walls == {"DZA-2026-007": ("--disable-custom-all-reduce",)}


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


C4 = 'name = "c4"\nconcurrency = 4\n'


@pytest.mark.parametrize(
    ("keys", "field", "value"),
    [
        ("", "load", ClosedLoop()),
        ("load = { constant_per_s = 20 }", "load", Constant(20.0)),
        ("load = { poisson_per_s = 2.5 }", "load", Poisson(2.5)),
        (
            "load = { ramp = { start_per_s = 0, end_per_s = 9, over_s = 30 } }",
            "load",
            Ramp(start_per_s=0.0, end_per_s=9.0, over_s=30.0),
        ),
        ("turns = 4\nthink_s = 1.5", "think_s", 1.5),
        ("shared_prefix_tokens = 32", "shared_prefix_tokens", 32),
        ("slo = { ttft_ms = 200, e2e_ms = 4000 }", "slos", (Slo("ttft_ms", 200.0), Slo("e2e_ms", 4000.0))),
    ],
)
def test_a_cell_says_when_its_requests_are_sent_and_what_they_have_to_keep(keys: str, field: str, value: object):
    cell = parse_package(TEXT.replace(C4, f"{C4}{keys}\n"), "package.toml").workload.cells[1]
    assert getattr(cell, field) == value


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ("load = { poisson_per_s = 2, constant_per_s = 2 }", "load needs exactly one form"),
        ("load = {}", "load needs exactly one form"),
        ("load = { poisson_per_s = 0 }", "cells\\[1\\].load.poisson_per_s: Expected `float` > 0"),
        ("load = { burst_per_s = 2 }", "cells\\[1\\].load.burst_per_s: Object contains unknown field"),
        ("turns = 5", "workload.cells\\[1\\]: requests is no multiple of 5 turns"),
        ("think_s = 1", "workload.cells\\[1\\]: think_s without turns"),
        ("slo = { speed = 3 }", "cells\\[1\\].slo.speed: Object contains unknown field"),
    ],
)
def test_a_load_that_makes_no_sense_is_named_with_its_cell(keys: str, complaint: str):
    with pytest.raises(InputError, match=f"package.toml:\\d+: .*{complaint}") as raised:
        parse_package(TEXT.replace(C4, f"{C4}{keys}\n"), "package.toml")
    line = int(raised.value.message.split(":")[1])
    assert TEXT[: TEXT.index(C4)].count("\n") <= line <= TEXT[: TEXT.index(C4)].count("\n") + 4


HUB = TEXT.replace(
    """[model.from_seed]
generator = "kimi-k3"
seed = 7
""",
    f"""[model.hub]
repository = "org/model"
revision = "{"1" * 40}"
code_revision = "{"2" * 40}"
""",
)


def test_the_commits_of_tokenizer_and_code_are_read_where_they_are_given():
    origin = parse_package(HUB, "package.toml").recipe.model.origin
    assert isinstance(origin, HubRevision)
    assert (origin.revision.hex, origin.code_revision, origin.tokenizer_revision) == ("1" * 40, Commit("2" * 40), None)


def test_nodes_memory_and_the_time_before_the_stop_are_read():
    keys = "memory_bytes = 536_870_912\nnodes = 2\nhost_memory_bytes = 9\nshared_memory_bytes = 8"
    text = TEXT.replace("memory_bytes = 536_870_912", keys).replace(
        "stop_budget_s = 10", "stop_budget_s = 10\npre_stop_s = 3"
    )
    recipe = parse_package(text, "package.toml").recipe
    assert (recipe.system.nodes, recipe.system.host_memory, recipe.system.shared_memory) == (2, Bytes(9), Bytes(8))
    assert recipe.pre_stop_s == 3


VERSION = 'distribution = "xllamacpp"\nversion = "2026.10.11549"\n'
LOCKED = TEXT.replace(VERSION, f'{VERSION}lock = "requirements.lock"\n', 1)
LOCK = f"""# made by uv
--index-url https://index.test/simple
numpy==2.0 \\
    --hash=sha256:{"a" * 64} \\
    --hash=sha256:{"b" * 64}
    # via xllamacpp
xllamacpp[server]==2026.10.11549 ; python_version >= "3.10" \\
    --hash=sha256:{"c" * 64}
"""


def test_the_lock_beside_a_definition_is_part_of_the_build(tmp_path):
    (tmp_path / "package.toml").write_text(LOCKED)
    with pytest.raises(InputError, match=r"requirements\.lock cannot be read"):
        load_package(tmp_path / "package.toml")
    (tmp_path / "requirements.lock").write_text(LOCK)
    assert load_package(tmp_path / "package.toml").recipe.engine.lock == LOCK


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (f" \\\n    --hash=sha256:{'c' * 64}", "", "not pinned by version and digest: xllamacpp"),
        ("numpy==2.0", "numpy>=2.0", "not pinned by version and digest: numpy>=2.0"),
        ("a" * 64, "a" * 63 + " --hash=md5:1", "not pinned by version and digest: numpy==2.0"),
        ("xllamacpp[server]==2026.10.11549", "xllamacpp==2026.10.1", "the lock does not pin xllamacpp==2026.10.11549"),
        ("numpy==2.0", "https://files.test/numpy.whl", "not pinned by version and digest: https:"),
    ],
)
def test_a_lock_that_leaves_something_open_is_refused_at_its_key(old, new, complaint):
    lock = LOCK.replace(old, new)
    if "b" * 64 in lock and complaint.endswith("numpy==2.0"):
        lock = lock.replace(f" \\\n    --hash=sha256:{'b' * 64}", "")
    with pytest.raises(InputError, match=complaint) as raised:
        parse_package(LOCKED, "package.toml", beside=lambda _: lock)
    assert raised.value.message.startswith(
        f"package.toml:{LOCKED[: LOCKED.index('lock =')].count(chr(10)) + 1}: engine.lock: "
    )
