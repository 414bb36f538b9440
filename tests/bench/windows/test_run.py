"""A whole comparison over arms that are only simulated."""

from dataclasses import replace

import pytest
from tests.bench.windows.simulated_arms import CELL, RATE, TTFT, SimulatedArms, slower_by

from dayzero.bench.windows.model import Decided, Design, DoesNotServe, InstrumentBad, Result, Silent, Taken, Window
from dayzero.bench.windows.report import notes, sentences, word
from dayzero.bench.windows.run import run

DESIGN = Design(seed=5, cell=CELL, primary=TTFT)


def outcome(arms: SimulatedArms, design: Design = DESIGN) -> Result:
    return run(design, arms, arms)


def decided(arms: SimulatedArms, design: Design = DESIGN) -> Decided:
    result = outcome(arms, design)
    assert isinstance(result, Decided), result
    return result


@pytest.mark.parametrize(
    ("percent", "primary", "verdict", "sentence"),
    [
        (10.0, TTFT, "WORSE", "more ttft_ms.p50 than A"),
        (-10.0, TTFT, "BETTER", "less ttft_ms.p50 than A"),
        (10.0, RATE, "WORSE", "less output_tok_s than A"),
        (-10.0, RATE, "BETTER", "more output_tok_s than A"),
        (0.0, TTFT, "INCONCLUSIVE", "the margin of 2 % would take"),
    ],
)
def test_a_planted_difference_is_found_and_none_is_not(percent: float, primary, verdict: str, sentence: str):
    design = replace(DESIGN, primary=primary)
    result = decided(SimulatedArms(slower=slower_by(percent)), design)
    assert result.verdict == verdict
    assert sentence in sentences(design, result)[0]
    effect = result.primary.estimate.effect
    if percent:
        assert effect.low < slower_by(percent)["B"] * (1 if primary == TTFT else -1) < effect.high


def test_arms_that_are_alike_under_little_noise_are_equivalent():
    result = decided(SimulatedArms(window_sd=0.002, request_sd=0.01))
    assert result.verdict == "EQUIVALENT"
    assert sentences(DESIGN, result)[0].startswith("ttft_ms.p50 of B and A differ by less than the margin of 2 %")


def test_a_difference_that_is_there_and_below_the_margin_is_equivalent_and_says_so():
    result = decided(SimulatedArms(window_sd=0.0005, request_sd=0.001, slower=slower_by(1.0)))
    assert result.verdict == "EQUIVALENT"
    assert "it is there, and below what was said to matter" in sentences(DESIGN, result)[0]


def test_the_order_is_rehearsal_certificate_comparison_and_all_windows_get_the_whole_load_but_the_rehearsal():
    arms = SimulatedArms()
    decided(arms)
    stages = [window.stage for window, _ in arms.seen]
    assert stages == ["rehearsal"] * 2 + ["certificate"] * 12 + ["comparison"] * 16
    assert [cell.requests for _, cell in arms.seen] == [2] * 2 + [60] * 28
    assert [number for _, number, _ in arms.begun] == list(range(1, 31))
    assert {total for *_, total in arms.begun} == {30}
    assert len(arms.certificates) == 1


def test_swapping_the_arms_swaps_the_verdict():
    """The same noise, the faster arm under the other label."""
    fast_b = decided(SimulatedArms(slower={"A": 0.1, "B": 0.0}))
    fast_a = decided(SimulatedArms(slower={"A": 0.0, "B": 0.1}))
    assert (fast_b.verdict, fast_a.verdict) == ("BETTER", "WORSE")


def test_scaling_both_arms_changes_nothing():
    one, two = (decided(SimulatedArms(slower={"A": level, "B": level + 0.05})) for level in (0.0, 2.0))
    assert two.verdict == one.verdict
    for field in ("effect", "slot"):
        values = [getattr(result.primary.estimate, field) for result in (one, two)]
        assert [values[1].low, values[1].high] == pytest.approx([values[0].low, values[0].high], abs=1e-9)
    assert two.primary.estimate.sd == pytest.approx(one.primary.estimate.sd)


def test_a_slow_second_slot_is_reported_and_hides_no_difference():
    plain = decided(SimulatedArms(slower=slower_by(4.0)))
    slotted = decided(SimulatedArms(slower=slower_by(4.0), slot=0.2))
    assert slotted.primary.estimate.slot.low > 0.1
    assert slotted.primary.estimate.sd == pytest.approx(plain.primary.estimate.sd)
    assert slotted.verdict == plain.verdict == "WORSE"
    assert any("first and second windows of a pair differ" in note for note in notes(DESIGN, slotted))


def test_an_instrument_that_tells_a_from_itself_is_bad_and_nothing_is_compared():
    def label_matters(window: Window, taken: Taken) -> Taken:
        by = 1.1 if window.label == "B" else 1.0
        return replace(taken, figures={measure: figure * by for measure, figure in taken.figures.items()})

    arms = SimulatedArms(spoil=label_matters)
    result = outcome(arms)
    assert isinstance(result, InstrumentBad)
    assert word(result) == "INSTRUMENT-BAD"
    assert result.certificate is not None
    assert "A differs from itself by +9." in result.reasons[0]
    assert {window.stage for window, _ in arms.seen} == {"rehearsal", "certificate"}
    assert arms.certificates == []


@pytest.mark.parametrize(("stage", "seen"), [("certificate", 3), ("comparison", 15)])
def test_a_window_that_is_not_valid_ends_the_run_at_once(stage: str, seen: int):
    def spoil(window: Window, taken: Taken) -> Taken:
        return replace(taken, invalid_because=("c2: lag",)) if window.stage == stage else taken

    arms = SimulatedArms(spoil=spoil)
    result = outcome(arms)
    assert isinstance(result, InstrumentBad)
    assert result.reasons[0].startswith(f"{stage}-01-1-")
    assert result.reasons[0].endswith("is not valid: c2: lag")
    assert len(arms.seen) == seen
    assert (result.certificate is not None) == (stage == "comparison")


def late_client(_window: Window, taken: Taken) -> Taken:
    return replace(taken, invalid_because=("c2: lag",), deserves_another=True)


def test_a_window_that_the_client_spoiled_is_taken_once_more_and_the_second_one_counts():
    def spoil(window: Window, taken: Taken) -> Taken:
        return late_client(window, taken) if window.name.startswith("comparison-02") and not window.again else taken

    arms = SimulatedArms(spoil=spoil)
    decided(arms)
    again = [window for window, _ in arms.seen if window.again]
    assert [window.name[-8:] for window in again] in (["-A-again", "-B-again"], ["-B-again", "-A-again"])
    assert [window.nonce for window in again] == ["comparison/2/1/again", "comparison/2/2/again"]
    assert len(arms.seen) == 32
    assert [number for _, number, _ in arms.begun] == list(range(1, 31))


def test_a_window_that_the_client_spoils_twice_ends_the_run():
    arms = SimulatedArms(spoil=lambda window, taken: late_client(window, taken) if window.pair == 2 else taken)
    result = outcome(arms)
    assert isinstance(result, InstrumentBad)
    assert result.reasons[0].startswith("certificate-02-1-")
    assert "-again is not valid: c2: lag" in result.reasons[0]


def test_a_rehearsal_is_too_short_to_be_judged():
    def spoil(window: Window, taken: Taken) -> Taken:
        return replace(taken, invalid_because=("c2: in flight",)) if window.stage == "rehearsal" else taken

    assert isinstance(outcome(SimulatedArms(spoil=spoil)), Decided)


@pytest.mark.parametrize(("name", "seen"), [("rehearsal-01-1-B", 1), ("comparison-02-1-", 17)])
def test_an_arm_that_does_not_serve_is_a_result_without_a_ratio(name: str, seen: int):
    def spoil(window: Window, taken: Taken) -> Taken | Silent:
        return Silent(arm=window.arm, reason="died", proven=True) if window.name.startswith(name) else taken

    arms = SimulatedArms(spoil=spoil)
    result = outcome(arms)
    assert isinstance(result, DoesNotServe)
    assert word(result) == "DOES-NOT-SERVE"
    assert sentences(DESIGN, result)[0].startswith(f"measured: arm {result.silent.arm} does not serve: died")
    assert len(arms.seen) == seen


def test_a_secondary_measure_that_some_window_lacks_is_left_out_with_its_reason():
    def spoil(window: Window, taken: Taken) -> Taken:
        if window.name not in {"comparison-04-1-A", "comparison-04-2-A"}:
            return taken
        return replace(taken, figures={TTFT: taken.figures[TTFT]}, missing={RATE: "no usage"})

    result = decided(SimulatedArms(spoil=spoil))
    assert dict(result.left_out)[RATE] == "no usage (1 of 16 windows)"
    assert RATE not in {other.compared.measure for other in result.secondary}


def test_a_primary_measure_that_is_not_carried_is_the_instruments_fault():
    def spoil(_: Window, taken: Taken) -> Taken:
        return replace(taken, figures={RATE: taken.figures[RATE]}, missing={TTFT: "n too small"})

    result = outcome(SimulatedArms(spoil=spoil))
    assert isinstance(result, InstrumentBad)
    assert result.reasons == ("ttft_ms.p50 was to decide: n too small (12 of 12 windows)",)


def test_secondary_measures_are_corrected_for_being_several_and_have_a_bootstrap_where_requests_have_values():
    result = decided(SimulatedArms(slower=slower_by(10)), replace(DESIGN, primary=RATE))
    (ttft,) = result.secondary
    assert ttft.holds
    assert ttft.p_holm == ttft.compared.estimate.p
    assert ttft.bootstrap is not None
    assert ttft.bootstrap.low < slower_by(10)["B"] < ttft.bootstrap.high
    assert result.bootstrap is None


def test_few_pairs_say_that_sign_flips_cannot_confirm():
    design = replace(DESIGN, pairs=4)
    result = decided(SimulatedArms(slower=slower_by(30)), design)
    assert result.verdict == "WORSE"
    assert notes(design, result)[0] == "4 pairs cannot reach p <= 0.05 by sign flips (their least is 0.125)"


def test_false_positives_stay_near_their_level_and_a_promised_difference_is_found():
    """Windows without requests' values, so that no bootstrap is drawn; the seeds are fixed, so the counts are too."""

    def bare(_: Window, taken: Taken) -> Taken:
        return replace(taken, values={})

    runs = 300
    quiet = [outcome(SimulatedArms(seed=seed, spoil=bare)) for seed in range(1000, 1000 + runs)]
    wrong = sum(isinstance(result, Decided) and result.verdict in {"BETTER", "WORSE"} for result in quiet)
    assert 0 < wrong <= 0.07 * runs
    assert sum(isinstance(result, InstrumentBad) for result in quiet) <= 0.03 * runs
    loud = [outcome(SimulatedArms(seed=seed, spoil=bare, slower=slower_by(3.5))) for seed in range(1000, 1000 + runs)]
    found = sum(isinstance(result, Decided) and result.verdict == "WORSE" for result in loud)
    assert found >= 0.78 * runs
