"""``dayzero evidence claim``: publish a number that a result file holds."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.cli.console import stderr_console
from dayzero.cli.main import PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.evidence.document import SCHEMA
from dayzero.evidence.locate import line_locator
from dayzero.evidence.locator import CsvLocator, JsonlLocator, Locator, PointerLocator, WholeFile
from dayzero.evidence.model import Extraction, NotMeasured
from dayzero.evidence.pages import cite_html, cite_markdown
from dayzero.evidence.wire import to_wire
from dayzero.wiring.filing import FiledClaim, Wanted, file_claim, file_not_measured

_WAYS = "--pattern, --pointer, --csv or --extractor"

_FEW = 5


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where in the file, and how.

    Attributes:
        line: Line that holds the value, from 1.
        pattern: Regular expression whose one group is the value; without --line, the one line that it matches is taken.
        pointer: JSON pointer of the value; with --line, in the JSON document on that line.
        csv: Row and column of a CSV file with a header: --csv NAME=c4 P50 is column P50 where column NAME says c4.
        decimals: Round a JSON or CSV number to so many decimals.
        extractor: Any installed extractor, on the file as a whole (bench-rows@1).
        parameter: A parameter of --extractor, as NAME=VALUE; can be given again.
    """

    line: int | None = None
    pattern: str | None = None
    pointer: str | None = None
    csv: Annotated[tuple[str, str] | None, cyclopts.Parameter(negative=())] = None
    decimals: int | None = None
    extractor: str | None = None
    parameter: Annotated[tuple[str, ...], cyclopts.Parameter(negative=())] = ()

    def aim(self, content: bytes) -> tuple[Locator, Extraction]:
        """Point at the value.

        Raises:
            InputError: The options do not say one place and one way.
            EvidenceError: The file has no such line.
        """
        ways = [name for name in ("pattern", "pointer", "csv", "extractor") if getattr(self, name) is not None]
        if len(ways) != 1:
            given = " and ".join(f"--{way}" for way in ways) or "none"
            raise InputError(f"where is the value? {given} given", hint=f"Give one of {_WAYS}.")
        if self.pattern is not None:
            line = self.line or _only_line(content, self.pattern)
            return line_locator(content, line), _extraction("text-line@1", (("pattern", self.pattern),))
        rounding = () if self.decimals is None else (("decimals", str(self.decimals)),)
        if self.pointer is not None and self.line is not None:
            return JsonlLocator(line=self.line, pointer=self.pointer), _extraction("json-value@1", rounding)
        if self.pointer is not None:
            return PointerLocator(pointer=self.pointer), _extraction("json-value@1", rounding)
        if self.csv is not None:
            (key_column, key), column = _pair(self.csv[0], "--csv"), self.csv[1]
            return CsvLocator(key_column=key_column, key=key, column=column), _extraction("csv-value@1", rounding)
        return WholeFile(), _extraction(
            self.extractor or "", tuple(_pair(text, "--parameter") for text in self.parameter)
        )


def claim(  # noqa: PLR0913  (each is an option of its own)
    slug: str,
    root: Path = Path(),
    *,
    file: Path,
    label: str,
    unit: str = "",
    spot: Spot | None = None,
    in_place: Annotated[bool, cyclopts.Parameter(negative=())] = False,
    subject: Path | None = None,
    command: str = "not said",
    corrects: str = "",
    output_format: OutputFormat = "text",
) -> int:
    """Publish a number: keep the result file, make a claim on it, and print the citation to paste.

    You say where to look; the value is what is found there. Nothing is written when it is not.

    Args:
        slug: Handle that pages cite, as in run7/p50; a later claim under it takes its place.
        root: Folder that holds evidence/ and the published pages.
        file: Result file that holds the number.
        label: What the number is, in words.
        unit: Its unit.
        spot: Where in the file, and how.
        in_place: Cite the file where it lies, as 'raw' in evidence.toml allows, instead of keeping a copy.
        subject: File that says what was measured (a configuration); the result file itself when left out.
        command: Command that produced the result file; it is published.
        corrects: Why the claim under this slug was read wrongly from the same file; it is published.
        output_format: How the result is written to stdout.
    """
    wanted = Wanted(
        slug=slug,
        label=label,
        unit=unit,
        file=file,
        aim=(spot or Spot()).aim,
        in_place=in_place,
        subject=subject,
        command=command,
        corrects=corrects,
    )
    filed = file_claim(root, wanted)
    for path in filed.moved_aside:
        stderr_console().print(f"A half line at the end of the ledger was moved to {path}.")
    if output_format == "json":
        print_json(_document(filed))
    else:
        _print(filed)
    return PROVEN


def not_measured(topic: str, root: Path = Path(), *, why: str, output_format: OutputFormat = "text") -> int:
    """Say that a topic has no number, and why, so that its absence is published like a number.

    Args:
        topic: Topic, as evidence.toml calls it.
        root: Folder that holds evidence/.
        why: The reason; it is published.
        output_format: How the result is written to stdout.
    """
    filed = file_not_measured(root, NotMeasured(topic=topic.strip(), why=why.strip()))
    for path in filed.moved_aside:
        stderr_console().print(f"A half line at the end of the ledger was moved to {path}.")
    if output_format == "json":
        said = {"topic": topic.strip(), "why": why.strip(), "moved_aside": list(filed.moved_aside)}
        print_json({"schema": SCHEMA, "kind": "not_measured", **said})
    else:
        print(f"{topic.strip()}: not measured: {why.strip()}")
    return PROVEN


def _extraction(extractor: str, parameters: tuple[tuple[str, str], ...]) -> Extraction:
    return Extraction(extractor=extractor, parameters=parameters)


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise InputError(f"{option} {text}: not NAME=VALUE", hint=f"Write it as in {option} name=c4.")
    return name, value


def _only_line(content: bytes, pattern: str) -> int:
    """Find the one line that a pattern matches, so that nobody has to count."""
    try:
        wanted = re.compile(pattern, re.ASCII)
    except re.error as error:
        raise InputError(f"--pattern {pattern!r} is not a regular expression: {error}", hint="Mend it.") from error
    lines = content.decode("utf-8", "replace").split("\n")
    found = [number for number, line in enumerate(lines, start=1) if wanted.search(line)]
    if not found:
        raise InputError(f"--pattern {pattern!r} matches no line", hint="Mend the pattern.")
    if len(found) > 1:
        lines_found = ", ".join(map(str, found[:_FEW])) + (", ..." if len(found) > _FEW else "")
        raise InputError(f"--pattern {pattern!r} matches lines {lines_found}", hint="Say which one with --line.")
    return found[0]


def _print(filed: FiledClaim) -> None:
    claim = filed.claim
    print(f"{claim.slug}: {claim.text}")
    print(f"  found at   {filed.place}")
    print(f"  ledger     line {filed.line}{'' if filed.new else ', where it stood already'}")
    print(f"  Markdown   {cite_markdown(claim)}")
    print(f"  HTML       {cite_html(claim)}")


def _document(filed: FiledClaim) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "kind": "filed",
        "claim": {**to_wire(filed.claim)[1], "text": filed.claim.text},
        "place": filed.place,
        "line": filed.line,
        "new": filed.new,
        "markdown": cite_markdown(filed.claim),
        "html": cite_html(filed.claim),
        "moved_aside": list(filed.moved_aside),
    }
