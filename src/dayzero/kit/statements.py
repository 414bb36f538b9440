"""What is signed about a kit: the kit statement, and the receipt of what was measured."""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.attestation.model import SignerKind, Statement, Subject
from dayzero.attestation.statement import payload_digest
from dayzero.core.errors import EvidenceError, InputError
from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild, FromSeed, HubRevision, InDistribution, ModelOrigin, ModelPin, Sha256
from dayzero.core.workload import Cell, ClosedLoop, Workload, pace_words
from dayzero.evidence.model import Claim, NotMeasured
from dayzero.evidence.wire import to_wire
from dayzero.kit.documents import pin_document
from dayzero.kit.model import Kit, KitFile
from dayzero_verify.kit import RAW_FOLDER
from dayzero_verify.statement import KIT_TYPE, LEDGER_PATH, RECEIPT_TYPE


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What a receipt is written from.

    Attributes:
        workload: The load that was run.
        claims: What came out of it; each names its raw file.
        not_measured: What has no number.
        environment: Where it ran, as (name, text): machine, system, versions.
    """

    workload: Workload
    claims: tuple[Claim, ...]
    not_measured: tuple[NotMeasured, ...]
    environment: tuple[tuple[str, str], ...]


def kit_statements(
    kit: Kit, package: Package, recipe: Sha256, measurement: Measurement, signer: SignerKind
) -> tuple[Statement, ...]:
    """Write the statements of a kit in the order in which they are signed: the kit's own, which requires the receipt.

    Raises:
        EvidenceError: See :func:`receipt_statement`.
    """
    receipt = receipt_statement(kit, recipe, measurement, signer)
    return (kit_statement(kit, package, recipe, (receipt,), signer), receipt)


def kit_statement(
    kit: Kit, package: Package, recipe: Sha256, receipts: tuple[Statement, ...], signer: SignerKind
) -> Statement:
    """State what the archive is, and which receipts belong to it, so that none can be left out unnoticed.

    Args:
        kit: The finished kit.
        package: The definition that it was made from.
        recipe: Digest of the recipe, the subject of its claims.
        receipts: The receipts, exactly as they will be signed.
        signer: Kind of the key that will sign.

    Raises:
        InputError: The kit is not one of this package.
    """
    if (kit.name, kit.version) != (package.name, package.version):
        raise InputError(f"{kit.file_name} is not a kit of {package.name} {package.version}", hint="Assemble it again.")
    return Statement(
        subjects=(Subject(kit.file_name, kit.sha256),),
        predicate_type=KIT_TYPE,
        predicate={
            "kit": {"name": kit.name, "version": kit.version},
            "engine": _engine(package.recipe.engine),
            "model": _model(package.recipe.model),
            "recipe": {"sha256": recipe.hex},
            "ledger": {"sha256": _ledger(kit).sha256.hex},
            "files": [file.document() for file in kit.files],
            "receipts": [
                {"predicateType": receipt.predicate_type, "sha256": payload_digest(receipt).hex} for receipt in receipts
            ],
            "weightBytes": 0,
            "signer": {"kind": signer},
        },
    )


def receipt_statement(kit: Kit, recipe: Sha256, measurement: Measurement, signer: SignerKind) -> Statement:
    """State what was measured, about the kit and about each raw file in it.

    Raises:
        EvidenceError: A claim rests on a raw file that is not in the kit, or was measured on another recipe.
    """
    raw = tuple(file for file in kit.files if file.path.startswith(RAW_FOLDER))
    for claim in measurement.claims:
        _require_backing(claim, recipe, raw)
    workload = measurement.workload
    return Statement(
        subjects=(Subject(kit.file_name, kit.sha256), *(Subject(file.path, file.sha256) for file in raw)),
        predicate_type=RECEIPT_TYPE,
        predicate={
            "kit": {"name": kit.name, "version": kit.version},
            "recipe": {"sha256": recipe.hex},
            "workload": _workload(workload),
            "claims": [to_wire(claim)[1] for claim in measurement.claims],
            "notMeasured": [to_wire(entry)[1] for entry in measurement.not_measured],
            "environment": _environment(measurement.environment),
            "signer": {"kind": signer},
        },
    )


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


def _engine(build: EngineBuild) -> Mapping[str, object]:
    source = {"repository": build.source.repository, "commit": build.source.commit.hex} if build.source else None
    return {
        "engine": build.engine,
        "distribution": build.distribution,
        "version": build.version,
        "wheels": [{"filename": wheel.filename, "sha256": wheel.sha256.hex} for wheel in build.wheels],
        "image": build.image,
        "source": source,
    }


def _model(model: ModelPin) -> Mapping[str, object]:
    return {
        "name": model.name,
        "architecture": model.architecture,
        "tensorTypes": list(model.tensor_types),
        "weightsFormat": model.weights_format,
        "parameters": model.parameters,
        "licence": model.licence,
        "origin": _origin(model.origin),
        "files": [pin_document(file) for file in model.files],
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
