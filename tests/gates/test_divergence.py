import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.gates.divergence import Listed, clear_flip, far, in_common, listed, lumped, place, read
from dayzero.gates.model import Arm, Candidate, Capture, Position

LOGITS = st.lists(st.floats(-8, 8), min_size=6, max_size=6)
# Of two that tie, either may be listed; the rounding of a shift decides which.
APART = st.lists(st.floats(-8, 8), min_size=6, max_size=6, unique_by=lambda logit: round(logit, 3))
K = st.integers(1, 6)


def distribution(logits: Sequence[float]) -> list[float]:
    weights = [math.exp(logit) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def top(probabilities: Sequence[float], k: int, names: Sequence[int] | None = None) -> Listed:
    names = names or range(len(probabilities))
    ranked = sorted(zip(probabilities, names, strict=True), reverse=True)[:k]
    candidates = tuple(Candidate(f"id:{name}", math.log(p)) for p, name in ranked)
    return listed(Position(0, 0, candidates[0].token, candidates), k)


def whole(p: Sequence[float], q: Sequence[float]) -> float:
    return math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        # 0.7 ln(0.7 / 0.6) + 0.2 ln(0.2 / 0.3), the rest equal.
        ({"a": 0.7, "b": 0.2}, {"a": 0.6, "b": 0.3}, 0.7 * math.log(7 / 6) + 0.2 * math.log(2 / 3)),
        ({"a": 0.7, "b": 0.2}, {"a": 0.7, "b": 0.2}, 0.0),
        # Nothing in common: p's 0.8 can have at most 2 x 0.3 under q, and its rest 0.2 has then 0.4.
        ({"a": 0.5, "b": 0.3}, {"c": 0.4, "d": 0.3}, 0.8 * math.log(0.8 / 0.6) + 0.2 * math.log(0.2 / 0.4)),
        # b may well be in q's rest of 0.5 with 0.25 of it: rest against rest, as if b had not been listed.
        ({"a": 0.5, "b": 0.25}, {"a": 0.5, "c": 0.3}, 0.0),
        # The whole vocabulary on both sides: no rest.
        ({"a": 0.5, "b": 0.5}, {"a": 0.9, "b": 0.1}, 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(5)),
    ],
)
def test_lumped_divergences_by_hand(p: dict[str, float], q: dict[str, float], expected: float):
    sides = [Listed(side, min(side.values()), max(side, key=side.__getitem__), "a") for side in (p, q)]
    assert lumped(*sides) == pytest.approx(expected, abs=1e-8)


@given(LOGITS, LOGITS, K)
def test_the_bound_is_never_negative_and_never_above_the_whole_vocabularys(a: list[float], b: list[float], k: int):
    p, q = distribution(a), distribution(b)
    assert 0 <= lumped(top(p, k), top(q, k)) <= whole(p, q) + 1e-7


@given(LOGITS, LOGITS)
def test_with_every_token_listed_the_bound_is_the_divergence(a: list[float], b: list[float]):
    p, q = distribution(a), distribution(b)
    assert lumped(top(p, 6), top(q, 6)) == pytest.approx(whole(p, q), abs=1e-7)


@given(APART, LOGITS, K, st.floats(-5, 5))
def test_a_shift_shared_by_all_logits_changes_nothing(a: list[float], b: list[float], k: int, shift: float):
    moved = distribution([logit + shift for logit in a])
    q = top(distribution(b), k)
    assert lumped(top(moved, k), q) == pytest.approx(lumped(top(distribution(a), k), q), abs=1e-6)


@given(LOGITS, LOGITS, K, st.permutations(range(6)))
def test_renaming_the_tokens_changes_nothing(a: list[float], b: list[float], k: int, names: list[int]):
    p, q = distribution(a), distribution(b)
    plain, renamed = place(top(p, k), top(q, k)), place(top(p, k, names), top(q, k, names))
    if len(set(p)) == len(set(q)) == 6:  # ties may be listed in either order
        assert renamed.divergence == pytest.approx(plain.divergence, abs=1e-9)
        assert renamed.mass == pytest.approx(plain.mass)


@given(LOGITS, LOGITS, K)
def test_swapping_the_servers_swaps_the_directions_and_nothing_else(a: list[float], b: list[float], k: int):
    p, q = top(distribution(a), k), top(distribution(b), k)
    there, back = place(p, q), place(q, p)
    assert (there.forward, there.backward) == (back.backward, back.forward)
    assert there.divergence == back.divergence
    assert there.mass == pytest.approx(back.mass)
    assert there.moved == pytest.approx(back.moved)


@given(LOGITS, K)
def test_a_server_that_repeats_itself_is_at_exactly_0(a: list[float], k: int):
    same = place(top(distribution(a), k), top(distribution(a), k))
    assert (same.forward, same.backward, same.moved) == (0, 0, 0)


def test_a_chosen_token_below_the_first_k_raises_no_bound():
    # Asked for two; the server adds the token of the text, far down. Unlisted tokens are bounded by the second, not by it.
    candidates = (
        Candidate("id:1", math.log(0.6)),
        Candidate("id:2", math.log(0.3)),
        Candidate("id:9", math.log(0.001)),
    )
    assert listed(Position(0, 0, "id:9", candidates), 2).least == pytest.approx(0.3)


def test_rounding_above_1_is_taken_off_again():
    candidates = (Candidate("id:1", math.log(0.9)), Candidate("id:2", math.log(0.1004)))
    assert sum(listed(Position(0, 0, "id:1", candidates), 2).probabilities.values()) == pytest.approx(1)


def test_a_token_that_the_other_side_gives_nothing_is_far_and_finite():
    p = Listed({"a": 0.5, "b": 0.5}, 0.5, "a", "a")
    q = Listed({"a": 1.0, "b": 0.0}, 0.0, "a", "a")
    found = place(p, q)
    assert math.isfinite(found.divergence)
    assert far(found) == 1


def test_a_near_tie_is_no_clear_flip_and_a_changed_mind_is():
    a_first = Listed({"a": 0.46, "b": 0.44}, 0.44, "a", "a")
    near = Listed({"a": 0.44, "b": 0.46}, 0.44, "b", "b")
    mind = Listed({"a": 0.2, "b": 0.7}, 0.2, "b", "b")
    clear = clear_flip(0.002)
    assert place(a_first, near).moved > 0
    assert clear(place(a_first, near)) == 0
    assert clear(place(a_first, mind)) == 1


def written(name: str, tokens: str) -> Capture:
    positions = tuple(
        Position(0, index, f"id:{token}", (Candidate(f"id:{token}", -0.1),)) for index, token in enumerate(tokens)
    )
    return Capture(name=name, arm=Arm.DECODE, k=1, positions=positions)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("123", "123", "123", "123"), (0, 1, 2)),
        (("123", "123", "143", "123"), (0, 1)),  # the first different token still answers to the same text
        (("923", "123", "123", "123"), (0,)),
        (("12", "123", "123", "123"), (0, 1)),
    ],
)
def test_decoding_is_compared_up_to_the_first_different_token_of_any_capture(
    texts: tuple[str, ...], expected: tuple[int, ...]
):
    readings = [read(written(str(number), text), 1) for number, text in enumerate(texts)]
    assert in_common(Arm.DECODE, readings, 0) == expected


def test_prefill_goes_on_after_a_different_first_token():
    readings = [read(written("A1", "123"), 1), read(written("B1", "143"), 1)]
    assert in_common(Arm.PREFILL, readings, 0) == (0, 1, 2)
