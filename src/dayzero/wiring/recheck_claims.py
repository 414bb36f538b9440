"""Check a verified kit's claims again: each comes out of its raw file, stands in its ledger, and is what its pages print."""

from dayzero.adapters.package_files import LOCK
from dayzero.core.errors import DayzeroError, EvidenceError, InputError
from dayzero.evidence.citation import Page
from dayzero.evidence.claims import extract, read_raw
from dayzero.evidence.ledger import Ledger, parse
from dayzero.evidence.model import Claim
from dayzero.evidence.pages import read_page
from dayzero.evidence.state import Retracted, Standing, Withdrawn
from dayzero.evidence.wire import from_wire
from dayzero.kit.backing import backing
from dayzero.kit.launch_document import LAUNCH_PATH, parse_launch
from dayzero.kit.model import KitContents
from dayzero.kit.readme import kit_readme
from dayzero.wiring.deploy import deployment
from dayzero.wiring.kit_contents import RawInKit, contents_of
from dayzero.wiring.plugins import extractors, target_names
from dayzero.wiring.recheck_kit import DEFINITION, OpenKit, difference, failed, opened, passed, unmade
from dayzero_verify.kit import Content
from dayzero_verify.report import ExitCode, Outcome
from dayzero_verify.statement import LEDGER_PATH, RECEIPT_TYPE, Statement
from dayzero_verify.strict_json import Json

CHECK = "claims"
_CARD, _README = "CARD.md", "README.md"


class _GoneError(EvidenceError):
    """A receipt states a claim that the kit's own ledger took back."""


def claims(content: Content) -> Outcome:
    """Extract every claim of every receipt again, and write the pages that print them again."""
    kit = opened(content)
    bodies = [body for line in content.lines[1:] for body in _bodies(line.statement)]
    if not bodies and DEFINITION not in kit.files:
        return unmade(CHECK, "no receipt states a claim, and there is no definition that asks for one")
    try:
        ledger = parse(kit.files[LEDGER_PATH], file=LEDGER_PATH)
        stated = tuple(_claim(body) for body in bodies)
        for claim in stated:
            _hold(kit, ledger, claim)
        pages = _pages(kit, ledger) if DEFINITION in kit.files else f"there is no {DEFINITION} to write the pages from"
    except _GoneError as error:
        return failed(CHECK, error.message, ExitCode.RETRACTED)
    except DayzeroError as error:
        return failed(CHECK, error.message, ExitCode.CLAIM)
    if not stated:
        return unmade(CHECK, f"no receipt states a claim: nothing was measured; {pages}")
    raw = len({claim.raw for claim in stated})
    number = f"{len(stated)} claim{'' if len(stated) == 1 else 's'}"
    return passed(
        CHECK, f"{number}, extracted again from {raw} raw file{'' if raw == 1 else 's'}, are the same; {pages}"
    )


def _bodies(statement: Statement) -> list[Json]:
    if statement.predicate_type != RECEIPT_TYPE:
        return []
    stated = statement.predicate.get("claims")
    return stated if isinstance(stated, list) else [stated]


def _claim(body: Json) -> Claim:
    record = from_wire("claim", body if isinstance(body, dict) else {})
    if not isinstance(record, Claim):
        raise InputError("a receipt states something that is no claim", hint="Take a kit that dayzero packed.")
    return record


def _hold(kit: OpenKit, ledger: Ledger, claim: Claim) -> None:
    """Hold a stated claim against the kit's ledger, its recipe and its raw file.

    Raises:
        EvidenceError: One of them says something else.
    """
    match ledger.standing(claim.slug):
        case Standing(claim=found) if found == claim:
            pass
        case Withdrawn(retraction=gone) | Retracted(retraction=gone):
            raise _GoneError(f"{claim.slug} was {gone.word} on {gone.at}: {gone.reason}", hint=_HINT)
        case Standing(claim=found) if found.text != claim.text:
            raise EvidenceError(
                f"a receipt says {claim.slug} is {claim.text!r}, the ledger says {found.text!r}", hint=_HINT
            )
        case Standing():
            raise EvidenceError(f"a receipt takes {claim.slug} from elsewhere than the ledger does", hint=_HINT)
        case _:
            raise EvidenceError(f"a receipt states {claim.slug}, which the ledger does not claim", hint=_HINT)
    if kit.predicate.get("recipe") != {"sha256": claim.subject.hex}:
        raise EvidenceError(f"{claim.slug} was measured on another recipe, {claim.subject}", hint=_HINT)
    value = _extracted(kit, claim)
    if value != claim.value:
        raise EvidenceError(f"{claim.slug} says {claim.value!r}, its raw file {claim.raw} gives {value!r}", hint=_HINT)


def _extracted(kit: OpenKit, claim: Claim) -> str:
    try:
        return extract(read_raw(RawInKit(kit.files), claim.raw), claim.locator, claim.extraction, extractors())
    except EvidenceError as error:
        raise EvidenceError(f"{claim.slug} does not come out of its raw file: {error.message}", hint=_HINT) from error


def _pages(kit: OpenKit, ledger: Ledger) -> str:
    """Hold card and README against ledger and definition, and say how.

    Raises:
        DayzeroError: They print something else.
    """
    installed = set(target_names())
    if not kit.ours or not installed.issuperset(kit.targets("carried")) or LAUNCH_PATH not in kit.files:
        for path in (_CARD, _README):
            _need_cited(kit, ledger, path)
        return f"{kit.other_builder}, so of {_CARD} and {_README} only the numbers that cite a claim are compared"
    contents = _contents(kit, ledger)
    for path, text in ((_CARD, contents.card), (_README, kit_readme(contents))):
        drift = difference(path, text, kit.text(path))
        if drift:
            raise EvidenceError(drift, hint=_HINT)
    return f"{_CARD} and {_README}, written again, are the same bytes"


def _contents(kit: OpenKit, ledger: Ledger) -> KitContents:
    package, spec = kit.package(), parse_launch(kit.files[LAUNCH_PATH], kit.text(LOCK))
    carried = kit.targets("carried")
    among = tuple(
        name for name in target_names() if name in {*carried, *kit.targets("notCarried"), *kit.targets("leftOut")}
    )
    said = backing(package, kit.files[LEDGER_PATH], ledger, RawInKit(kit.files))
    return contents_of(package, kit.text(DEFINITION), spec, (said, ledger), deployment(spec, carried, among))


def _need_cited(kit: OpenKit, ledger: Ledger, path: str) -> None:
    reading = read_page(Page(path=path, content=kit.files.get(path, b"")))
    if reading.malformed:
        raise EvidenceError(f"{path}: {reading.malformed[0].reason}", hint=_HINT)
    for citation in reading.citations:
        state = ledger.standing(citation.slug)
        if not isinstance(state, Standing) or state.claim.text != citation.text:
            raise EvidenceError(
                f"{citation.place} prints {citation.text!r}, which is not what {citation.slug} says", hint=_HINT
            )


_HINT = "Do not use this kit; ask whoever signed it."
