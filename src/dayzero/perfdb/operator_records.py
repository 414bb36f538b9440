"""Read records of single operators, as OperatorX writes them: rows, cases without a row, and what was measured in place of what."""

import datetime as dt
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal, TypeAlias

import msgspec

from dayzero.core.errors import InputError
from dayzero.perfdb.model import UNSUPPORTED_CASE, TreePlace
from dayzero.perfdb.tables import systems

Argument: TypeAlias = str | int | float | bool | None
_SHA = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SIZES = 2**63
_HINT = "docs/reference/perfdb.md says what a record holds."


class _Operation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    type: str
    args: dict[str, Argument]
    backend: str


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    op: _Operation
    status: Literal["ok", "unsupported", "error"]
    metrics: dict[str, float] = {}
    error: str = ""
    model: str = ""


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    url: str
    sha: str
    date: str = ""


class _Software(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    version: str
    image_digest: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    run: _Run
    device: str
    software: _Software
    results: tuple[_Record, ...]


class _OperatorFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    table: str
    family: str
    columns: dict[str, str]
    defaults: dict[str, str | int] = {}
    further: tuple[str, ...] = ()


class _MetricFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    factor: float


class _ModelFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    names: tuple[str, ...]
    operator: str
    arguments: dict[str, str | int]
    source: str


class _Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    operator: dict[str, _OperatorFacts]
    metric: dict[str, _MetricFacts]
    model: tuple[_ModelFacts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTable:
    """The rows and the cases without a row of one table, of one file of records.

    Attributes:
        place: Folder that they go to.
        table: The table.
        rows: The rows, in the tree's own columns; ``raw_line`` is a record's number in the file, from 1.
        failures: Cases without a row, as an error file lists them.
        run: Address and commit of the run.
        collected_at: Its day, or ``""``.
        image_digest: Digest of the image, or ``""``.
    """

    place: TreePlace
    table: str
    rows: tuple[Mapping[str, Argument], ...]
    failures: tuple[Mapping[str, object], ...]
    run: tuple[str, str]
    collected_at: str
    image_digest: str


@lru_cache
def _facts() -> _Facts:
    text = files("dayzero.perfdb").joinpath("operator_records.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Facts, strict=True)


def read_records(name: str, content: bytes) -> tuple[RecordTable, ...]:
    """Read a file of records.

    Args:
        name: Its name, which its rows keep.
        content: Its bytes.

    Raises:
        InputError: It is damaged, lacks a field, has one that is not known, or a metric without a unit.
    """
    try:
        told = msgspec.json.decode(content, type=_File)
    except msgspec.DecodeError as error:
        raise InputError(f"{name} is no file of operator records: {error}", hint=_HINT) from error
    _need_run(name, told)
    found: dict[str, tuple[list[Mapping[str, Argument]], list[Mapping[str, object]]]] = {}
    for number, record in enumerate(told.results, start=1):
        facts = _operator(name, number, record)
        rows, failures = found.setdefault(record.op.type, ([], []))
        if record.status == "ok":
            rows.append(_row(name, number, record, told, facts))
        else:
            failures.append(_failure(record, facts))
    return tuple(_table(_facts().operator[kind], told, rows, failures) for kind, (rows, failures) in found.items())


def need_one_unit(tables: Iterable[tuple[str, bytes]]) -> None:
    """Refuse files that give one thing under several names: nothing says then that they mean the same.

    Args:
        tables: Name and content of each file, which has been read before.

    Raises:
        InputError: Two names of one metric are used.
    """
    seen: dict[str, tuple[str, str]] = {}
    for name, content in tables:
        used = {m for record in msgspec.json.decode(content, type=_File).results for m in record.metrics}
        for metric in sorted(used):
            thing = _facts().metric[metric].name
            before = seen.setdefault(thing, (metric, name))
            if before[0] != metric:
                raise InputError(
                    f"{name} gives {metric}, and {before[1]} gives {before[0]}: one thing in two units",
                    hint="Import files of one unit at a time.",
                )


def _need_run(name: str, told: _File) -> None:
    faults = (
        (not told.results, "holds no record"),
        (not _SHA.fullmatch(told.run.sha), "names no commit of its run: 40 hexadecimal digits"),
        (not told.run.url.startswith("https://"), "names no address of its run"),
        (not told.device.strip(), "names no device"),
        (_spelled(told.device) != told.device, f"calls {_spelled(told.device)} {told.device!r}"),
        (not _system(told.device), "names a device without a letter or digit that a folder can be called by"),
        (not _WORD.fullmatch(told.software.name), "names no software"),
        (not _WORD.fullmatch(told.software.version), "names no version of its software"),
        (not _DIGEST.fullmatch(told.software.image_digest), "has a digest of an image that is none"),
        (not _is_day(told.run.date), f"has a date that is none: {told.run.date!r}"),
    )
    fault = next((what for wrong, what in faults if wrong), None)
    if fault:
        raise InputError(f"{name} {fault}", hint=_HINT)


def _spelled(device: str) -> str:
    """Give a GPU's name as its driver writes it, where only case and spaces differ."""
    plain = " ".join(device.lower().split())
    known = (name for facts in systems().values() for name in facts.devices)
    return next((name for name in known if name.lower() == plain), device)


def _is_day(date: str) -> bool:
    try:
        return not date or bool(dt.date.fromisoformat(date[:10]))
    except ValueError:
        return False


def _operator(name: str, number: int, record: _Record) -> _OperatorFacts:
    known = _facts().operator
    facts = known.get(record.op.type)
    if facts is None:
        raise InputError(
            f"{name}, record {number}: no operator {record.op.type!r} is known", hint=f"Known are {', '.join(known)}."
        )
    taken = {*facts.columns.values(), *facts.further}
    other = sorted(record.op.args.keys() - taken)
    if other:
        raise InputError(
            f"{name}, record {number}: nothing says what the argument {other[0]} of {record.op.type} is",
            hint="Name it in dayzero/perfdb/operator_records.toml, with a source.",
        )
    missing = [
        arg for column, arg in facts.columns.items() if arg not in record.op.args and column not in facts.defaults
    ]
    if missing:
        raise InputError(f"{name}, record {number}: {record.op.type} lacks the argument {missing[0]}", hint=_HINT)
    if not record.op.backend.strip():
        raise InputError(f"{name}, record {number}: no backend is named", hint=_HINT)
    return facts


def _row(name: str, number: int, record: _Record, told: _File, facts: _OperatorFacts) -> Mapping[str, Argument]:
    return {
        "framework": told.software.name,
        "version": told.software.version,
        "device": told.device,
        "op_name": record.op.type,
        "kernel_source": _label(record),
        **_shape(name, number, record, facts),
        **_metrics(name, number, record),
        "raw_file": f"records/{name}",
        "raw_line": number,
    }


def _shape(name: str, number: int, record: _Record, facts: _OperatorFacts) -> dict[str, Argument]:
    shape: dict[str, Argument] = {}
    for column, argument in facts.columns.items():
        value = record.op.args.get(argument, facts.defaults.get(column))
        words = column.endswith("dtype") or column == "distribution"
        if not (_is_word(value) if words else _is_size(value)):
            kind = "a word" if words else "a whole number that a table can hold"
            raise InputError(f"{name}, record {number}: {argument} is {value!r}, not {kind}", hint=_HINT)
        shape[column] = value
    return shape


def _is_word(value: Argument) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_size(value: Argument) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _SIZES


def _metrics(name: str, number: int, record: _Record) -> dict[str, Argument]:
    known = _facts().metric
    found: dict[str, Argument] = {}
    for metric, value in record.metrics.items():
        facts = known.get(metric)
        if facts is None:
            raise InputError(
                f"{name}, record {number}: nothing says in which unit {metric} is",
                hint=f"Metrics carry their unit: {', '.join(known)}.",
            )
        if facts.name in found:
            raise InputError(
                f"{name}, record {number}: {facts.name} is given in more than one unit", hint="Leave one of them."
            )
        found[facts.name] = value * facts.factor
    if "latency_us" not in found:
        raise InputError(f"{name}, record {number}: it is ok and has no latency", hint=_HINT)
    return found


def _label(record: _Record) -> str:
    """Name the kernel by its backend; what it stands in for is written behind it, as the tree's own labels do."""
    of, by = _swapped(record)
    return f"{record.op.backend}_{of}_as_{by}" if of else record.op.backend


def _swapped(record: _Record) -> tuple[str, str]:
    """Say what the model that is named computes with, and what was measured; ``""`` where that is the same."""
    facts = next((m for m in _facts().model if record.model.lower() in m.names and m.operator == record.op.type), None)
    if facts is None:
        return "", ""
    of, by = "", ""
    for argument, value in facts.arguments.items():
        given = record.op.args.get(argument)
        if given is not None and str(given).lower() != str(value).lower():
            name = "" if isinstance(value, str) else argument.replace("_", "")
            of, by = of + name + _plain(value), by + name + _plain(given)
    return of, by


def _plain(value: Argument) -> str:
    return re.sub(r"[^a-z0-9]", "", str(value).lower())


def _failure(record: _Record, facts: _OperatorFacts) -> Mapping[str, object]:
    shape = {
        column: record.op.args.get(argument, facts.defaults.get(column)) for column, argument in facts.columns.items()
    }
    kind = UNSUPPORTED_CASE if record.status == "unsupported" else record.error.split(":", 1)[0].strip() or "error"
    return {
        "op": facts.table.removesuffix("_perf"),
        "error_type": kind,
        "case": shape | {"kernel_source": record.op.backend},
    }


def _table(
    facts: _OperatorFacts, told: _File, rows: list[Mapping[str, Argument]], failures: list[Mapping[str, object]]
) -> RecordTable:
    software = told.software
    place = TreePlace(
        system=_system(told.device), family=facts.family, engine=software.name.lower(), version=software.version
    )
    return RecordTable(
        place=place,
        table=facts.table,
        rows=tuple(rows),
        failures=tuple(failures),
        run=(told.run.url, told.run.sha),
        collected_at=told.run.date,
        image_digest=software.image_digest,
    )


def _system(device: str) -> str:
    """Find the system by its GPU's name; one that is not known is called after its GPU."""
    known = next((system for system, facts in systems().items() if device in facts.devices), None)
    return known or re.sub(r"[^a-z0-9]+", "_", device.lower()).strip("_")
