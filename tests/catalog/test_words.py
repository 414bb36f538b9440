from dataclasses import replace

import pytest
from tests.catalog.sample import tiny

from dayzero.catalog.words import (
    cell_words,
    floor_words,
    load_words,
    origin_words,
    place_words,
    statistic_words,
    wheel_platform,
)
from dayzero.core.hardware import System
from dayzero.core.pins import Commit, FromSeed, HubRevision, InDistribution, ModelOrigin, Sha256
from dayzero.core.quantities import Bytes
from dayzero.core.workload import Poisson
from dayzero.evidence.locator import LineLocator, Locator, PointerLocator, WholeFile


@pytest.mark.parametrize(
    ("statistic", "words"),
    [
        ("p50", "median (50th percentile)"),
        ("p90", "90th percentile"),
        ("p1", "1st percentile"),
        ("p11", "11th percentile"),
        ("p22", "22nd percentile"),
        ("p93", "93rd percentile"),
        ("p99", "99th percentile"),
        ("total", "over the whole cell"),
        ("mean", "mean"),
        ("trimmed", "trimmed"),
    ],
)
def test_a_statistic_is_said_in_words(statistic: str, words: str):
    assert statistic_words((("cell", "c1"), ("statistic", statistic))) == words


def test_an_extraction_without_a_statistic_is_a_single_reading():
    assert statistic_words((("pointer", "/seconds"),)) == ""


def test_a_load_says_how_many_at_once_how_many_in_all_and_how_long():
    assert load_words((("cell", "c4"),), tiny().workload) == (
        "4 requests in flight, 64 measured after 8 warm-up, 128 prompt tokens and 64 output tokens each; "
        "prompts from seed 20260727"
    )
    assert load_words((("cell", "c1"),), tiny().workload).startswith("1 request in flight, ")


def test_a_rate_and_a_shared_prefix_are_said_too():
    (cell, *_) = tiny().workload.cells
    words = cell_words(replace(cell, concurrency=256, load=Poisson(20.0), shared_prefix_tokens=32))
    assert words == (
        "requests: 20 a second as a Poisson process, at most 256 in flight, 64 measured after 4 warm-up, "
        "128 prompt tokens and 64 output tokens each, the first 32 the same for all"
    )


def test_a_number_that_belongs_to_no_cell_has_no_load():
    assert load_words((("pointer", "/seconds"),), tiny().workload) == ""
    assert load_words((("cell", "c99"),), tiny().workload) == ""


@pytest.mark.parametrize(
    ("accelerator", "count", "words"),
    [
        ("", 0, "A CPU-only machine with at least 2.00 GiB of memory for the engine (box)."),
        ("H200", 1, "One H200 GPU with at least 2.00 GiB of memory (box)."),
        ("B300", 8, "8 B300 GPUs, each with at least 2.00 GiB of memory (box)."),
    ],
)
def test_the_floor_is_one_sentence(accelerator: str, count: int, words: str):
    system = System(name="box", accelerator=accelerator, accelerators=count, memory=Bytes(2 * 1024**3))
    assert floor_words(system) == words


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (HubRevision(repository="a/b", revision=Commit("12" * 20)), "a/b@" + "12" * 20),
        (
            InDistribution(distribution="d", version="0.1.2", wheel_sha256=Sha256("0" * 64), folder="f"),
            "d==0.1.2, folder f",
        ),
        (FromSeed(generator="kimi-k3", seed=7), "generator kimi-k3, seed 7"),
    ],
)
def test_an_origin_names_one_set_of_bytes(origin: ModelOrigin, words: str):
    assert origin_words(origin) == words


@pytest.mark.parametrize(
    ("filename", "platform"),
    [
        ("vllm-0.21.0-cp38-abi3-manylinux1_x86_64.whl", "manylinux1_x86_64"),
        ("vllm-0.21.0-1-cp38-abi3-manylinux1_x86_64.whl", "manylinux1_x86_64"),
        ("x-1-py3-none-any.whl", "any"),
    ],
)
def test_a_wheels_platform_is_its_last_tag_also_behind_a_build_tag(filename: str, platform: str):
    assert wheel_platform(filename) == platform


@pytest.mark.parametrize(
    ("locator", "words"),
    [
        (WholeFile(), "whole file"),
        (LineLocator(line=448, sha256=Sha256("0" * 64)), "line 448"),
        (PointerLocator(pointer="/seconds"), "value at /seconds"),
        (PointerLocator(pointer=""), "value at the root"),
    ],
)
def test_a_place_in_a_raw_file_is_said_in_words(locator: Locator, words: str):
    assert place_words(locator) == words
