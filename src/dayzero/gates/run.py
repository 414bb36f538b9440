"""Run a distribution gate: look at both endpoints, fix the setting, capture and judge look after look."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dayzero.core.errors import DayzeroError, RemoteError
from dayzero.core.verdict import Undecided
from dayzero.gates.exchange import Key, Reading, Reply, Side, UnreadableError, document
from dayzero.gates.model import Arm, Capture, DistributionPlan, Judged, Position, Stop
from dayzero.gates.ports import Endpoints, Listener, LogprobDialect
from dayzero.gates.probe import Seen, look_at
from dayzero.gates.prompts import Layout, fingerprint, of_ids, of_text, texts
from dayzero.gates.sequential import look
from dayzero.gates.setting import SIDES, Setting, names, prompt_of, schedule, side_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the caller asks for.

    Attributes:
        plan: What is measured; ``k`` may become smaller where an endpoint gives fewer candidates.
        layout: How long the parts of a prompt are.
        sentences: What prompts are made of.
        dialects: Names and dialects of the known engines, in the order in which they are tried.
    """

    plan: DistributionPlan
    layout: Layout
    sentences: tuple[str, ...]
    dialects: Sequence[tuple[str, LogprobDialect]]


def prepare(endpoints: Endpoints, wanted: Wanted) -> Setting | Undecided:
    """Look at both endpoints, and write the prompts that both understand alike.

    Raises:
        InputError: A model has to be named, or a prompt cannot be made so long.
    """
    seen: dict[Side, Seen] = {}
    for side in SIDES:
        try:
            seen[side] = look_at(endpoints, side, wanted.dialects, k=wanted.plan.k)
        except RemoteError as error:
            return Undecided(f"{side}: {error.message}")
    plan = replace(wanted.plan, k=min(one.k for one in seen.values()))
    without = [side for side in SIDES if seen[side].scoring == "none"]
    if Arm.PREFILL in plan.arms and without:
        why = "gives no log-probabilities of a prompt, so that there is no prefill arm; --arm decode does without"
        return Undecided(f"{' and '.join(without)}: {why}")
    made = _prompts(wanted, seen)
    if isinstance(made, Undecided):
        return made
    notes = tuple(_notes(wanted.plan, plan, seen))
    return replace(made, plan=plan, notes=(*notes, *made.notes))


def run(setting: Setting, endpoints: Endpoints, listener: Listener) -> Judged:
    """Capture and judge, until a look stops it.

    Args:
        setting: What was fixed, and is written down by now.
        endpoints: The endpoints.
        listener: Is told of each look before its captures.
    """
    replies: dict[Key, Reply] = {}
    number = 0
    while True:
        jobs = {arm: schedule(setting, arm, number) for arm in setting.plan.arms}
        size = setting.plan.look_sizes[number]
        listener.captures(number + 1, size, sum(len(one[side]) for one in jobs.values() for side in SIDES))
        for each in jobs.values():
            replies.update(endpoints.ask_all(each, concurrency=setting.plan.concurrency))
        number += 1
        looked = look(setting.plan, captures(setting, replies, size), number)
        if isinstance(looked, Stop):
            return looked.judged


def captures(setting: Setting, replies: Mapping[Key, Reply], prompts: int) -> Mapping[str, Capture]:
    """Read the replies of the first prompts."""
    found = [
        _capture(setting, arm, name, replies, prompts)
        for arm in setting.plan.arms
        for side in SIDES
        for name in names(side)
    ]
    return {one.key: one for one in found}


def _capture(setting: Setting, arm: Arm, name: str, replies: Mapping[Key, Reply], prompts: int) -> Capture:
    positions: list[Position] = []
    failed: list[str] = []
    requests = 0
    for prompt in range(prompts):
        own = _parts(replies, name, arm, prompt)
        requests += len(own)
        try:
            readings = _read(setting, arm, name, prompt, own)
        except DayzeroError as error:
            failed.append(f"prompt {prompt}: {error.message}")
            continue
        positions += [
            Position(prompt, index, one.chosen, one.candidates)
            for index, one in enumerate(readings[: setting.plan.positions])
        ]
    return Capture(
        name=name,
        arm=arm,
        k=setting.plan.k,
        positions=tuple(positions),
        tokenizer=setting.tokenizers[side_of(name)],
        requests=requests,
        failed=tuple(failed),
    )


def _parts(replies: Mapping[Key, Reply], name: str, arm: Arm, prompt: int) -> list[Reply]:
    found: list[Reply] = []
    while (key := Key(name, arm.value, prompt, len(found))) in replies:
        found.append(replies[key])
    return found


def _read(setting: Setting, arm: Arm, name: str, number: int, replies: Sequence[Reply]) -> Sequence[Reading]:
    """Read one prompt's positions.

    Raises:
        UnreadableError: There are none, or not those that were asked for.
    """
    seen, wanted = setting.seen[side_of(name)], setting.plan.positions
    if not replies:
        raise UnreadableError("it was not captured")
    if arm is Arm.DECODE:
        written = seen.dialect.generated(document(replies[0]))
        if len(written) < wanted and seen.dialect.exact_length:
            raise UnreadableError(f"{wanted} tokens were asked for, {len(written)} came")
        return written
    prompt = prompt_of(setting, arm, name, number)
    if seen.scoring == "prefix" and isinstance(prompt, tuple):
        tail = prompt[-wanted:]
        return [_next(seen, reply, token) for reply, token in zip(replies, tail, strict=True)]
    scored = seen.dialect.scored(document(replies[0]))
    if isinstance(prompt, tuple) and len(scored) != len(prompt) - 1:
        raise UnreadableError(f"a prompt of {len(prompt)} tokens has {len(scored)} positions, not {len(prompt) - 1}")
    return scored[-wanted:]


def _next(seen: Seen, reply: Reply, token: int) -> Reading:
    written = seen.dialect.generated(document(reply))
    if not written:
        raise UnreadableError("1 token was asked for, none came")
    return replace(written[0], chosen=f"id:{token}")


def _prompts(wanted: Wanted, seen: Mapping[Side, Seen]) -> Setting | Undecided:
    plan, layout = wanted.plan, wanted.layout
    written = texts(wanted.sentences, layout, seed=plan.seed, prompts=plan.prompts)
    try:
        ids = {side: _tokenized(seen[side], written) for side in SIDES}
    except RemoteError as error:
        return Undecided(error.message)
    prints = {side: fingerprint(ids[side]) if ids[side] else "" for side in SIDES}
    lengths = {side: len(ids[side][0]) for side in SIDES if ids[side]}
    if len(lengths) == len(SIDES) and prints["A"] != prints["B"]:
        return Undecided(
            "A and B have different tokenizers, so that their candidates are not the same tokens: "
            f"the text of the first prompt is {lengths['A']} tokens to A and {lengths['B']} to B"
        )
    given = ids["A"] or ids["B"]
    notes: tuple[str, ...] = ()
    if given and all(one.takes_ids for one in seen.values()):
        first = _first(seen, written[0], given[0])
        sheets = tuple(of_ids(each, layout, first=first) for each in given)
    else:
        sheets = tuple(of_text(each, layout) for each in written)
        notes = ("prompts are sent as text, since not both endpoints take token ids: their lengths are in words",)
    return Setting(plan=plan, layout=layout, seen=seen, sheets=sheets, tokenizers=prints, notes=notes)


def _tokenized(seen: Seen, written: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    tokenizer = seen.tokenizer
    return () if tokenizer is None else tuple(map(tokenizer.ids, written))


def _first(seen: Mapping[Side, Seen], text: str, plain: tuple[int, ...]) -> tuple[int, ...]:
    """Find the special tokens that the model expects in front of a text, such as the one that begins it."""
    tokenizer = seen["A"].tokenizer or seen["B"].tokenizer
    whole = plain if tokenizer is None else tokenizer.ids(text, special=True)
    at = next((place for place in range(len(whole)) if whole[place : place + len(plain)] == plain), 0)
    return whole[:at]


def _notes(asked: DistributionPlan, plan: DistributionPlan, seen: Mapping[Side, Seen]) -> Iterator[str]:
    if plan.k < asked.k:
        yield f"{asked.k} candidates a position were asked for; {plan.k} is what both endpoints give"
    for side, one in seen.items():
        if not one.engine:
            yield f"{side}: no known engine was recognised: the model may end early, and a prefix cache may help"
        if Arm.PREFILL in plan.arms and one.scoring == "prefix":
            yield f"{side}: a prompt's own positions cost one request a prefix, without its cache"
        if one.meaning == "unclear":
            yield f"{side}: its distributions are too flat to tell what a temperature does to its log-probabilities"
