"""Name raw files by where they lie, when that is not the folder of evidence."""

from collections.abc import Mapping
from dataclasses import replace

from dayzero.core.verdict import Place
from dayzero.evidence.explain import Argued, Backed, Dossier
from dayzero.evidence.report import Report


def named_in_place(place: Place, lying: Mapping[str, str]) -> Place:
    """Name the file that a reader can open.

    Args:
        place: A place in a report.
        lying: What a raw file would be called in the folder of evidence, and the path where it lies instead.
    """
    file = lying.get(place.file)
    return place if file is None else replace(place, artifact="", file=file)


def report_in_place(report: Report, lying: Mapping[str, str]) -> Report:
    """Name the files of every finding so."""
    findings = tuple(
        replace(finding, places=tuple(named_in_place(place, lying) for place in finding.places))
        for finding in report.findings
    )
    return replace(report, findings=findings)


def explained_in_place(dossier: Dossier, lying: Mapping[str, str]) -> Dossier:
    """Name the files under one slug so."""
    match dossier.backing:
        case Backed(place=place) as backed:
            return replace(dossier, backing=replace(backed, place=named_in_place(place, lying)))
        case Argued(trials=trials) as argued:
            named = tuple((trial, named_in_place(place, lying)) for trial, place in trials)
            return replace(dossier, backing=replace(argued, trials=named))
        case _:
            return dossier
