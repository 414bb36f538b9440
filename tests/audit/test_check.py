from dataclasses import replace

import pytest
from tests.samples import DIGEST, build, recipe

from dayzero.advisories.model import Advisory, Finding
from dayzero.audit.check import audit
from dayzero.audit.model import BuildFacts, Facts, FactTable, Unread
from dayzero.core.verdict import Place, Proven, Refuted, Undecided

WHOLE = Place(artifact="xllamacpp 2.0", file="x.so", position="byte 0x100")


def table(noun: str, *names: str) -> FactTable:
    entries = tuple(
        (name, Place(artifact="xllamacpp 2.0", file="x.so", position=f"byte {i:#x}")) for i, name in enumerate(names)
    )
    return FactTable(noun=noun, entries=entries, place=WHOLE)


def facts(**changes: Facts) -> BuildFacts:
    whole = BuildFacts(
        build="xllamacpp==2.0",
        architectures=table("architecture", "llama", "kimi-linear", "kimi-k3"),
        settings=table("setting", "--n-ctx", "--port"),
        tensor_types=table("tensor type", "f32", "mxfp4"),
    )
    return replace(whole, **changes)


ADVISORY = Advisory(
    id="DZA-2026-001",
    title="no kimi-k3",
    distribution="xllamacpp",
    check="architecture",
    value="kimi-k3",
    affected="<3.0",
    first_build="3.0",
    resolution="Re-pin.",
    evidence=(Finding(build="2.0", wheel_sha256=DIGEST, file="x.so", finding="absent"),),
)


def run(given: BuildFacts, settings: tuple[str, ...] = ("--n-ctx",), advisories: tuple[Advisory, ...] = (ADVISORY,)):
    return audit(recipe(), build(), given, settings, advisories)


def test_a_build_that_holds_everything_is_proven_with_the_place_of_each_fact():
    report = run(facts())
    assert isinstance(report.verdict, Proven)
    assert [check.id for check in report.checks] == [
        "architecture:kimi-k3",
        "tensor-type:f32",
        "tensor-type:mxfp4",
        "setting:--n-ctx",
    ]
    assert [str(place) for place in report.verdict.places] == [
        "xllamacpp 2.0: x.so:byte 0x2",
        "xllamacpp 2.0: x.so:byte 0x0",
        "xllamacpp 2.0: x.so:byte 0x1",
        "xllamacpp 2.0: x.so:byte 0x0",
    ]
    assert report.remedies == ()


def test_an_unknown_architecture_is_refuted_at_the_table_and_the_first_build_that_has_it_is_named():
    report = run(facts(architectures=table("architecture", "llama", "kimi-linear")))
    assert report.verdict == Refuted(
        "architecture kimi-k3 is not among the 2 that the build knows; the closest is kimi-linear", (WHOLE,)
    )
    assert [(r.advisory, r.first_build) for r in report.remedies] == [("DZA-2026-001", "3.0")]


def test_an_unknown_setting_is_refuted_with_the_nearest_known_one():
    report = run(facts(), settings=("--n-ctxx",))
    assert isinstance(report.verdict, Refuted)
    assert report.verdict.reason.endswith("the closest is --n-ctx")
    assert report.remedies == ()


@pytest.mark.parametrize("noun", ["architectures", "settings", "tensor_types"])
def test_a_table_that_was_not_read_leaves_the_audit_undecided_never_passed(noun):
    report = run(facts(**{noun: Unread(noun=noun, reason="no such file")}))
    assert isinstance(report.verdict, Undecided)
    assert "no such file" in report.verdict.reason


@pytest.mark.parametrize(
    "change",
    [{"affected": "<2.0", "first_build": "2.0"}, {"distribution": "vllm"}, {"value": "llama"}, {"check": "setting"}],
)
def test_an_advisory_about_something_else_is_no_remedy(change):
    report = run(facts(architectures=table("architecture", "llama")), advisories=(replace(ADVISORY, **change),))
    assert isinstance(report.verdict, Refuted)
    assert report.remedies == ()
