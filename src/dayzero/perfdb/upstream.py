"""Read what stands beside the rows of a tree: its folders, sidecars and error files."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

import yaml

from dayzero.core.errors import InputError
from dayzero.perfdb.model import Failure, Sidecar, SidecarTable, TreePlace

DATA, SIDECAR, PARQUET = "data", "collection_meta.yaml", ".parquet"
_DEPTH = 6
_TABLE = re.compile(r"[a-z][a-z0-9_]*_perf")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def place_of(path: str) -> TreePlace:
    """Take the path of a file under the systems folder apart.

    Raises:
        InputError: It is not ``data/SYSTEM/FAMILY/ENGINE/VERSION/FILE``.
    """
    parts = PurePosixPath(path).parts
    if len(parts) != _DEPTH or parts[0] != DATA:
        raise InputError(
            f"{path} is not where a table lies", hint="Tables lie at data/SYSTEM/FAMILY/ENGINE/VERSION/TABLE.parquet."
        )
    return TreePlace(system=parts[1], family=parts[2], engine=parts[3].lower(), version=parts[4])


def table_named(path: str) -> str:
    """Give the table that a Parquet file is of, by its name.

    Raises:
        InputError: It is not where a table lies, or not called as one.
    """
    place_of(path)
    name = PurePosixPath(path).name.removesuffix(PARQUET)
    if not _TABLE.fullmatch(name):
        raise InputError(f"{path} is not called as a table", hint="Tables are called NAME_perf.parquet, in lower case.")
    return name


def read_sidecar(path: str, content: bytes) -> Sidecar:
    """Read a sidecar; what it does not say stays empty.

    Raises:
        InputError: It is not YAML, or not a mapping.
    """
    try:
        document = yaml.load(content, Loader=_LOADER)  # noqa: S506  (a safe one)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not YAML", hint="Import the tree as it was published.") from error
    if not isinstance(document, Mapping):
        raise InputError(f"{path} is not a mapping", hint="Import the tree as it was published.")
    runtime, tables = _mapping(document.get("runtime")), _mapping(document.get("tables"))
    return Sidecar(
        place=place_of(path),
        framework=_text(runtime, "framework"),
        version=_text(runtime, "version"),
        image=_text(runtime, "image"),
        image_digest=_text(runtime, "image_digest"),
        provenance=_text(document, "provenance"),
        tables=tuple(_table(str(name), _mapping(table)) for name, table in tables.items()),
        build=_text(runtime, "build"),
    )


def read_failures(path: str, content: bytes) -> tuple[Failure, ...]:
    """Read an error file: cases that were tried and failed.

    Raises:
        InputError: It is not a JSON list of cases.
    """
    try:
        cases = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON", hint="Import the tree as it was published.") from error
    if not isinstance(cases, list):
        raise InputError(f"{path} is not a list of cases", hint="Import the tree as it was published.")
    return tuple(_failures(path, cases))


def _failures(path: str, cases: Iterable[object]) -> Iterable[Failure]:
    for number, entry in enumerate(cases):
        told = _mapping(entry)
        yield Failure(
            place=place_of(path),
            table=f"{_text(told, 'op')}_perf",
            error=_text(told, "error_type") or _text(told, "classification"),
            path=path,
            position=f"/{number}",
            case=tuple((str(name), str(value)) for name, value in _mapping(told.get("case")).items()),
        )


def _table(name: str, told: Mapping[object, object]) -> SidecarTable:
    rows = told.get("rows")
    return SidecarTable(
        table=name,
        collector_ref=_text(told, "collector_ref"),
        collector_hash=_text(told, "collector_hash"),
        case_plan_hash=_text(told, "case_plan_hash"),
        collected_at=_text(told, "collected_at"),
        rows=rows if isinstance(rows, int) else -1,
        status=_text(told, "status"),
    )


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, Mapping) else {}


def _text(told: Mapping[object, object], key: str) -> str:
    value = told.get(key)
    return "" if value is None or isinstance(value, Mapping | list | set) else str(value)
