from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.catalog.release import KitPin, Release, ReleaseLog, ReleaseRecord, Yank, by_version
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes

AT = "2026-11-30T08:00:00Z"


def digest(number: int) -> Sha256:
    return Sha256(f"{number:064x}")


def kit(number: int) -> KitPin:
    return KitPin(archive=f"p-{number}.kit.zip", sha256=digest(number), size=Bytes(48_640))


def release(version: str, number: int, package: str = "p", pin: KitPin | None = None) -> Release:
    return Release(
        package=package, version=version, at=AT, definition=digest(number), recipe=digest(number + 500), kit=pin
    )


def yank(version: str, package: str = "p", reason: str = "Its cache is too small.") -> Yank:
    return Yank(package=package, version=version, at=AT, reason=reason)


ONE, TWO = release("1.0.0", 1, pin=kit(901)), release("1.1.0", 2)


def written(*records: ReleaseRecord) -> bytes:
    return ReleaseLog().append(*records)[1]


def test_what_is_appended_is_read_back():
    log, lines = ReleaseLog().append(ONE, TWO, yank("1.0.0"))
    assert ReleaseLog.parse(lines) == log
    assert log.releases == (ONE, TWO)
    assert log.yank_of("p", "1.0.0") == yank("1.0.0")
    assert log.yank_of("p", "1.1.0") is None


def test_lines_are_the_same_whether_they_are_added_at_once_or_one_by_one():
    log, first = ReleaseLog().append(ONE)
    _, second = log.append(yank("1.0.0"))
    assert first + second == written(ONE, yank("1.0.0"))


def test_an_empty_log_has_released_nothing():
    assert ReleaseLog.parse(b"") == ReleaseLog()
    assert ReleaseLog().head == "0" * 64


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (release("1.0.0", 3), "p 1.0.0 was released before"),
        (replace(ONE, at="2026-12-01T08:00:00Z"), "p 1.0.0 was released before"),
        (release("2.0.0", 1), "p 2.0.0 would have the definition of p 1.0.0"),
        (release("1.0.0", 1, package="q"), "q 1.0.0 would have the definition of p 1.0.0"),
        (release("2.0.0", 3, pin=kit(901)), "p 2.0.0 would have the kit of p 1.0.0"),
        (release("1.0.0", 3, package="q", pin=kit(901)), "q 1.0.0 would have the kit of p 1.0.0"),
        (yank("2.0.0"), "p 2.0.0 was never released"),
        (yank("1.0.0", package="q"), "q 1.0.0 was never released"),
        (yank("1.1.0", reason="Again."), "p 1.1.0 is yanked already"),
        (release("1.1.0", 3), "p 1.1.0 was released before"),
    ],
)
def test_nothing_is_used_twice(record: ReleaseRecord, said: str):
    log, lines = ReleaseLog().append(ONE, TWO, yank("1.1.0"))
    with pytest.raises(InputError, match=said):
        log.append(record)
    with pytest.raises(InputError, match=said):
        ReleaseLog().append(ONE, TWO, yank("1.1.0"), record)
    assert ReleaseLog.parse(lines) == log


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: yank("1.0.0", reason=" "), "gives no reason"),
        (lambda: replace(ONE, at="yesterday"), "not a time"),
        (lambda: replace(yank("1.0.0"), at="2026-11-30"), "not a time"),
    ],
)
def test_a_record_that_says_nothing_is_refused(make, said: str):
    with pytest.raises(InputError, match=said):
        make()


LINES = written(ONE, TWO, yank("1.0.0")).splitlines(keepends=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"".join(LINES).replace(b'"version":"1.1.0"', b'"version":"1.2.0"'), "releases.jsonl:2: the line was changed"),
        (b"".join(LINES).replace(b"too small", b"too large"), "releases.jsonl:3: the line was changed"),
        (LINES[0] + LINES[2], "releases.jsonl:2: the line does not follow"),
        (LINES[1] + LINES[0] + LINES[2], "releases.jsonl:1: the line does not follow"),
        (b"".join(LINES[1:]), "releases.jsonl:1: the line does not follow"),
        (b"".join(LINES) + LINES[2], "releases.jsonl:4: the line does not follow"),
        (b"".join(LINES)[:-1], "releases.jsonl:3: the line has no end"),
        (b"".join(LINES)[:-20], "releases.jsonl:3: the line has no end"),
        (b"\n" + b"".join(LINES), "releases.jsonl:1: "),
        (LINES[0].replace(b'{"body"', b'{ "body"'), "releases.jsonl:1: the line was changed"),
        (LINES[0].replace(b'"type":"release"', b'"type":"removal"'), "no record is called 'removal'"),
        (LINES[0].replace(b'"package":"p"', b'"package":"../p"'), "releases.jsonl:1: .*regex"),
        (LINES[0].replace(b'"version":"1.0.0"', b'"version":"1.0"'), "releases.jsonl:1: .*regex"),
        (LINES[0].replace(b'"kit":{', b'"more":1,"kit":{'), "releases.jsonl:1: .*unknown field"),
        (LINES[0].replace(b'"bytes":48640', b'"bytes":-1'), "releases.jsonl:1: "),
        (b"[]\n", "releases.jsonl:1: "),
        (b"\xff\n", "releases.jsonl:1: not UTF-8"),
    ],
)
def test_a_log_that_was_changed_otherwise_than_at_its_end_is_broken(content: bytes, said: str):
    with pytest.raises(IntegrityError, match=said):
        ReleaseLog.parse(content)


def test_a_chain_that_somebody_made_anew_around_a_reused_version_is_broken():
    forged, first = ReleaseLog().append(ONE)
    _, second = ReleaseLog((), forged.head).append(release("1.0.0", 3))
    second = second.replace(b'"seq":0', b'"seq":1')
    with pytest.raises(IntegrityError, match=r"releases\.jsonl:2"):
        ReleaseLog.parse(first + second)


@given(st.permutations(["0.9.0", "1.0.0", "1.9.0", "1.10.0", "2.0.0", "10.0.0"]))
def test_versions_are_put_in_order_as_numbers(versions: list[str]):
    releases = [release(version, number) for number, version in enumerate(versions)]
    assert [each.version for each in sorted(releases, key=by_version)] == [
        "0.9.0",
        "1.0.0",
        "1.9.0",
        "1.10.0",
        "2.0.0",
        "10.0.0",
    ]
