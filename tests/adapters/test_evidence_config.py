from pathlib import Path

import pytest

from dayzero.adapters.evidence_config import parse_policy, read_policy
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place
from dayzero.evidence.citation import UNITS
from dayzero.evidence.rules import Comparison, Policy, Topic

_TEXT = """\
pages = ["README.md", "doc/**/*.md"]
folder = "proof"
units = ["req/s"]
raw = ["results/**/*.json"]
kits = ["dist/*.kit.zip"]

[[topic]]
name = "vision"
claims = "k3/vision"

[[comparison]]
claim = "k3/speedup"
arms = ["k3/a", "k3/b"]
control = "k3/a-vs-a"

[[comparison]]
arms = ["k3/c", "k3/d"]
control = "k3/c-vs-c"
"""


def _at(line: int) -> Place:
    return Place(artifact="", file="evidence.toml", position=f"line {line}")


def test_every_key_is_read():
    assert parse_policy(_TEXT, "evidence.toml") == Policy(
        pages=("README.md", "doc/**/*.md"),
        folder="proof",
        units=(*UNITS, "req/s"),
        raw=("results/**/*.json",),
        kits=("dist/*.kit.zip",),
        topics=(Topic(name="vision", claims="k3/vision", place=_at(7)),),
        comparisons=(
            Comparison(claim="k3/speedup", arms=("k3/a", "k3/b"), control="k3/a-vs-a", place=_at(11)),
            Comparison(claim="", arms=("k3/c", "k3/d"), control="k3/c-vs-c", place=_at(16)),
        ),
    )


def test_without_a_file_and_with_an_empty_one_the_standard_policy_holds(tmp_path: Path):
    assert read_policy(tmp_path) == Policy()
    (tmp_path / "evidence.toml").write_text("")
    assert read_policy(tmp_path) == Policy()


def test_the_list_of_units_can_be_replaced():
    assert parse_policy('only_units = ["ms"]\nunits = ["req/s"]', "x").units == ("ms", "req/s")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pages = [", "evidence.toml:1: "),
        ('pages = "README.md"', "evidence.toml:1: pages: Expected `array`"),
        ('\npage = ["README.md"]', "evidence.toml:2: page: Object contains unknown field `page`"),
        ("pages = []", "evidence.toml:1: pages: no page is named"),
        ('pages = ["/etc/*.md"]', "evidence.toml:1: pages: '/etc/*.md' is not a path under the root"),
        ('raw = ["../x.json"]', "evidence.toml:1: raw: '../x.json' is not a path under the root"),
        ('raw = ["a**/x"]', "evidence.toml:1: raw: 'a**/x' is not a pattern"),
        ('kits = ["[ab].zip"]', "evidence.toml:1: kits: '[ab].zip' is not a pattern"),
        ('folder = ".."', "evidence.toml:1: folder: '..' is not a path under the root"),
        ('folder = "e*"', "evidence.toml:1: folder: 'e*' is not one folder"),
        ('folder = ""', "evidence.toml:1: folder: '' is not a path under the root"),
        ('units = ["5 ms"]', "evidence.toml:1: units: '5 ms' is not a unit"),
        ('units = [""]', "evidence.toml:1: units: '' is not a unit"),
        ("only_units = []", "evidence.toml:1: only_units: no unit is left"),
        ('folder = "a"\n[[topic]]\nname = "x"', "evidence.toml:2: topic[0]: Object missing required field `claims`"),
        (
            '[[topic]]\nname = "x"\nclaims = "y"\n[[topic]]\nname = 3\nclaims = "y"',
            "evidence.toml:5: topic[1].name: Expected `str`",
        ),
        ('[[topic]]\nname = "x"\nclaims = " "', "evidence.toml:3: topic[0].claims: is empty"),
        ('[[topic]]\nname = "x"\nclaim = "y"', "evidence.toml:3: topic[0].claim: Object contains unknown field"),
        (
            '[[comparison]]\narms = ["a", "a"]\ncontrol = "c"',
            "evidence.toml:2: comparison[0].arms: fewer than two arms",
        ),
        (
            '[[comparison]]\narms = ["a", "b"]\ncontrol = "b"',
            "evidence.toml:3: comparison[0].control: is one of the arms",
        ),
        ('[[comparison]]\narms = ["a", "b"]\ncontrol = ""', "evidence.toml:3: comparison[0].control: is empty"),
    ],
)
def test_an_error_names_file_line_and_key(text: str, message: str):
    with pytest.raises(InputError) as caught:
        parse_policy(text, "evidence.toml")
    assert caught.value.message.startswith(message)
    assert caught.value.hint


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path):
    (tmp_path / "evidence.toml").write_bytes(b"\xff")
    with pytest.raises(InputError):
        read_policy(tmp_path)
