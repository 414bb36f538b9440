"""The rules as data: each can be read, and what is wrong with one is named."""

import pytest

from dayzero.advisories.walls.parse import in_order, parse_wall
from dayzero.core.errors import InputError
from dayzero.wiring import definitions

NAMES = {
    "model-unrecognized", "model-files-broken", "weights-layout-mismatch", "kernel-constraint", "api-skew",
    "dependency-or-pin", "native-abi", "gpu-arch", "driver-or-no-gpu", "toolchain-missing", "weights-do-not-fit",
    "kv-capacity", "gpu-occupied-or-mismapped", "collective", "shared-memory", "graph-capture", "engine-args", "host-io",
    "hub-access", "died-without-cause",
}  # fmt: skip
RULE = """
wall = "host-io"
[[rule]]
id = "x"
version = 1
category = "c"
title = "t"
line = 'no (?P<thing>\\w+)'
would_confirm = "w"
resolution.text = "r"
"""


def test_every_wall_has_a_rule_and_every_rule_a_resolution():
    walls = definitions.walls()
    assert {wall.wall for wall in walls} == NAMES
    assert all(wall.title and wall.remedy.text and wall.would_confirm and wall.version > 0 for wall in walls)


def test_the_more_particular_rules_come_first():
    priorities = [wall.priority for wall in definitions.walls()]
    assert priorities == sorted(priorities, reverse=True)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("(?P<thing>", "(?P<thing"), "no (?P<thing"),
        (('id = "x"', 'id = "x"\nunits = { size = "GiB" }'), "units for size"),
        (('id = "x"', 'id = "x"\nwhen = ["size is large"]'), "no condition"),
        (('id = "x"', 'id = "x"\ncolour = "red"'), "colour"),
        (("version = 1", 'version = "one"'), "version"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named_with_its_file(change: tuple[str, str], complaint: str):
    assert change[0] in RULE
    with pytest.raises(InputError) as raised:
        parse_wall(RULE.replace(*change), "mine.toml")
    assert "mine.toml" in raised.value.message
    assert complaint in raised.value.message


def test_two_rules_may_not_share_an_id():
    with pytest.raises(InputError, match="x"):
        in_order(parse_wall(RULE, "a") + parse_wall(RULE, "b"))


def test_the_confirmation_of_a_resolution_is_optional_and_empty_without_one():
    assert parse_wall(RULE, "a")[0].remedy.confirmed_by == ""
