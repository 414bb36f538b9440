import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from tests.evidence.records import RECORDS
from tests.evidence.samples import CAUSE, OFF, ON, off_claim, retraction, seeds_world
from tests.simulators.evidence_store import MemoryLedger

from dayzero.core.errors import InputError, IntegrityError
from dayzero.evidence.ledger import Filed, Ledger, file_records, parse
from dayzero.evidence.model import Claim, NotMeasured, Record
from dayzero.evidence.state import Missing, Retracted, Standing, Superseded, Withdrawn

_records = st.lists(RECORDS, max_size=6)


@given(_records, _records)
def test_what_was_appended_is_read_back_in_two_goes_as_in_one(first: list[Record], second: list[Record]):
    ledger, lines = Ledger().append(first)
    longer, more = ledger.append(second)
    assert parse(lines + more) == longer
    assert Ledger().append([*first, *second]) == (longer, lines + more)
    assert [entry.record for entry in longer.entries] == [*first, *second]


@settings(max_examples=300)
@given(st.lists(RECORDS, min_size=1, max_size=4), st.data())
def test_any_changed_byte_is_caught(records: list[Record], data: st.DataObject):
    ledger, lines = Ledger().append(records)
    at = data.draw(st.integers(0, len(lines) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != lines[at]))
    changed = lines[:at] + bytes((byte,)) + lines[at + 1 :]
    if at == len(lines) - 1:
        # the newline at the very end can go without breaking a line; then the last line is set aside, and that is said
        found = parse(changed)
        assert found.torn
        assert found.entries == ledger.entries[:-1]
    else:
        with pytest.raises(IntegrityError, match=r"^ledger\.jsonl:\d+: "):
            parse(changed)


def test_a_ledger_cut_at_any_byte_of_its_last_line_opens_and_says_what_was_set_aside():
    content = seeds_world().ledger
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(last + 1, len(content)):
        ledger = parse(content[:end])
        assert len(ledger.entries) == 4
        assert ledger.torn == content[last:end]
    assert not parse(content[:last]).torn


def test_the_next_record_follows_the_whole_lines_and_not_the_torn_one():
    content = seeds_world().ledger
    whole = parse(content)
    torn = parse(content + b'{"body":{"at":')
    assert torn.append((retraction(CAUSE),)) == whole.append((retraction(CAUSE),))


def test_a_line_is_the_canonical_form_of_its_entry():
    _, lines = Ledger().append((NotMeasured(topic="vision", why="no image was sent"),))
    digest = hashlib.sha256(
        b'{"body":{"topic":"vision","why":"no image was sent"},"prev":"'
        + b"0" * 64
        + b'","seq":0,"type":"not_measured"}'
    ).hexdigest()
    assert lines == (
        b'{"body":{"topic":"vision","why":"no image was sent"},"digest":"'
        + digest.encode()
        + b'","prev":"'
        + b"0" * 64
        + b'","seq":0,"type":"not_measured"}\n'
    )


def _lines() -> list[bytes]:
    return seeds_world().ledger.splitlines(keepends=True)


def _resealed(line: bytes, **changes: object) -> bytes:
    """Change an entry and give it the digest that it would have: what someone who knows the format would do."""
    entry = {**json.loads(line), **changes}
    del entry["digest"]
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    entry["digest"] = hashlib.sha256(text).hexdigest()
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _broken(number: int) -> bytes:
    lines = _lines()
    body = json.loads(lines[2])["body"]
    changed = [
        [lines[0], lines[2], *lines[3:]],
        [lines[1], lines[0], *lines[2:]],
        [*lines[:2], lines[2].replace(b'"140.30"', b'"140.31"'), *lines[3:]],
        [*lines[:2], _resealed(lines[2], body={**body, "value": "140.31"}), *lines[3:]],
        [lines[0].replace(b'"name"', b'"name":"x","name"'), *lines[1:]],
        [lines[0].replace(b'":"', b'": "', 1), *lines[1:]],
        [lines[0], b"\n", *lines[1:]],
        [_resealed(lines[0], type="rumour"), *lines[1:]],
        [_resealed(lines[0], note="x"), *lines[1:]],
        [*lines[:2], _resealed(lines[2], body={**body, "slug": "../x"}), *lines[3:]],
        [lines[0].replace(b'"seq":0', b'"seq":0.0'), *lines[1:]],
        [b"[" * 100_000 + b"\n", *lines[1:]],
        [b"\xff\n", *lines[1:]],
    ]
    return b"".join(changed[number])


@pytest.mark.parametrize(
    ("number", "message"),
    list(
        enumerate(
            (
                "ledger.jsonl:2: the line says it is number 2, it is number 1",
                "ledger.jsonl:1: the line says it is number 1, it is number 0",
                "ledger.jsonl:3: the line was changed after it was written",
                "ledger.jsonl:4: the line does not follow the line before it",
                "ledger.jsonl:1: the key 'name' occurs twice in one object",
                "ledger.jsonl:1: the line is not in canonical form (RFC 8785)",
                "ledger.jsonl:2: not JSON",
                "ledger.jsonl:1: no record type 'rumour'",
                "ledger.jsonl:1: Object contains unknown field `note`",
                "ledger.jsonl:3: not a slug: '../x'",
                "ledger.jsonl:1: ",
                "ledger.jsonl:1: nested deeper",
                "ledger.jsonl:1: not UTF-8",
            )
        )
    ),
)
def test_every_other_defect_is_an_integrity_error_that_names_the_line(number: int, message: str):
    with pytest.raises(IntegrityError) as caught:
        parse(_broken(number))
    assert caught.value.message.startswith(message)


def test_a_file_that_ends_in_a_whole_entry_without_newline_sets_it_aside_all_the_same():
    ledger = parse(seeds_world().ledger.rstrip(b"\n"))
    assert len(ledger.entries) == 4
    assert ledger.torn.startswith(b'{"body"')


def test_what_cannot_be_written_canonically_is_refused_before_it_is_written():
    with pytest.raises(InputError) as caught:
        Ledger().append((NotMeasured(topic="\ud800", why="x"),))
    assert caught.value.message == snapshot(
        "this cannot be written into the ledger: input contains non-UTF-8 codepoints"
    )


def _new(value: str) -> Claim:
    claim = off_claim()
    return Claim(
        slug=claim.slug,
        label=claim.label,
        value=value,
        unit=claim.unit,
        raw=claim.raw,
        locator=claim.locator,
        extraction=claim.extraction,
        subject=claim.subject,
    )


@pytest.mark.parametrize(
    ("records", "states"),
    [
        ((), ()),
        ((_new("1"),), ("Standing 1",)),
        ((_new("1"), _new("2")), ("Superseded 1", "Standing 2")),
        ((_new("1"), retraction(OFF)), ("Withdrawn 1",)),
        ((_new("1"), retraction(OFF, "retract")), ("Retracted 1",)),
        ((_new("1"), retraction(OFF), retraction(OFF, "retract")), ("Retracted 1",)),
        ((_new("1"), _new("2"), retraction(OFF)), ("Superseded 1", "Withdrawn 2")),
        ((_new("1"), retraction(OFF), _new("2")), ("Withdrawn 1", "Standing 2")),
        ((_new("1"), retraction(ON)), ("Standing 1",)),
        ((retraction(OFF), _new("1")), ("Standing 1",)),
    ],
)
def test_what_becomes_of_a_claim(records: tuple[Record, ...], states: tuple[str, ...]):
    ledger, _ = Ledger().append(records)
    history = ledger.history(OFF)
    assert tuple(f"{type(state).__name__} {state.claim.value}" for state in history) == states
    assert ledger.standing(OFF) == (history[-1] if history else Missing(OFF))
    assert ledger.standings().get(OFF, Missing(OFF)) == ledger.standing(OFF)


def test_states_name_the_lines_that_made_them():
    ledger, _ = Ledger().append((_new("1"), _new("2"), retraction(OFF)))
    assert ledger.history(OFF) == (
        Superseded(claim=_new("1"), line=1, by_line=2),
        Withdrawn(claim=_new("2"), line=2, retraction=retraction(OFF), retraction_line=3),
    )


def test_a_withdrawn_cause_leaves_both_throughput_figures_standing():
    world = seeds_world()
    world.append(retraction(CAUSE))
    ledger = world.parsed()
    off, on, cause = ledger.standing(OFF), ledger.standing(ON), ledger.standing(CAUSE)
    assert isinstance(off, Standing)
    assert isinstance(on, Standing)
    assert isinstance(cause, Withdrawn)
    assert (off.claim.text, on.claim.text) == ("140.30 tok/s", "140.42 tok/s")
    assert cause.claim.text == "failed autotune tactics poison the CUDA context"


def test_records_are_filed_on_what_the_file_holds_at_that_moment():
    file = MemoryLedger(seeds_world().ledger + b'{"half')
    seen: list[Ledger] = []

    def decide(ledger: Ledger) -> tuple[Record, ...]:
        seen.append(ledger)
        return (retraction(CAUSE),)

    filed = file_records(file, decide)
    assert filed == Filed(parse(file.content), ("ledger.torn-1",))
    assert len(seen[0].entries) == 5
    assert isinstance(filed.ledger.standing(CAUSE), Withdrawn)


def test_nothing_is_added_to_a_broken_chain():
    broken = seeds_world().ledger.replace(b"140.30", b"140.31", 1)
    file = MemoryLedger(broken)
    with pytest.raises(IntegrityError):
        file_records(file, lambda _: (retraction(CAUSE),))
    assert file.content == broken


def test_a_retracted_claim_is_not_a_withdrawn_one():
    ledger, _ = Ledger().append((_new("1"), retraction(OFF, "retract")))
    assert isinstance(ledger.standing(OFF), Retracted)
