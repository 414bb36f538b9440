"""Write the one-page report of a study: from what the study kept, so it can be written again at any time."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from dayzero.adapters.disk import write_whole
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.optimize_page.render import render_study
from dayzero.bench.page import FileView
from dayzero.core.errors import DayzeroError, InputError
from dayzero.optimize.page import study_page
from dayzero.wiring.optimize import explained

REPORT: Final = "report.html"
_RESULT: Final = "result.json"


def write_report(study: Path) -> Path:
    """Write ``report.html`` into a study's folder, and give its path.

    Raises:
        InputError: The folder holds no result of a study.
    """
    result = _result(study / _RESULT)
    files = tuple(
        FileView(name=str(file.relative_to(study)), sha256=digest_of(file).hex, size=file.stat().st_size)
        for file in _files(study)
    )
    target = study / REPORT
    write_whole(target, render_study(study_page(result, _explanation(study), files)))
    return target


def _result(file: Path) -> Mapping[str, object]:
    hint = "Name the folder of a study that has ended; --resume -o FOLDER brings one to its end."
    try:
        found = msgspec.json.decode(file.read_bytes(), type=dict[str, object])
    except FileNotFoundError:
        raise InputError(f"{file.parent} holds no {_RESULT}", hint=hint) from None
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint=hint) from error
    if found.get("schema") != "dayzero/optimize/v1":
        raise InputError(f"{file} is no result of a study", hint=hint)
    return found


def _explanation(study: Path) -> Mapping[str, object] | None:
    """Say what mattered, where that can be said here: the report does not wait for Optuna."""
    try:
        return explained(study)
    except DayzeroError:
        return None


def _files(study: Path) -> Iterator[Path]:
    """Give what the figures come from: the result, the study, its journal, and the rows of each trial."""
    yield study / _RESULT
    yield from sorted(study.glob("study.json"))
    yield from sorted(study.glob("journal/*.jsonl"))
    yield from sorted(study.glob("trials/*/requests.jsonl"))
