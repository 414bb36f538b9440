from dataclasses import replace

import pytest
from tests.catalog.sample import START, claim, large, raw_file, tiny, tiny_records, told_of

from dayzero.catalog.model import STEPS, Fit, FitState, GateSaid, NotYet, Reached, StatusStep
from dayzero.catalog.standing import read_fit, read_gates, read_ladder, weights_pinned
from dayzero.catalog.told import About
from dayzero.core.package import Unmeasured
from dayzero.core.pins import Sha256
from dayzero.evidence.model import Claim, Record, Retraction
from dayzero.evidence.subject import recipe_digest


def stated(id_: str, value: str) -> Claim:
    made = claim(tiny(), "start-to-healthy", value, START)
    return replace(made, slug=f"demo-kimi-k3-tiny/{id_}", label="Served on the machine of the run.", unit="")


def about(*records: Record) -> About:
    return told_of(*records).about(recipe_digest(tiny().recipe))


def taken_back(id_: str) -> Retraction:
    return Retraction(
        slug=f"demo-kimi-k3-tiny/{id_}", kind="retract", reason="wrong machine", at="2026-11-30T08:00:00Z"
    )


def starts(*records: Record) -> object:
    return read_ladder(tiny(), about(*records))[STEPS.index("starts")]


RAW = raw_file("start.json", START)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (
            (RAW, stated("status-starts", "reached")),
            Reached(step="starts", date="2026-11-29", pin="xllamacpp==2026.10.11549"),
        ),
        ((RAW, stated("status-starts", "the port was taken")), NotYet(step="starts", why="the port was taken")),
        (
            (stated("status-starts", "reached"),),
            NotYet(step="starts", why="The raw file that shows it was never filed."),
        ),
        (
            (RAW, stated("status-starts", "reached"), taken_back("status-starts")),
            NotYet(step="starts", why="Taken back: wrong machine"),
        ),
        (
            (RAW, replace(stated("status-starts", "reached"), subject=Sha256("0" * 64))),
            NotYet(step="starts", why="It was shown on another recipe, not on this one."),
        ),
        ((), NotYet(step="starts", why="The evidence ledger does not show it.")),
    ],
)
def test_a_step_is_reached_exactly_when_a_standing_claim_says_so(records: tuple[Record, ...], expected: StatusStep):
    assert starts(*records) == expected


def test_no_step_is_concluded_from_measured_numbers():
    assert all(isinstance(step, NotYet) for step in read_ladder(tiny(), about(*tiny_records())))


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((stated("fit", "measured-fits"),), Fit(FitState.MEASURED_FITS, "Served on the machine of the run.")),
        ((stated("fit", "surely"),), Fit(FitState.UNKNOWN, "The ledger says 'surely'.")),
        (
            (stated("fit", "measured-fits"), taken_back("fit")),
            Fit(FitState.UNKNOWN, "The statement was taken back: wrong machine"),
        ),
        (
            (replace(stated("fit", "measured-fits"), subject=Sha256("0" * 64)),),
            Fit(FitState.UNKNOWN, "It was shown on another recipe, not on this one."),
        ),
        ((), Fit(FitState.UNKNOWN, "The evidence ledger does not say whether it fits.")),
    ],
)
def test_the_fit_state_is_unknown_unless_a_standing_claim_names_it(records: tuple[Record, ...], expected: Fit):
    assert read_fit(tiny(), about(*records)) == expected


@pytest.mark.parametrize(
    ("records", "word", "why"),
    [
        ((), "skipped", "The evidence ledger holds no run of it."),
        ((stated("gate-task", "different"),), "different", "Served on the machine of the run."),
        ((stated("gate-task", "same"), taken_back("gate-task")), "skipped", "Taken back: wrong machine"),
        (
            (replace(stated("gate-task", "same"), subject=Sha256("0" * 64)),),
            "skipped",
            "It was shown on another recipe, not on this one.",
        ),
    ],
)
def test_a_gate_that_was_not_run_on_this_recipe_is_skipped_with_the_reason(records: tuple[Record, ...], word, why):
    _, task, _ = read_gates(tiny(), about(*records))
    assert task == GateSaid(gate="task gate", word=word, why=why)


def test_the_definition_may_say_why_a_gate_was_skipped():
    package = replace(tiny(), unmeasured=(Unmeasured(topic="task gate", why="The weights are random."),))
    assert read_gates(package, about())[1] == GateSaid(gate="task gate", word="skipped", why="The weights are random.")


def test_weights_that_only_a_commit_names_are_no_pin_and_the_ladder_says_so():
    package = large()
    model = package.recipe.model
    files = tuple(file for file in model.files if not file.path.endswith(".safetensors"))
    unpinned = replace(package, recipe=replace(package.recipe, model=replace(model, files=files)))
    for each, said in ((package, weights_pinned(package)), (unpinned, False)):
        first, second, *_ = read_ladder(each, told_of().about(recipe_digest(each.recipe)))
        assert weights_pinned(each) is said
        assert isinstance(first, NotYet)
        assert ("none of their files is pinned" in first.why) is not said
        assert second == NotYet(step="starts", why="The evidence ledger does not show it.")
    assert weights_pinned(package)
