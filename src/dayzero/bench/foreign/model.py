"""What another tool wrote: the figures that it printed, by its own definitions, and the records that it kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dayzero.bench.model import Row
from dayzero.core.verdict import Refuted, Undecided

Files: TypeAlias = Mapping[str, bytes]
"""Content by file name; names are relative, with ``/``."""

Agreement: TypeAlias = Literal["same", "differs", "none"]
Quantile: TypeAlias = Literal["linear", "nearest"]
Clock: TypeAlias = Literal["monotonic", "wall", "unknown"]
Stamps: TypeAlias = Literal["every chunk", "first and last", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """How a tool defines one of its figures, beside ours.

    Attributes:
        printed: The tool's own name of it.
        ours: Our metric that is nearest; ``""`` where ``agreement`` is ``none``.
        agreement: ``same``, ``differs``, or ``none``: we have no such figure.
        formula: The tool's formula, in words.
        why: How it differs, or what to know when it does not; may be empty where it is the same.
    """

    printed: str
    ours: str
    agreement: Agreement
    formula: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One figure as the tool wrote it.

    Attributes:
        name: The tool's own name of the metric, as in its :class:`Definition`.
        statistic: ``mean``, ``total``, or a percentile written ``pN``.
        value: The figure, in ``unit``.
        unit: ``ms``, ``tok/s``, ``tokens`` or ``req/s``; times are brought to milliseconds.
    """

    name: str
    statistic: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the tool's own records hold of one of its metrics.

    Attributes:
        values: One value a request (or a gap), in the unit of the printed figure.
        weights: How often each counts; empty: once.
    """

    values: tuple[float, ...]
    weights: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The load that was asked for, as far as the files say; ``None`` where they do not.

    Attributes:
        concurrency: Requests in flight.
        input_tokens: Prompt tokens of a request.
        output_tokens: Tokens of an answer.
        warmup: Requests or seconds before the measured ones; 0 where the tool wrote that there were none.
        seed: Seed of the prompts, where it was fixed.
    """

    concurrency: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    warmup: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in the files that a reader of the figures has to know.

    Attributes:
        rule: Name of the rule that found it.
        sentence: What was found, with the numbers that show it.
        refutes: True where a figure is not what its name says, or the records contradict it.
    """

    rule: str
    sentence: str
    refutes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One benchmark as a tool recorded it.

    Attributes:
        tool: Name of the tool.
        version: Its version; ``""`` where the files do not say.
        label: Which benchmark of the files it is (``concurrent@4``).
        asked: The load that was asked for.
        printed: The figures that it wrote, in the order of its definitions.
        samples: What its own records hold, by the tool's name of the metric; a metric without an entry cannot be checked.
        rows: Its records as rows of ours; empty where it kept no stamps.
        stamps: Which stamps it kept. With ``first and last`` the stamps between are spaced evenly: such a row stands for
            what depends on its ends only.
        completed: Requests that came whole, as the tool counts them.
        failed: Requests that did not.
        prompt_tokens: Prompt tokens of the requests, as counted by the server where the tool took its counts, else by the tool.
        clock: Which clock stamped the requests.
        quantile: How the tool picks a percentile out of a sample.
        tolerance: Relative difference between printed and recomputed that rounding and sketches of the tool explain.
        findings: What this tool's file shows besides the rules that all share.
    """

    tool: str
    version: str
    label: str
    asked: Asked
    printed: tuple[Printed, ...]
    samples: Mapping[str, Sample]
    rows: tuple[Row, ...]
    stamps: Stamps
    completed: int
    failed: int
    prompt_tokens: tuple[int, ...]
    clock: Clock
    quantile: Quantile
    tolerance: float
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool whose files can be read.

    Attributes:
        name: Name of the tool.
        seen: Versions whose real files or source this reader was written from.
        files: Which files it writes its figures and records to.
        definitions: Its figures, in the order in which they are shown.
        recognises: Says whether files come from it.
        read: Reads them; one entry a benchmark.
    """

    name: str
    seen: str
    files: str
    definitions: tuple[Definition, ...]
    recognises: Callable[[Files], bool]
    read: Callable[[Files], tuple[Reading, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One printed figure beside what its own records and our definition give.

    Attributes:
        printed: The figure.
        definition: How the tool defines it, and how that maps to ours.
        records: The same figure recomputed from the tool's own records by its own definition.
        ours: Our metric from the same records.
    """

    printed: Printed
    definition: Definition
    records: float | Undecided
    ours: float | Undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A reading with what can be said of it. There is no third verdict: no file of another tool proves its figures.

    Attributes:
        reading: What the files hold.
        comparisons: Each printed figure.
        findings: What a reader has to know, refutations first.
        verdict: Refuted, or undecided with what the files cannot show.
    """

    reading: Reading
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    verdict: Refuted | Undecided
