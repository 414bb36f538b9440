"""Say why captures cannot be compared at all. A fault is named with its place, and never skipped."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dayzero.gates.model import Arm, Capture, DistributionPlan, Position

_ROUNDING = 1e-3
_WHOLE = 1 - 1e-4


def faults(plan: DistributionPlan, arm: Arm, captures: Sequence[Capture], prompts: int) -> tuple[str, ...]:
    """Name what keeps the captures of one arm from being compared.

    Args:
        plan: What was asked for.
        arm: Which arm.
        captures: Of that arm, those of A and B.
        prompts: How many prompts should be in.
    """
    alone = tuple(fault for capture in captures for fault in capture_faults(plan, capture, prompts))
    if alone:
        return alone
    short = tuple(_short(plan, arm, captures, prompts))
    return short or tuple(_mismatches(arm, captures, prompts))


def capture_faults(plan: DistributionPlan, capture: Capture, prompts: int) -> tuple[str, ...]:
    """Name what is wrong with one capture by itself."""
    if capture.failed:
        return (f"{capture.name}: {len(capture.failed)} of {capture.requests} requests failed: {capture.failed[0]}",)
    if not capture.positions:
        return (f"{capture.name}: the server gave no log-probabilities",)
    if capture.k != plan.k:
        return (f"{capture.name} was captured with {capture.k} candidates, not the {plan.k} that were planned",)
    found: dict[str, list[Position]] = {}
    seen: set[tuple[int, int]] = set()
    for position in capture.positions:
        if position.prompt >= prompts:
            continue
        wrong = "it comes twice" if (position.prompt, position.index) in seen else _wrong(position, plan.k)
        seen.add((position.prompt, position.index))
        if wrong:
            found.setdefault(wrong.split(":", maxsplit=1)[0], []).append(position)
    return tuple(_told(capture, positions, plan.k) for positions in found.values())


def _told(capture: Capture, positions: Sequence[Position], k: int) -> str:
    first = positions[0]
    more = f" (and {len(positions) - 1} more such places)" if len(positions) > 1 else ""
    return f"{capture.name}, {_at(first.prompt, first.index)}: {_wrong(first, k) or 'it comes twice'}{more}"


def _wrong(position: Position, k: int) -> str:
    """Say what is wrong with one position; the part before the colon is the kind."""
    logprobs = [candidate.logprob for candidate in position.candidates]
    if not logprobs:
        return "no log-probabilities"
    for logprob in logprobs:
        if math.isnan(logprob):
            return "a log-probability is not a number: NaN"
        if logprob > _ROUNDING:
            return f"a log-probability is above 0: {logprob:g}"
    if len({candidate.token for candidate in position.candidates}) < len(logprobs):
        return "a candidate is listed twice: tokens must be told apart by id, not by their text"
    return _wrong_list(logprobs, k)


def _wrong_list(logprobs: Sequence[float], k: int) -> str:
    if any(later > earlier for earlier, later in itertools.pairwise(logprobs)):
        return "the candidates are not sorted: best first is needed"
    total = math.fsum(map(math.exp, logprobs))
    if not 0 < total <= 1 + _ROUNDING:
        return f"the candidates' probabilities do not make a distribution: their sum is {total:g}"
    if len(logprobs) < k and total < _WHOLE:
        return f"fewer candidates than asked for: {len(logprobs)} of {k}"
    return ""


def _short(plan: DistributionPlan, arm: Arm, captures: Sequence[Capture], prompts: int) -> Iterator[str]:
    """Name each capture that lacks places, by its first such prompt."""
    chosen = {capture.name: _chosen(capture, prompts) for capture in captures}
    for name, reading in chosen.items():
        lacking = [(prompt, _lacks(plan, arm, chosen, name, prompt)) for prompt in range(prompts)]
        wrong = [(prompt, why) for prompt, why in lacking if why]
        if wrong:
            prompt, why = wrong[0]
            more = f" (and {len(wrong) - 1} more prompts)" if len(wrong) > 1 else ""
            has = len(reading.get(prompt, {}))
            yield f"{name}, prompt {prompt}: {has} places came back, {why}{more}"


def _lacks(
    plan: DistributionPlan, arm: Arm, chosen: Mapping[str, Mapping[int, Mapping[int, str]]], name: str, prompt: int
) -> str:
    """Say what a capture lacks in a prompt. After the first different token of any capture nothing is needed."""
    own = chosen[name].get(prompt, {})
    if len(own) >= plan.positions and (arm is Arm.PREFILL or all(index in own for index in range(plan.positions))):
        return ""
    if arm is Arm.PREFILL:
        return f"fewer than the {plan.positions} that were asked for"
    for index in range(plan.positions):
        if index not in own:
            return f"fewer than the {plan.positions} that were asked for, and no other token came before their end"
        if len({reading.get(prompt, {}).get(index, own[index]) for reading in chosen.values()}) > 1:
            return ""
    return ""


def _mismatches(arm: Arm, captures: Sequence[Capture], prompts: int) -> Iterator[str]:
    prints = {capture.tokenizer: capture.name for capture in captures if capture.tokenizer}
    if len(prints) > 1:
        (one, a), (other, b) = list(prints.items())[:2]
        yield f"{a} and {b} have different tokenizers ({one}, {other}): their candidates are not the same tokens"
        return
    kinds = {_kind(capture): capture.name for capture in captures}
    if len(kinds) > 1:
        said = ", ".join(f"{name} as {kind}" for kind, name in kinds.items())
        yield f"tokens are named in different ways ({said}): they cannot be matched"
        return
    if arm is Arm.PREFILL:
        yield from _other_tokens(captures, prompts)
    elif not all(capture.tokenizer for capture in captures):
        yield from _nothing_shared(captures, prompts)


def _other_tokens(captures: Sequence[Capture], prompts: int) -> Iterator[str]:
    """Name the first place of the prompts where another token stands: the text was cut in another way."""
    first = _chosen(captures[0], prompts)
    for capture in captures[1:]:
        for prompt, tokens in sorted(_chosen(capture, prompts).items()):
            others = [
                index
                for index in sorted(tokens.keys() | first[prompt].keys())
                if tokens.get(index) != first[prompt].get(index)
            ]
            if others:
                at = _at(prompt, others[0])
                a, b = first[prompt].get(others[0], "nothing"), tokens.get(others[0], "nothing")
                yield f"{at}: {captures[0].name} has {a}, {capture.name} has {b}: the prompts are not the same tokens"
                return


def _nothing_shared(captures: Sequence[Capture], prompts: int) -> Iterator[str]:
    """Name two servers most of whose first places have no candidate in common: their vocabularies may well differ."""
    starts = {capture.name: _starts(capture, prompts) for capture in captures}
    a = starts[captures[0].name]
    for name, b in starts.items():
        apart = sum(not (a[prompt] & b[prompt]) for prompt in a.keys() & b.keys())
        if 2 * apart > len(a):
            yield (
                f"{captures[0].name} and {name} have no candidate in common at the first place of {apart} of {len(a)} "
                "prompts, and no fingerprint shows that their vocabularies are one"
            )
            return


def _starts(capture: Capture, prompts: int) -> Mapping[int, set[str]]:
    found: dict[int, Position] = {}
    for position in capture.positions:
        if position.prompt < prompts and (
            position.prompt not in found or position.index < found[position.prompt].index
        ):
            found[position.prompt] = position
    return {prompt: {candidate.token for candidate in position.candidates} for prompt, position in found.items()}


def _chosen(capture: Capture, prompts: int) -> Mapping[int, Mapping[int, str]]:
    found: dict[int, dict[int, str]] = {}
    for position in capture.positions:
        if position.prompt < prompts:
            found.setdefault(position.prompt, {})[position.index] = position.chosen
    return found


def _kind(capture: Capture) -> str:
    return "/".join(sorted(_prefixes(capture.positions)))


def _prefixes(positions: Iterable[Position]) -> set[str]:
    return {candidate.token.partition(":")[0] for position in positions for candidate in position.candidates}


def _at(prompt: int, index: int) -> str:
    return f"prompt {prompt}, place {index}"
