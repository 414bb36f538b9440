"""A catalog with every kind of version in it: earlier, latest, yanked, draft; open and licensed; shown, withdrawn and absent."""

from dataclasses import replace

from tests.catalog.sample import (
    FITS,
    GIB,
    KIT,
    LOG,
    ROWS,
    START,
    STATUSES,
    claim,
    digest,
    every_state,
    large,
    large_records,
    tiny,
    tiny_records,
)
from tests.catalog.sample import ledger_of as sample_ledger

from dayzero.catalog.card import build_card
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.comparison import Comparison, NumberRow, Row
from dayzero.catalog.difference import Changed, ClaimChange, EditionDifference
from dayzero.catalog.edition import (
    Catalog,
    DeployFile,
    Deployment,
    Edition,
    Entry,
    NotCarried,
    SystemFit,
    TakenBack,
    Terms,
)
from dayzero.catalog.model import Card, Fit, FitState, KitFacts, StatusStep
from dayzero.catalog.release import KitPin, Release, Yank
from dayzero.catalog.series import Point, Series
from dayzero.catalog.told import Told
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Record
from dayzero.evidence.subject import recipe_digest

TINY, LARGE = "demo-kimi-k3-tiny", "kimi-k3-8xb300"
AS_OF = "2026-12-11T09:00:00Z"
YANK = Yank(package=TINY, version="0.9.0", at="2026-11-30T10:00:00Z", reason="Its cache held <half> of 20 GiB.")
TERMS_TEXT = "You may run it.\nYou may not <sell> it.\n"
UNTRIED = Fit(FitState.UNKNOWN, "Nobody has tried it here.")
DEFINITION = 'schema = "dayzero/package/v1"\nname = "x"  # <b>&\n'


def repinned() -> Package:
    """Give the next version of the small package: another engine build, the same grid."""
    package = tiny()
    engine = replace(package.recipe.engine, version="2026.11.20007")
    return replace(package, version="1.1.0", recipe=replace(package.recipe, engine=engine))


def earliest() -> Package:
    package = tiny()
    return replace(package, version="0.9.0", recipe=replace(package.recipe, flags=("--n-ctx", "4096")))


def repinned_records() -> tuple[Record, ...]:
    package = repinned()
    return (
        claim(package, "c1-output-tok-s", "611.7"),
        claim(package, "c1-ttft-p50", "48.2"),
        claim(package, "c4-ttft-p90", "390.0"),
    )


def all_records() -> tuple[Record, ...]:
    return (*tiny_records(), *repinned_records(), *large_records(), *every_state())


def ledger_of(*records: Record) -> Ledger:
    return sample_ledger(*records)


def card_of(
    package: Package,
    ledger: Ledger,
    kit: KitFacts | None = None,
    statuses: tuple[StatusStep, ...] = (),
    fit: Fit = UNTRIED,
) -> Card:
    about = Told.read(ledger).about(recipe_digest(package.recipe))
    return build_card(package, about, kit=kit, statuses=statuses, fit=fit)


def released(card: Card, at: str, *, kit: KitPin | None = None, yank: Yank | None = None) -> Edition:
    release = Release(
        package=card.package.name,
        version=card.package.version,
        at=at,
        definition=digest(DEFINITION.encode()),
        recipe=card.recipe,
        kit=kit,
    )
    return replace(draft(card), release=release, yank=yank)


def draft(card: Card) -> Edition:
    return Edition(
        card=card,
        release=None,
        yank=None,
        definition=DEFINITION,
        definition_sha256=digest(DEFINITION.encode()),
        rendering=lambda: Deployment(DEPLOY, NOT_CARRIED),
        fits=SYSTEMS,
        difference=None,
        terms=Terms(
            name="Terms of the <open> tier",
            text=TERMS_TEXT,
            sha256=digest(TERMS_TEXT.encode()),
            maintenance="Who has a version gets every later one of the same major number.",
        ),
    )


def _file(target: str, path: str, content: bytes, proven: str = "proven") -> DeployFile:
    why = "The launch was read back out of it." if proven == "proven" else "It carries no launch; 3 GiB are asked for."
    return DeployFile(target=target, path=path, content=content, sha256=digest(content), proven=proven, why=why)


DEPLOY = (
    _file("compose", "compose.yaml", b"services: {}\n"),
    _file("helm", "chart/Chart.yaml", b"name: x\n", "companion"),
    _file("helm", "chart/templates/serve.yaml", b"kind: Pod\n"),
    _file("shell", "serve.sh", b"#!/bin/sh\n", "undecided"),
)
NOT_CARRIED = (NotCarried(target="kserve", why="The model has <no> address that it could fetch; 1.56 TB are."),)


def _fit(system: str, gpu: str, count: int, state: str, *, own: bool = False) -> SystemFit:
    sentence = {
        "fits": f"175.40 GiB of weights and 40.00 GiB of cache on each of {count} GPUs leave room.",
        "does-not-fit": "The weights alone need 175.40 GiB a GPU, and 175.75 GiB of 178.35 GiB are free.",
        "unknown": "The architecture <is> not one that can be sized.",
    }[state]
    label = f"{count} x NVIDIA {gpu.upper()}" if gpu else "CPU only"
    ground = {"fits": "computed", "does-not-fit": "measured", "unknown": ""}[state]
    return SystemFit(
        system=system,
        label=label,
        gpu=gpu,
        count=count,
        nodes=-(-count // 8),
        state=state,
        ground=ground,
        sentence=sentence,
        own=own,
    )


SYSTEMS = (
    _fit("8xb300", "b300", 8, "fits", own=True),
    _fit("4xb300", "b300", 4, "does-not-fit"),
    _fit("1xb200", "b200", 1, "does-not-fit"),
    _fit("8xb200", "b200", 8, "does-not-fit"),
    _fit("2x8xb200", "b200", 16, "unknown"),
    _fit("8xmi355x", "mi355x", 8, "unknown"),
)

DIFFERENCE = EditionDifference(
    before="1.0.0",
    same_recipe=False,
    same_grid=True,
    grid="Both were measured under the same requests: 64 requests a cell.",
    changed=(
        Changed(topic="engine", name="version", before="2026.10.11549", after="2026.11.20007"),
        Changed(topic="flags", name="--n-<ctx>", before="", after="8192"),
    ),
    claims=(
        ClaimChange(
            id="c1-output-tok-s",
            label="output rate, one stream",
            load="one stream",
            before="532.4 tok/s",
            after="611.7 tok/s",
            why="",
            ratio="1.15",
        ),
        ClaimChange(
            id="start-to-healthy",
            label="start to healthy",
            load="",
            before="0.64 s",
            after="",
            why="The later version shows none.",
            ratio="",
        ),
    ),
)

SERIES = (
    Series(
        metric="ttft_ms",
        statistic="50th percentile",
        label="time to first token, 50th percentile",
        unit="ms",
        load="128 prompt tokens and 64 output tokens each",
        points=tuple(
            Point(x=x, y=y, text=f"{y} ms", slug=f"{TINY}/c{x}-ttft-p50", cell=f"c{x}")
            for x, y in ((1, 48.2), (4, 120.5), (16, 390.0))
        ),
    ),
    Series(
        metric="ttft_ms",
        statistic="90th percentile",
        label="time to first token, 90th percentile",
        unit="ms",
        load="128 prompt tokens and 64 output tokens each",
        points=tuple(
            Point(x=x, y=y, text=f"{y} ms", slug=f"{TINY}/c{x}-ttft-p90", cell=f"c{x}")
            for x, y in ((1, 61.0), (4, 190.0), (16, 520.0))
        ),
    ),
    Series(
        metric="output_tok_s",
        statistic="over the whole cell",
        label="output rate <all>, over the whole cell",
        unit="tok/s",
        load="128 prompt tokens and 64 output tokens each",
        points=tuple(
            Point(x=x, y=y, text=f"{y} tok/s", slug=f"{TINY}/c{x}-output-tok-s", cell=f"c{x}")
            for x, y in ((1, 611.7), (4, 1830.2), (16, 4002.9))
        ),
    ),
    Series(
        metric="itl_ms",
        statistic="mean",
        label="gap between tokens, mean",
        unit="ms",
        load="",
        points=(Point(x=1, y=1.7, text="1.7 ms", slug=f"{TINY}/c1-itl", cell="c1"),),
    ),
)

COMPARISON = Comparison(
    left=(TINY, "1.1.0"),
    right=(LARGE, "1.1.0"),
    left_title="Kimi-K3 architecture at 7M parameters",
    right_title="Kimi K3 on <one> node of eight B300",
    rows=(
        Row(topic="tier", left="open", right="licensed"),
        Row(topic="seed of the prompts", left="20260727", right="20260727"),
    ),
    numbers=(
        NumberRow(
            label="output rate, one stream",
            load="1 request in flight",
            left="611.7 tok/s",
            right="withdrawn",
            left_slug=f"{TINY}/c1-output-tok-s",
            right_slug=f"{LARGE}/c1-output-tok-s",
            left_shown=True,
            right_shown=False,
            why="not comparable: the right one shows none",
            ratio="",
        ),
    ),
    note="They run on other hardware: 512.00 MiB beside 2.1 TiB.",
)


def catalog_of(*entries: Entry, ledger: Ledger, retractions: tuple[TakenBack, ...] = ()) -> Catalog:
    contents = {digest(content): content for content in (ROWS, START, LOG)}
    return Catalog(
        entries=tuple(sorted(entries, key=lambda entry: entry.name)),
        pages=claim_pages(Told.read(ledger), contents),
        retractions=retractions,
        as_of=AS_OF,
        release_head="0" * 64,
        ledger_head="0" * 64,
    )


WITHDRAWN = TakenBack(
    slug=f"{LARGE}/c1-output-tok-s",
    label="output rate, one stream",
    kind="withdrawn",
    reason="The clock of the client was stepped during the run; 140.4 tok/s cannot be told from it.",
    at="2026-11-28T09:15:00Z",
    line=12,
    cards=((LARGE, "draft"),),
)


def tiny_entry(ledger: Ledger) -> Entry:
    archive = KitPin(archive=KIT.archive, sha256=Sha256("4b" * 32), size=KIT.size)
    latest = released(card_of(repinned(), ledger, KIT, STATUSES, FITS), "2026-12-10T08:00:00Z", kit=archive)
    return Entry(
        TINY,
        (
            replace(latest, difference=DIFFERENCE),
            released(card_of(tiny(), ledger, None, STATUSES, FITS), "2026-11-29T18:00:00Z", kit=archive),
            released(card_of(earliest(), ledger), "2026-11-01T18:00:00Z", yank=YANK),
        ),
    )


def large_entry(ledger: Ledger) -> Entry:
    fit = Fit(FitState.MEASURED_DOES_NOT_FIT, f"It was tried; {Bytes(175 * GIB)} were free.")
    return Entry(LARGE, (draft(card_of(large(), ledger, None, (), fit)),))


def sample_catalog() -> Catalog:
    ledger = ledger_of(*all_records())
    return catalog_of(tiny_entry(ledger), large_entry(ledger), ledger=ledger, retractions=(WITHDRAWN,))
