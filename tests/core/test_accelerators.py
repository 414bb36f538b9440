"""Kinds of GPU and systems made of them."""

import tomllib
from contextlib import suppress
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.core.accelerators import accelerator, taken_at_start
from dayzero.core.errors import InputError
from dayzero.core.hardware import parse_system

KINDS = (
    "a100-40",
    "a100-80",
    "a10",
    "l4",
    "l40s",
    "h100",
    "h100-pcie",
    "h100-nvl",
    "h200",
    "h20",
    "b200",
    "b300",
    "gb200",
)
KINDS += ("gb300", "rtx-4090", "rtx-5090", "rtx-pro-6000", "mi300x", "mi325x", "mi355x")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_says_its_memory_as_an_interval_and_where_it_was_read(name: str):
    kind = accelerator(name)
    assert kind.name == name
    assert kind.total.low <= kind.total.size <= kind.total.high
    assert kind.source
    assert kind.compute_units
    nominal = "nominal" in kind.source or "not measured" in kind.source
    assert kind.total.low < kind.total.high or not nominal, "a nominal size is not exact"


def test_what_was_printed_on_a_device_lies_in_its_interval():
    gib = 1024**3
    for name, printed in (
        ("h200", 139.80),
        ("h200", 140.06),
        ("h100", 79.10),
        ("h100", 79.22),
        ("b200", 178.35),
        ("rtx-3090", 23.58),
        ("rtx-4060", 8.00),
        ("gb10", 121.69),
    ):
        total = accelerator(name).total
        assert total.low.count / gib - 0.01 <= printed <= total.high.count / gib + 0.01


def test_eight_b200_leave_what_was_found_free_on_them():
    taken, source = taken_at_start(peers=7)
    free = accelerator("b200").total.size.count - taken.size.count
    assert abs(free / 1024**3 - 175.75) < 0.01
    assert "175.75 of 178.35" in source


@pytest.mark.parametrize(
    ("text", "name", "gpus", "nodes"),
    [
        ("8xb300", "8xb300", 8, 1),
        ("1xH200", "1xh200", 1, 1),
        ("2x8xh200", "2x8xh200", 16, 2),
        ("1x8xb200", "8xb200", 8, 1),
        ("4xNVIDIA H100", "4xh100", 4, 1),
        ("2xa100", "2xa100-80", 2, 1),
    ],
)
def test_a_system_is_so_many_gpus_of_a_kind_on_so_many_nodes(text: str, name: str, gpus: int, nodes: int):
    system = parse_system(text)
    assert (system.name, system.gpus, system.nodes) == (name, gpus, nodes)
    assert system.memory == accelerator(system.accelerator).total.size


@pytest.mark.parametrize("text", ["", "8", "b300", "x8xb300", "0xb300", "8x", "2x0xh200", "-1xb200", "8 x"])
def test_what_is_no_system_is_refused_with_the_form(text: str):
    with pytest.raises(InputError, match="not a system") as refused:
        parse_system(text)
    assert "8xb300" in refused.value.hint


@pytest.mark.parametrize(
    ("made_up", "nearest"), [("b301", "b300"), ("h2000", "h200"), ("mi300", "mi300x"), ("rtx4091", "rtx-4090")]
)
def test_a_made_up_kind_is_refused_with_the_nearest_one(made_up: str, nearest: str):
    with pytest.raises(InputError, match=made_up) as refused:
        parse_system(f"8x{made_up}")
    assert f"Did you mean {nearest}?" in refused.value.hint


@given(st.text(max_size=12))
def test_any_text_is_a_system_or_refused(text: str):
    with suppress(InputError):
        assert parse_system(text).accelerators > 0


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("RTX3090", "rtx-3090"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("a6000", "rtx-a6000"),
        ("Tesla-T4", "t4"),
        ("rtx_pro_6000", "rtx-pro-6000"),
        ("NVIDIA H100", "h100"),
    ],
)
def test_a_kind_is_known_by_the_names_that_people_write(written: str, name: str):
    assert accelerator(written).name == name


def test_no_two_kinds_share_a_name_or_an_alias():
    entries = tomllib.loads(files("dayzero.core").joinpath("accelerators.toml").read_text(encoding="utf-8"))["kind"]
    names = [name for entry in entries for name in (entry["name"], *entry["aliases"])]
    assert len(names) == len(set(names))
