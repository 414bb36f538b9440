"""``dayzero repin``: are newer pins proven for this package, and what would change?"""

from collections.abc import Iterator, Mapping
from typing import Annotated

import cyclopts

from dayzero.audit.report import leaves_open, refutes
from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.package import Package
from dayzero.core.verdict import Undecided, verdict_word
from dayzero.wiring.repin import Candidate, Repin
from dayzero.wiring.repin import repin as newer_pins

SCHEMA = "dayzero/repin/v1"
_MET = {"proven": "met", "refuted": "not met", "undecided": "not known"}


def repin(
    package: str,
    *,
    config: str = "",
    offline: Annotated[bool, cyclopts.Parameter(negative="")] = False,
    output_format: OutputFormat = "text",
) -> int:
    """Audit a package on every release newer than the one that it pins, and print the newest pins that are proven.

    Nothing is written: the TOML to change is printed. Exit code 0: newer pins are proven. 1: none are. 3: undecided.

    Args:
        package: The package's name, folder or file.
        config: Its model's config.json, where the hub that it names cannot be asked.
        offline: Look only at the releases that are kept here.
        output_format: How the result is written to stdout.
    """
    with stderr_console().status("") as status:
        found = newer_pins(package, config, offline=offline, progress=status.update)
    if output_format == "json":
        print_json(_document(found))
    else:
        print("\n".join(_lines(found)))
    if found.newest is not None:
        return PROVEN
    return UNDECIDED if any(isinstance(one.verdict, Undecided) for one in found.candidates) else FINDINGS


def _lines(found: Repin) -> Iterator[str]:
    pinned = found.package.recipe.engine
    yield f"{found.package.name} pins {pinned}; {len(found.candidates)} newer releases"
    wide = max((len(one.version) for one in found.candidates), default=0)
    for one in found.candidates:
        yield f"  {one.version:<{wide}}  {verdict_word(one.verdict):<9}  {_first(one)}"
    newest = found.newest
    yield ""
    if newest is None:
        yield "No newer release is proven: keep the pins."
        return
    yield f"Newest proven: {pinned.distribution} {newest.version}. Change in package.toml:"
    yield ""
    yield from _toml(found.package, newest)
    if found.conditions:
        yield ""
        yield "Conditions for the next version"
        yield from (
            f"  {_MET[verdict_word(verdict)]:<9}  {one.when} ({one.kind} {one.wanted}): {verdict.reason}"
            for one, verdict in found.conditions
        )
    yield ""
    count = len(found.invalidated)
    yield f"{count} measurement{' is' if count == 1 else 's are'} of the pins as they are, and none of the new ones"
    yield from (f"  {one.slug}  {one.label}: {one.text}" for one in found.invalidated)


def _first(one: Candidate) -> str:
    """Give the first thing that matters of an answer, and the reason where nothing was found."""
    findings = one.audit.findings if one.audit is not None else ()
    told = next((f"{each.message}  [{each.rule}]" for each in findings if refutes(each) or leaves_open(each)), "")
    return told or one.verdict.reason


def _toml(package: Package, newest: Candidate) -> Iterator[str]:
    engine = package.recipe.engine
    yield "[engine]"
    yield f'version = "{newest.version}"'
    yield ""
    yield "[[engine.wheels]]"
    yield f'filename = "{newest.file}"'
    yield f'sha256 = "{newest.sha256}"'
    for before, after in zip(package.recipe.kernels, newest.kernels, strict=True):
        if before != after:
            yield ""
            yield f"[[kernels]]  # {after.library}"
            yield f'distribution = "{after.distribution}"'
            yield f'version = "{after.version}"'
    if len(engine.wheels) > 1:
        yield "# The wheels of the other platforms are to be looked up: the one for Linux on x86-64 was audited."
    if engine.lock:
        yield "# requirements.lock is to be made again for this version."
    if engine.image:
        yield f"# image = {engine.image} holds {engine.version}: give the digest of an image of {newest.version}."


def _document(found: Repin) -> Mapping[str, object]:
    newest = found.newest
    return {
        "schema": SCHEMA,
        "package": found.package.name,
        "pinned": str(found.package.recipe.engine),
        "releases": [
            {
                "version": one.version,
                "verdict": verdict_word(one.verdict),
                "reason": one.verdict.reason,
                "first": _first(one),
            }
            for one in found.candidates
        ],
        "newest": None
        if newest is None
        else {
            "version": newest.version,
            "wheel": {"filename": newest.file, "sha256": newest.sha256},
            "kernels": [
                {"library": one.library, "distribution": one.distribution, "version": one.version}
                for one in newest.kernels
            ],
        },
        "conditions": [
            {
                "when": one.when,
                "probe": {one.kind: one.wanted},
                "state": _MET[verdict_word(verdict)],
                "reason": verdict.reason,
                "places": [str(place) for place in verdict.places],
            }
            for one, verdict in found.conditions
        ],
        "invalidated": [{"slug": one.slug, "label": one.label, "text": one.text} for one in found.invalidated],
    }
