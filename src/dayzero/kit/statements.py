"""What is stated about a kit: what the archive is, and what was measured, run by run."""

import re
from collections.abc import Mapping

import rfc8785

from dayzero import __version__
from dayzero.attestation.model import Statement, Subject
from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.launch import LaunchSpec
from dayzero.core.package import GATES, SKIPPED, Package
from dayzero.core.pins import (
    EngineBuild,
    FilePin,
    FromSeed,
    HubRevision,
    InDistribution,
    ModelOrigin,
    ModelPin,
    Proxy,
    Sha256,
)
from dayzero.core.workload import Cell, ClosedLoop, Workload, pace_words
from dayzero.evidence.model import Claim, NotMeasured
from dayzero.evidence.subject import recipe_digest
from dayzero.evidence.wire import to_wire
from dayzero.kit.documents import pin_document
from dayzero.kit.model import Kit, KitContents, KitFile, Run
from dayzero_verify.kit import RAW_FOLDER
from dayzero_verify.statement import KIT_TYPE, LEDGER_PATH, RECEIPT_TYPE
from dayzero_verify.versions import is_older

_VERSION = re.compile(r"\d+\.\d+\.\d+", re.ASCII)


def kit_statement(kit: Kit, contents: KitContents, *, min_version: str = "") -> Statement:
    """State what the archive is; who signs it and which statements belong to it are added when it is signed.

    Args:
        kit: The finished kit.
        contents: What it was made from.
        min_version: Oldest version that should still be served, ``""`` where all may be.

    Raises:
        InputError: The kit is not one of this package, or is older itself than the oldest that should be served.
    """
    package = contents.package
    if min_version and (not _VERSION.fullmatch(min_version) or is_older(package.version, min_version)):
        raise InputError(
            f"not a version up to {package.version}: {min_version!r}",
            hint="Give --min-version a version such as 1.0.0.",
        )
    if (kit.name, kit.version) != (package.name, package.version):
        raise InputError(f"{kit.file_name} is not a kit of {package.name} {package.version}", hint="Assemble it again.")
    return Statement(
        subjects=(Subject(kit.file_name, kit.sha256),),
        predicate_type=KIT_TYPE,
        predicate={
            "kit": {"name": kit.name, "version": kit.version},
            "engine": engine_document(package.recipe.engine),
            "model": model_document(package.recipe.model),
            "recipe": {"sha256": recipe_digest(package.recipe).hex},
            "flags": {"sha256": flags_digest(contents.launch).hex},
            "targets": {
                "carried": list(contents.targets),
                "notCarried": [name for name, _ in contents.not_carried],
                "leftOut": list(contents.left_out),
            },
            "ledger": {"sha256": _ledger(kit).sha256.hex},
            "files": [file.document() for file in kit.files],
            "weightBytes": 0,
            "supersedes": _superseded(package),
            "minVersion": min_version,
            "builder": {"name": "dayzero", "version": __version__},
        },
    )


def flags_digest(launch: LaunchSpec) -> Sha256:
    """Name a command by the SHA-256 of the RFC 8785 form of its words and its environment."""
    return Sha256.of(rfc8785.dumps({"argv": list(launch.argv), "env": [list(pair) for pair in launch.env]}))


def receipt_statements(
    kit: Kit, contents: KitContents, environment: tuple[tuple[str, str], ...] = ()
) -> tuple[Statement, ...]:
    """State what was measured, one receipt a run.

    Args:
        kit: The finished kit.
        contents: What it was made from.
        environment: The machine, as (name, text), for a run that no file says it of.

    Raises:
        EvidenceError: A claim rests on a raw file that is not in the kit, or was measured on another recipe.
        InputError: An environment names something twice.
    """
    return tuple(_receipt(kit, contents, run, run.environment or environment) for run in contents.runs)


def _receipt(kit: Kit, contents: KitContents, run: Run, environment: tuple[tuple[str, str], ...]) -> Statement:
    package = contents.package
    raw, recipe = tuple(file for file in kit.files if file.path.startswith(RAW_FOLDER)), recipe_digest(package.recipe)
    for claim in run.claims:
        _require_backing(claim, recipe, raw)
    bound = {"run": {"name": run.name, "sha256": run.sha256.hex}} if run.sha256 else {}
    silent = [NotMeasured(topic=entry.topic, why=entry.why) for entry in package.unmeasured]
    return Statement(
        subjects=(Subject(kit.file_name, kit.sha256), *(Subject(file.path, file.sha256) for file in raw)),
        predicate_type=RECEIPT_TYPE,
        predicate={
            "kit": {"name": kit.name, "version": kit.version},
            "recipe": {"sha256": recipe.hex},
            "workload": _workload(package.workload),
            **bound,
            "claims": [to_wire(claim)[1] for claim in run.claims],
            "notMeasured": [to_wire(entry)[1] for entry in silent],
            "gates": [_gate(contents, slug, name) for slug, name in GATES],
            "environment": _environment(environment),
        },
    )


def _superseded(package: Package) -> str:
    """Give the version before this one, as the package's own list of changes has it; ``""`` for the first."""
    return next((change.version for change in package.changes if change.version != package.version), "")


def _gate(contents: KitContents, slug: str, name: str) -> Mapping[str, str]:
    """State what a gate said, in every receipt; one that was not run is stated as skipped, so that its silence is no pass."""
    package = contents.package
    for claim in (claim for run in contents.runs for claim in run.claims):
        if claim.slug == f"{package.name}/{slug}":
            return {"gate": name, "verdict": claim.value, "reason": claim.label}
    why = next((entry.why for entry in package.unmeasured if entry.topic == name), "")
    return {"gate": name, "verdict": SKIPPED, "reason": why or "it was not run"}


def _require_backing(claim: Claim, recipe: Sha256, raw: tuple[KitFile, ...]) -> None:
    if claim.raw not in {file.sha256 for file in raw}:
        raise EvidenceError(
            f"the claim {claim.slug} rests on the raw file {claim.raw}, which is not in the kit",
            hint="Put the raw file into the kit, or leave the claim out of the receipt.",
        )
    if claim.subject != recipe:
        raise EvidenceError(
            f"the claim {claim.slug} was measured on the recipe {claim.subject}, not on the kit's, {recipe}",
            hint="Measure this recipe, or leave the claim out of the receipt.",
        )


def _ledger(kit: Kit) -> KitFile:
    return next(file for file in kit.files if file.path == LEDGER_PATH)


def _environment(pairs: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise InputError("the environment of a receipt names something twice", hint="Keep one text a name.")
    return dict(pairs)


def _workload(workload: Workload) -> Mapping[str, object]:
    return {"seed": workload.seed, "cells": [_cell(cell) for cell in workload.cells]}


def _cell(cell: Cell) -> Mapping[str, object]:
    """State a cell; a plain closed loop is stated by its concurrency alone."""
    plain = isinstance(cell.load, ClosedLoop) and cell.turns == 1
    return {
        "name": cell.name,
        "concurrency": cell.concurrency,
        "requests": cell.requests,
        "warmupRequests": cell.warmup_requests,
        "inputTokens": cell.input_tokens,
        "outputTokens": cell.output_tokens,
        **({} if plain else {"load": pace_words(cell)}),
        **({"sharedPrefixTokens": cell.shared_prefix_tokens} if cell.shared_prefix_tokens else {}),
    }


def engine_document(build: EngineBuild) -> Mapping[str, object]:
    """Give the pin of an engine as JSON members."""
    source = {"repository": build.source.repository, "commit": build.source.commit.hex} if build.source else None
    return {
        "engine": build.engine,
        "distribution": build.distribution,
        "version": build.version,
        "wheels": [{"filename": wheel.filename, "sha256": wheel.sha256.hex} for wheel in build.wheels],
        "image": build.image,
        "source": source,
    }


def _stated_file(file: FilePin) -> dict[str, object]:
    """Give a model file as JSON members, with the digest of its header where that is pinned."""
    header = file.header_sha256
    return {**pin_document(file), **({} if header is None else {"headerSha256": header.hex})}


def model_document(model: ModelPin) -> Mapping[str, object]:
    """Give the pin of a model as JSON members."""
    return {
        "name": model.name,
        "architecture": model.architecture,
        "tensorTypes": list(model.tensor_types),
        "weightsFormat": model.weights_format,
        "parameters": model.parameters,
        "licence": model.licence,
        "origin": _origin(model.origin),
        "files": [_stated_file(file) for file in model.files],
    }


def _origin(origin: ModelOrigin) -> Mapping[str, object]:
    match origin:
        case HubRevision(repository=repository, revision=revision):
            return {"kind": "hub", "repository": repository, "revision": revision.hex}
        case InDistribution():
            return {
                "kind": "distribution",
                "distribution": origin.distribution,
                "version": origin.version,
                "wheelSha256": origin.wheel_sha256.hex,
                "folder": origin.folder,
            }
        case FromSeed(generator=generator, seed=seed):
            return {"kind": "seed", "generator": generator, "seed": seed}
        case Proxy(of=of, layers=layers, of_layers=whole):
            return {"kind": "proxy", "of": of, "layers": layers, "ofLayers": whole}
