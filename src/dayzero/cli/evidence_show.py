"""``dayzero evidence show``: what stands under one slug, and what became of it."""

from pathlib import Path

from dayzero.cli.main import FINDINGS, PROVEN
from dayzero.cli.output import OutputFormat, print_json
from dayzero.evidence.document import claim_document, state_word
from dayzero.evidence.explain import Argued, Backed, Computed, Dossier, Unbacked, explain
from dayzero.evidence.in_place import explained_in_place
from dayzero.evidence.model import Claim
from dayzero.evidence.state import (
    ClaimState,
    Corrected,
    Retracted,
    Standing,
    State,
    Superseded,
    Unsupported,
    Withdrawn,
    Withheld,
)
from dayzero.wiring import plugins
from dayzero.wiring.store import open_filled


def show_claim(slug: str, root: Path = Path(), *, output_format: OutputFormat = "text") -> int:
    """Show a claim: its value, the raw line under it or the claims that it derives from, and what became of it.

    Exit 0: the claim stands and comes out of its raw file, or of its inputs; 1: it does not, was taken back, or is withheld.

    Args:
        slug: Handle of the claim (PACKAGE/ID).
        root: Folder that holds evidence/.
        output_format: How the result is written to stdout.
    """
    repository = open_filled(root)
    folder = str(repository.folder)
    dossier = explain(repository.ledger, repository.raw, plugins.extractors(), slug, folder=folder)
    dossier = explained_in_place(dossier, repository.lying)
    if output_format == "json":
        print_json(claim_document(dossier))
    else:
        _print_dossier(slug, dossier, str(repository.ledger_file))
    proven = isinstance(dossier.last, Standing) and not isinstance(dossier.backing, Unbacked)
    return PROVEN if proven else FINDINGS


def _print_dossier(slug: str, dossier: Dossier, ledger: str) -> None:
    last = dossier.last
    print(f"{slug}: {_text(last)}")
    if not isinstance(last, Withheld) and not isinstance(dossier.backing, Argued) and hasattr(last.claim, "label"):
        print(f"  {last.claim.label}")
    print(f"  state      {_state_line(last, ledger)}")
    for flag in last.flags if isinstance(last, Standing) else ():
        whose = "" if flag.event.slug == slug else f"{flag.event.slug}, "
        print(f"  flag       {flag.word} since {flag.event.at} at {ledger}:{flag.line}: {whose}{flag.event.reason}")
    _print_backing(dossier)
    if not isinstance(last, Withheld) and isinstance(last.claim, Claim):
        claim = last.claim
        parameters = "".join(f", {name} = {value}" for name, value in claim.extraction.parameters)
        print(f"  extractor  {claim.extraction.extractor}{parameters}\n  subject    {claim.subject}")
    for state in dossier.history[:-1]:
        print(f"  before     {_text(state)}, {_state_line(state, ledger)}")


def _print_backing(dossier: Dossier) -> None:
    match dossier.backing:
        case Backed(raw_file=raw_file, place=place):
            print(f"  raw file   {place}")
            if place.quote:
                print(f"  there      {place.quote}")
            print(f"  captured   {raw_file.captured_at}, {raw_file.size}, by: {raw_file.command}")
        case Computed(formula=formula, inputs=inputs):
            print(f"  computed   {formula}")
            for slug, state in inputs:
                print(f"  from       {_under(slug, state)}")
        case Argued(facts=facts, trials=trials):
            for slug, state in facts:
                print(f"  explains   {_under(slug, state)}")
            for trial, place in trials:
                print(f"  trial      {trial.name}: {trial.outcome} ({place})")
        case Unbacked(reason=reason):
            print(f"  raw file   NOT BACKED: {reason}")


def _under(slug: str, state: State) -> str:
    return f"{slug}: {state.claim.text}" if isinstance(state, Standing) else f"{slug}: {state_word(state)}"


def _text(state: ClaimState) -> str:
    return f"{state.uncitable.topic} (not to be cited)" if isinstance(state, Withheld) else state.claim.text


def _state_line(state: ClaimState, ledger: str) -> str:
    made = f"claimed at {ledger}:{state.line}"
    match state:
        case Standing():
            told = f"standing, {made}"
        case Superseded(by_line=by_line):
            told = f"superseded by line {by_line}, {made}"
        case Corrected(by_line=by_line, correction=why):
            told = f"corrected {why.at} by line {by_line}: {why.reason} ({made})"
        case Withdrawn(retraction=gone, retraction_line=line) | Retracted(retraction=gone, retraction_line=line):
            told = f"{gone.word} {gone.at} at {ledger}:{line}: {gone.reason} ({made})"
        case Unsupported(missing=missing):
            told = f"unsupported: {' and '.join(missing)} {'does' if len(missing) == 1 else 'do'} not stand ({made})"
        case Withheld():
            told = f"withheld at {ledger}:{state.line}"
    return told
