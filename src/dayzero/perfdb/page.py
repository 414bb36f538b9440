"""Write down what a catalog shows of a database: coverage of the declared lanes, their curves, and what was taken back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from dayzero.perfdb.coverage import Coverage
from dayzero.perfdb.curves import Curve
from dayzero.perfdb.model import Import
from dayzero.perfdb.retraction import Standing

SCHEMA = "dayzero/perfdb-page/v1"


def page_document(
    made: Import, covered: Sequence[Coverage], drawn: Iterable[Curve], standing: Iterable[Standing]
) -> Mapping[str, object]:
    """Write the document.

    Args:
        made: The import.
        covered: The lanes.
        drawn: Their curves.
        standing: The retractions of rows.
    """
    return {
        "schema": SCHEMA,
        "import": made.id,
        "upstream": made.upstream,
        "version": made.version,
        "sha256": made.sha256,
        "imported_at": made.imported_at,
        "rows": made.rows,
        "lanes": [_lane(one) for one in covered],
        "curves": [asdict(one) | {"fixed": [list(pair) for pair in one.fixed]} for one in drawn],
        "retractions": [_retraction(one) for one in standing],
    }


def _lane(one: Coverage) -> Mapping[str, object]:
    return {
        "lane": one.lane.title,
        "recipe": one.lane.recipe.strip(),
        "image": one.lane.image.strip(),
        "checks": list(one.lane.checks),
        "label": one.lane.label.strip(),
        "source": one.lane.source,
        "cells": [
            {
                "system": cell.system,
                "state": cell.state.value,
                "measured": cell.measured,
                "substituted": cell.substituted,
                "retracted": cell.retracted,
                "failed": cell.failed,
            }
            for cell in one.cells
        ],
    }


def _retraction(one: Standing) -> Mapping[str, object]:
    record = one.record
    return {
        "slug": record.slug,
        "cause": record.cause,
        "why": record.why,
        "at": record.at,
        "effect": one.effect.value,
        "table": record.table,
        "where": list(record.where),
        "rows": one.found.rows,
        "evidence": [f"{line.file}:{line.line}" for line in record.evidence],
    }
