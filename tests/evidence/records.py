"""Records of every type for hypothesis, small enough to collide on purpose."""

from hypothesis import strategies as st

from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.locator import (
    CsvLocator,
    JsonlLocator,
    LineLocator,
    MemberLocator,
    PointerLocator,
    RangeLocator,
    SpanLocator,
    WholeFile,
)
from dayzero.evidence.model import (
    Claim,
    Concern,
    Correction,
    Derived,
    Expiry,
    Explanation,
    Extraction,
    NotMeasured,
    RawFile,
    Reaffirmation,
    Refused,
    Retraction,
    Trial,
    Uncitable,
)

AT = "2026-08-02T09:00:00Z"
EVENTS = (Correction, Concern, Reaffirmation, Expiry)

_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
_word = st.text(st.sampled_from("abc0.é%/ "), min_size=1, max_size=12).map(lambda s: " ".join(s.split())).filter(bool)
_digest = st.binary(min_size=32, max_size=32).map(lambda b: Sha256(b.hex()))
_slug = st.sampled_from(("a", "b", "p/a", "p/c4-ttft-p50"))
_other = st.sampled_from(("x", "y", "p/z"))
_size = st.integers(1, 2**53 - 1)
_pointer = st.sampled_from(("", "/a", "/a~1b/0/~0"))
LOCATORS = st.one_of(
    st.just(WholeFile()),
    st.builds(LineLocator, line=_size, sha256=_digest),
    st.builds(lambda a, b, d: RangeLocator(first=min(a, b), last=max(a, b), sha256=d), _size, _size, _digest),
    st.builds(PointerLocator, pointer=_pointer),
    st.builds(JsonlLocator, line=_size, pointer=_pointer),
    st.builds(CsvLocator, key_column=_word, key=_text, column=_word),
    st.builds(MemberLocator, member=_word, sha256=_digest),
    st.builds(SpanLocator, offset=st.integers(0, 2**53 - 1), length=_size, sha256=_digest),
)
_stamp = st.sampled_from((AT, "2026-08-03T00:00:59Z"))
_pairs = st.dictionaries(_word, _word, max_size=3).map(lambda pairs: tuple(pairs.items()))
_trial = st.builds(Trial, name=_word, conditions=_pairs, outcome=_word, raw=_digest, locator=LOCATORS)
_cited = st.lists(_other, min_size=1, max_size=3, unique=True).map(tuple)

CLAIMS = st.builds(
    Claim,
    slug=_slug,
    label=_word,
    value=_word,
    unit=_word,
    raw=_digest,
    locator=LOCATORS,
    extraction=st.builds(
        Extraction, extractor=_text, parameters=st.lists(st.tuples(_text, _text), max_size=3).map(tuple)
    ),
    subject=_digest,
)
RECORDS = st.one_of(
    st.builds(
        RawFile,
        sha256=_digest,
        name=_text,
        size=st.builds(Bytes, st.integers(0, 2**53 - 1)),
        captured_at=_text,
        command=_text,
    ),
    CLAIMS,
    st.builds(
        Derived,
        slug=_slug,
        label=_word,
        value=st.sampled_from(("1.50", "-0.25")),
        unit=_word,
        rule=st.sampled_from(("ratio@1", "no-such@12")),
        inputs=_cited,
        decimals=st.just(2),
    ),
    st.builds(
        Explanation,
        slug=_slug,
        statement=_word,
        facts=_cited,
        trials=st.lists(_trial, max_size=2, unique_by=lambda trial: trial.name).map(tuple),
    ),
    st.builds(Uncitable, slug=_slug, topic=_word, why=_word),
    st.builds(NotMeasured, topic=_text, why=_text),
    st.builds(Refused, sentence=_text, reason=_text),
    st.builds(Retraction, slug=_slug, kind=st.sampled_from(("retract", "withdraw")), reason=_word, at=_stamp),
    *(st.builds(event, slug=_slug, reason=_word, at=_stamp) for event in EVENTS),
)
