import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.gates.simulated_captures import Noise, gate

from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.gates.document import SCHEMA, document
from dayzero.gates.judge import judge
from dayzero.gates.model import (
    Arm,
    Candidate,
    Capture,
    Continue,
    DistributionPlan,
    Judged,
    NoInstrument,
    Position,
    Sound,
    Stop,
)
from dayzero.gates.report import reasons, sentences, word
from dayzero.gates.sequential import look
from dayzero.gates.size import Assumed, needed

PLAN = DistributionPlan(prompts=30, positions=20, looks=1, arms=(Arm.PREFILL,))
DECODE = replace(PLAN, arms=(Arm.DECODE,), positions=24)
QUIET, REPEATS, CHANGED = Noise(fresh=0.01), Noise(fresh=0.0), Noise(fresh=0.01, changed=0.2)

Captures = Mapping[str, Capture]


@pytest.fixture(scope="module")
def quiet() -> Captures:
    return gate(PLAN, QUIET, seed=1)


@pytest.fixture(scope="module")
def repeats() -> Captures:
    return gate(PLAN, REPEATS, seed=2)


@pytest.fixture(scope="module")
def decoded() -> Captures:
    return gate(DECODE, QUIET, seed=3, arm=Arm.DECODE)


@pytest.fixture(scope="module")
def changed() -> Captures:
    return gate(PLAN, CHANGED, seed=4)


def said(judged: Judged) -> str:
    return " ".join(reasons(judged.verdict))


def mended(captures: Captures, name: str, change: Callable[[Position], Position | None]) -> Captures:
    """Change, or with ``None`` drop, the positions of one capture."""
    key = next(key for key in captures if key.endswith(f"/{name}"))
    positions = tuple(new for old in captures[key].positions if (new := change(old)) is not None)
    return {**captures, key: replace(captures[key], positions=positions)}


def at(prompt: int, index: int, change: Callable[[Position], Position | None]) -> Callable[[Position], Position | None]:
    return lambda position: change(position) if (position.prompt, position.index) == (prompt, index) else position


def first_logprob(logprob: float) -> Callable[[Position], Position]:
    def changed(position: Position) -> Position:
        head, *rest = position.candidates
        return replace(position, candidates=(Candidate(head.token, logprob), *rest))

    return changed


def test_the_same_server_behind_both_addresses_is_the_same(quiet: Captures):
    judged = judge(PLAN, quiet)
    assert word(judged.verdict) == "same"
    assert isinstance(judged.arms[0].instrument, Sound)


def test_a_server_that_repeats_itself_to_the_last_digit_has_floor_0(repeats: Captures):
    judged = judge(PLAN, repeats)
    assert word(judged.verdict) == "same"
    instrument = judged.arms[0].instrument
    assert isinstance(instrument, Sound)
    assert (instrument.floor.value, instrument.floor.high) == (0, 0)
    # 1 - 0.05 ** (1 / 30): nothing seen in thirty prompts is not nothing anywhere.
    assert any(
        "not one of 30 prompts differs, so of all such prompts at most 9.503 % do" in line for line in sentences(judged)
    )


def test_decoding_is_judged_too(decoded: Captures):
    assert word(judge(DECODE, decoded).verdict) == "same"


def test_a_changed_model_is_different(changed: Captures):
    judged = judge(PLAN, changed)
    assert word(judged.verdict) == "different"
    assert "beyond the margin of 0.002 nat" in said(judged)


def test_another_model_altogether_is_different_although_it_shares_few_candidates(quiet: Captures):
    other = {
        key: replace(capture, name=capture.name)
        for key, capture in gate(PLAN, QUIET, seed=99).items()
        if capture.name.startswith("B")
    }
    text = {(p.prompt, p.index): p.chosen for p in quiet["prefill/A1"].positions}
    alike = {
        key: replace(c, positions=tuple(replace(p, chosen=text[p.prompt, p.index]) for p in c.positions))
        for key, c in other.items()
    }
    judged = judge(PLAN, {**quiet, **alike})
    assert word(judged.verdict) == "different"
    assert next(one for one in judged.arms[0].figures if one.name == "A against B").coverage < 0.1


def test_a_rare_far_change_is_found_by_its_tail_though_the_mean_stays_below_a_wide_margin():
    plan = replace(PLAN, margin_nat=0.5)
    captures = gate(plan, Noise(fresh=0.01, changed_flips=0.1), seed=5, positive=4.0)
    judged = judge(plan, captures)
    divergence, _, tail = judged.arms[0].tests
    assert divergence.decided == "same"
    assert tail.decided == "different"
    assert word(judged.verdict) == "different"


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("B1", at(3, 7, first_logprob(math.nan)), "B1, prompt 3, place 7: a log-probability is not a number: NaN"),
        ("A2", at(0, 1, first_logprob(0.7)), "A2, prompt 0, place 1: a log-probability is above 0: 0.7"),
        ("B2", at(2, 2, lambda p: replace(p, candidates=())), "B2, prompt 2, place 2: no log-probabilities"),
        (
            "B2",
            at(2, 2, lambda p: replace(p, candidates=p.candidates[:15])),
            "fewer candidates than asked for: 15 of 20",
        ),
        ("B2", at(2, 2, lambda p: replace(p, candidates=p.candidates[::-1])), "not sorted"),
        ("B1", at(2, 2, lambda p: replace(p, candidates=(p.candidates[0], *p.candidates))), "listed twice"),
        ("B1", at(2, 2, first_logprob(-0.0001)), "do not make a distribution"),
        ("B1", at(4, 19, lambda _: None), "B1, prompt 4: 19 places came back, fewer than the 20"),
        ("B1", lambda p: None if p.prompt == 29 else p, "B1, prompt 29: 0 places came back"),
        ("B1", at(1, 5, lambda p: replace(p, index=4)), "B1, prompt 1, place 4: it comes twice"),
        ("B1", at(1, 5, lambda p: replace(p, chosen="id:399999")), "the prompts are not the same tokens"),
        ("A1", lambda _: None, "A1: the server gave no log-probabilities"),
    ],
)
def test_what_cannot_be_read_is_undecided_and_named(
    quiet: Captures, name: str, change: Callable[[Position], Position | None], says: str
):
    judged = judge(PLAN, mended(quiet, name, change))
    assert isinstance(judged.verdict, Undecided)
    assert says in said(judged)


def with_changes(captures: Captures, **changes: Mapping[str, object]) -> Captures:
    return {key: replace(c, **changes.get(c.name, {})) for key, c in captures.items()}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("B1", {"tokenizer": "u"}, "have different tokenizers (t, u)"),
        ("B1", {"failed": ("connection refused",), "requests": 30}, "B1: 1 of 30 requests failed: connection refused"),
        ("B2", {"k": 5}, "B2 was captured with 5 candidates, not the 20"),
    ],
)
def test_captures_that_do_not_belong_together_are_undecided(
    quiet: Captures, name: str, changes: Mapping[str, object], says: str
):
    judged = judge(PLAN, with_changes(quiet, **{name: changes}))
    assert isinstance(judged.verdict, Undecided)
    assert says in said(judged)


def test_tokens_named_by_id_and_by_bytes_cannot_be_matched(quiet: Captures):
    def by_bytes(position: Position) -> Position:
        renamed = tuple(Candidate(c.token.replace("id:", "bytes:"), c.logprob) for c in position.candidates)
        return replace(position, candidates=renamed)

    judged = judge(PLAN, mended(mended(quiet, "B1", by_bytes), "B2", by_bytes))
    assert isinstance(judged.verdict, Undecided)
    assert "cannot be matched" in said(judged)


def test_vocabularies_that_nothing_shows_to_be_one_are_not_compared_in_the_decode_arm(decoded: Captures):
    def elsewhere(position: Position) -> Position:
        renamed = tuple(Candidate(f"id:9{c.token[3:]}9", c.logprob) for c in position.candidates)
        return replace(position, candidates=renamed, chosen=renamed[0].token)

    unknown = {key: replace(capture, tokenizer="") for key, capture in decoded.items()}
    judged = judge(DECODE, mended(mended(unknown, "B1", elsewhere), "B2", elsewhere))
    assert isinstance(judged.verdict, Undecided)
    assert "no candidate in common" in said(judged)


def test_decoding_that_ends_early_without_another_token_is_undecided(decoded: Captures):
    judged = judge(DECODE, mended(decoded, "B2", lambda p: None if (p.prompt == 0 and p.index >= 1) else p))
    assert isinstance(judged.verdict, Undecided)
    assert "no other token came before their end" in said(judged)


def test_decoding_may_end_after_another_token(decoded: Captures):
    swapped = mended(decoded, "B1", at(0, 2, lambda p: replace(p, chosen=p.candidates[1].token)))
    shortened = mended(swapped, "B1", lambda p: None if (p.prompt == 0 and p.index > 2) else p)
    assert not isinstance(judge(DECODE, shortened).verdict, Undecided)


def test_few_prompts_are_undecided_with_the_number_that_is_needed():
    plan = replace(PLAN, prompts=8)
    judged = judge(plan, gate(plan, QUIET, seed=1))
    assert isinstance(judged.verdict, Undecided)
    assert "8 prompts are too few" in said(judged)
    assert f"{needed(plan).prompts} prompts" in said(judged)


@pytest.mark.parametrize("name", ["A2", "B2", "positive"])
def test_without_a_control_there_is_no_instrument(quiet: Captures, name: str):
    judged = judge(PLAN, {key: capture for key, capture in quiet.items() if capture.name != name})
    assert isinstance(judged.verdict, NoInstrument)
    assert "control" in said(judged)


@pytest.mark.parametrize("name", ["A1", "B1"])
def test_without_the_test_itself_nothing_is_decided(quiet: Captures, name: str):
    judged = judge(PLAN, {key: capture for key, capture in quiet.items() if capture.name != name})
    assert isinstance(judged.verdict, Undecided)


def test_an_arm_that_was_planned_and_not_captured_leaves_the_whole_undecided(quiet: Captures):
    judged = judge(replace(PLAN, arms=(Arm.PREFILL, Arm.DECODE)), quiet)
    assert isinstance(judged.verdict, Undecided)
    assert "nothing was captured in the decode arm" in said(judged)


@pytest.mark.parametrize("noise", [QUIET, REPEATS])
def test_a_planted_defect_that_is_not_seen_leaves_no_instrument(noise: Noise):
    judged = judge(PLAN, gate(PLAN, noise, seed=6, positive=0.0))
    assert isinstance(judged.verdict, NoInstrument)
    assert "positive control: the planted defect shows" in said(judged)


def test_a_server_too_far_from_itself_leaves_no_instrument_and_says_what_it_permits():
    judged = judge(PLAN, gate(PLAN, Noise(fresh=0.3), seed=7))
    assert isinstance(judged.verdict, NoInstrument)
    assert "floor of A" in said(judged)
    assert "this floor permits a margin of" in said(judged)


def test_an_unsound_instrument_says_nothing_of_a_difference_either():
    assert word(judge(PLAN, gate(PLAN, Noise(fresh=0.3, changed=1.0), seed=7)).verdict) == "unsound"


def test_a_server_that_drifts_leaves_no_instrument(quiet: Captures):
    loud = gate(PLAN, Noise(fresh=0.06), seed=1)
    half = {
        key: replace(
            capture,
            positions=tuple(p for p in capture.positions if p.prompt < 15)
            + tuple(p for p in loud[key].positions if p.prompt >= 15),
        )
        for key, capture in quiet.items()
    }
    judged = judge(replace(PLAN, margin_nat=0.004), half)
    assert isinstance(judged.verdict, NoInstrument)
    assert "steadiness of A" in said(judged)


def test_too_few_candidates_leave_no_instrument():
    plan = replace(PLAN, k=4)
    judged = judge(plan, gate(plan, QUIET, seed=8))
    assert isinstance(judged.verdict, NoInstrument)
    assert "candidates: 4 a place; needed: at least 5" in said(judged)


def test_thin_support_leaves_no_instrument_and_is_not_skipped(quiet: Captures):
    def thinner(position: Position) -> Position:
        return replace(position, candidates=tuple(replace(c, logprob=c.logprob - 0.3) for c in position.candidates))

    thin = quiet
    for name in ("A1", "A2", "B1", "B2", "positive"):
        thin = mended(thin, name, thinner)
    judged = judge(PLAN, thin)
    assert isinstance(judged.verdict, NoInstrument)
    assert "coverage of A: at 0 % of the places" in said(judged)
    assert [one.positions for one in judged.arms[0].figures] == [600, 600, 1200, 600]


@example(fresh=0.01, changed=0.0, positive=0.3, seed=1)  # of which "same" is said
@settings(max_examples=5, deadline=None)
@given(fresh=st.floats(0, 0.3), changed=st.floats(0, 0.3), positive=st.floats(0, 0.3), seed=st.integers(0, 1_000))
def test_same_is_never_said_without_a_sound_instrument(fresh: float, changed: float, positive: float, seed: int):
    judged = judge(PLAN, gate(PLAN, Noise(fresh=fresh, changed=changed), seed=seed, positive=positive))
    if word(judged.verdict) == "same":
        assert all(isinstance(arm.instrument, Sound) for arm in judged.arms)
        assert all(test.excess.high < test.margin for arm in judged.arms for test in arm.tests)


def test_naming_the_servers_the_other_way_round_changes_nothing(changed: Captures):
    other = {"A1": "B1", "A2": "B2", "B1": "A1", "B2": "A2"}
    swapped = {key: replace(c, name=other.get(c.name, c.name)) for key, c in changed.items() if c.name != "positive"}
    there = judge(PLAN, changed).arms[0].tests
    back = judge(PLAN, {**swapped, "p": changed["prefill/positive"]}).arms[0].tests
    assert [test.excess.value for test in back] == pytest.approx([test.excess.value for test in there])
    assert [test.decided for test in back] == [test.decided for test in there]


def test_exchanging_a_control_and_a_test_capture_turns_the_sign_of_the_excess(quiet: Captures):
    other = {"A2": "B1", "B1": "A2"}
    turned = {key: replace(capture, name=other.get(capture.name, capture.name)) for key, capture in quiet.items()}
    there, back = (judge(PLAN, captures).arms[0].tests[0].excess.value for captures in (quiet, turned))
    assert back == pytest.approx(-there)
    assert there != 0


def test_a_first_look_goes_on_where_more_prompts_may_tell():
    plan = replace(PLAN, prompts=60, looks=2, positions=17)
    captures = gate(plan, QUIET, seed=9)
    assert plan.look_sizes == (30, 60)
    first = look(
        plan,
        {key: replace(c, positions=tuple(p for p in c.positions if p.prompt < 30)) for key, c in captures.items()},
        1,
    )
    assert isinstance(first, Continue)  # the shares of flips and tails need more places at what this look may spend
    assert first.prompts == 60
    last = look(plan, captures, 2)
    assert isinstance(last, Stop)
    assert word(last.judged.verdict) == "same"
    levels = [one.arms[0].tests[0].excess.level for one in (first.judged, last.judged)]
    assert levels[0] > levels[1] > 0.95


@pytest.mark.parametrize(
    ("noise", "k", "verdict"), [(CHANGED, 20, "different"), (QUIET, 4, "unsound"), (Noise(fresh=0.5), 20, "unsound")]
)
def test_a_first_look_ends_where_no_more_prompts_can_help(noise: Noise, k: int, verdict: str):
    plan = replace(PLAN, prompts=60, looks=2, k=k)
    stopped = look(plan, gate(plan, noise, seed=4), 1)
    assert isinstance(stopped, Stop)
    assert word(stopped.judged.verdict) == verdict
    assert stopped.judged.prompts == 30


def test_a_difference_that_may_prove_to_lie_below_the_margin_does_not_end_a_first_look():
    plan = replace(PLAN, prompts=60, looks=2, positions=17)
    first = look(plan, gate(plan, Noise(fresh=0.01, changed=0.075), seed=4), 1)
    divergence = first.judged.arms[0].tests[0]
    assert 0 < divergence.above < plan.margin_nat < divergence.excess.high
    assert isinstance(first, Continue)


def test_an_inconclusive_end_says_what_more_would_take():
    plan = replace(PLAN, positions=17, margin_flip=0.001)
    judged = judge(plan, gate(plan, QUIET, seed=1))
    assert word(judged.verdict) == "inconclusive"
    # None in 510 places bounds the share by 0.59 %: 0.1 % takes 5.9 times as many prompts.
    assert "about 176 prompts settle it" in said(judged)


@pytest.mark.parametrize(
    ("prompts", "looks", "sizes"),
    [(64, 2, (32, 64)), (64, 4, (32, 48, 64)), (40, 4, (30, 40)), (8, 2, (8,)), (30, 1, (30,))],
)
def test_looks_are_even_and_never_over_too_few_prompts(prompts: int, looks: int, sizes: tuple[int, ...]):
    assert DistributionPlan(prompts=prompts, looks=looks).look_sizes == sizes


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompts": 0},
        {"positions": 0},
        {"k": 0},
        {"looks": 0},
        {"margin_nat": 0.0},
        {"margin_flip": math.nan},
        {"alpha": 0.5},
        {"arms": ()},
    ],
)
def test_a_plan_that_cannot_be_measured_is_refused(wrong: dict[str, object]):
    with pytest.raises(InputError):
        DistributionPlan(**wrong)  # type: ignore[arg-type]


def test_the_size_is_said_beforehand_with_what_asks_for_it():
    size = needed(DistributionPlan())
    assert size.prompts == max(size.each.values()) >= 30
    assert "clear flips" in size.because
    assert needed(DistributionPlan(), Assumed(design_effect=12)).prompts == pytest.approx(4 * size.prompts, abs=4)
    assert "fewest" in needed(DistributionPlan(positions=4096, margin_flip=0.1)).because


def test_the_words_name_everything_that_the_verdict_rests_on(changed: Captures):
    told = "\n".join(sentences(judge(PLAN, changed)))
    for name in (
        "floor",
        "excess",
        "could see",
        "first token",
        "coverage",
        "tails",
        "directions",
        "places",
        "control",
        "because",
    ):
        assert f"\n  {name} " in told
    assert told.startswith("different: look 1 of 1, 30 of 30 prompts")


@pytest.mark.parametrize("captures", ["quiet", "repeats", "changed"])
def test_the_document_is_plain_json_and_says_the_same(captures: str, request: pytest.FixtureRequest):
    judged = judge(PLAN, request.getfixturevalue(captures))
    written = json.loads(json.dumps(document(judged), allow_nan=False))
    assert written["schema"] == SCHEMA
    assert written["verdict"] == word(judged.verdict)
    arm = written["arms"]["prefill"]
    assert arm["certificate"]["sound"] is True
    assert [test["name"] for test in arm["tests"]] == ["divergence", "clear flips", "far tail"]
    assert len(arm["figures"]) == 4


def test_false_failures_and_found_differences_keep_their_rates():
    # The reduced form of bench/gate_power.py, seeds fixed: 6 gates of each.
    plan = replace(PLAN, positions=17)
    same = [word(judge(plan, gate(plan, Noise(fresh=0.01, flips=0.001), seed=seed)).verdict) for seed in range(6)]
    planted = [word(judge(plan, gate(plan, Noise(fresh=0.01, changed=0.09), seed=seed)).verdict) for seed in range(6)]
    assert same.count("different") == 0
    assert planted.count("different") >= 5
