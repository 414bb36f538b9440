"""A card as JSON. Measured values are strings, so that nobody rounds them."""

from collections.abc import Mapping
from typing import TypeAlias

from dayzero.catalog.model import Absent, Card, Gone, KitFacts, Measurement, NotYet, Reached, Shown, StatusStep
from dayzero.catalog.paths import claim_path, raw_path
from dayzero.catalog.standing import weights_pinned
from dayzero.catalog.words import cell_words, fit_words, origin_words, place_words, wheel_platform
from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild, FromSeed, HubRevision, InDistribution, ModelOrigin, ModelPin, Proxy
from dayzero.core.recipe import Recipe

Json: TypeAlias = Mapping[str, object]


def number_document(measurement: Measurement) -> Json:
    """Write a number in short: what it is, and its value or why there is none."""
    said: Json = {
        "slug": measurement.slug,
        "label": measurement.ref.label,
        "statistic": measurement.statistic,
        "load": measurement.load,
    }
    match measurement.figure:
        case Shown(claim=claim, marks=marks):
            marked = [{"word": mark.word, "reason": mark.reason} for mark in marks]
            return {**said, "state": "shown", "value": claim.value, "unit": claim.unit, "marks": marked}
        case Gone(reason=reason, at=at) as gone:
            return {**said, "state": gone.word, "reason": reason, "at": at}
        case Absent(why=why):
            return {**said, "state": "absent", "reason": why}


def card_document(card: Card, pages: frozenset[str]) -> Json:
    """Write what a card shows; ``pages`` are the slugs of the claims that have a page."""
    package = card.package
    headline = card.headline
    return {
        "name": package.name,
        "version": package.version,
        "title": package.title,
        "summary": package.summary,
        "tier": package.tier,
        "technique": package.technique,
        "recipe_sha256": card.recipe.hex,
        "model": {**_model(package.recipe.model), "weights_pinned": weights_pinned(package)},
        "engine": _engine(package.recipe.engine),
        "kernels": [
            {"library": kernel.library, "distribution": kernel.distribution, "version": kernel.version}
            for kernel in package.recipe.kernels
        ],
        "launch": _launch(package.recipe),
        "floor": {
            "sentence": card.floor,
            "fit": card.fit.state.value,
            "fit_in_words": fit_words(card.fit.state),
            "why": card.fit.why,
        },
        "status": [step_document(step) for step in card.ladder],
        "gates": [{"gate": gate.gate, "verdict": gate.word, "why": gate.why} for gate in card.gates],
        "headline": headline.slug if headline else None,
        "measurements": [_measurement(measurement, pages) for measurement in card.measurements],
        "not_measured": [{"topic": topic.topic, "why": topic.why} for topic in package.unmeasured],
        "workload": _workload(package),
        "walls": [
            {"advisory": wall.advisory, "shown_by": _engine(wall.build), "resolution": wall.resolution}
            for wall in package.walls
        ],
        "kit": None if card.kit is None else _kit(card.kit),
        "changes": [
            {"version": change.version, "date": change.date, "kind": change.kind, "text": change.text}
            for change in package.changes
        ],
    }


def _model(model: ModelPin) -> Json:
    return {
        "name": model.name,
        "architecture": model.architecture,
        "parameters": model.parameters,
        "weights_format": model.weights_format,
        "tensor_types": list(model.tensor_types),
        "licence": model.licence,
        "origin": {**_origin(model.origin), "in_words": origin_words(model.origin)},
        "files": [{"path": file.path, "sha256": file.sha256.hex, "bytes": file.size.count} for file in model.files],
    }


def _origin(origin: ModelOrigin) -> Json:
    match origin:
        case HubRevision(repository=repository, revision=revision):
            return {"kind": "hub", "repository": repository, "revision": revision.hex}
        case InDistribution(distribution=distribution, version=version, wheel_sha256=digest, folder=folder):
            return {
                "kind": "distribution",
                "distribution": distribution,
                "version": version,
                "wheel_sha256": digest.hex,
                "folder": folder,
            }
        case FromSeed(generator=generator, seed=seed):
            return {"kind": "seed", "generator": generator, "seed": seed}
        case Proxy(of=of, layers=layers, of_layers=whole):
            return {"kind": "proxy", "of": of, "layers": layers, "of_layers": whole}


def _engine(build: EngineBuild) -> Json:
    return {
        "engine": build.engine,
        "build": str(build),
        "wheels": [
            {"filename": wheel.filename, "platform": wheel_platform(wheel.filename), "sha256": wheel.sha256.hex}
            for wheel in build.wheels
        ],
        "image": build.image,
        "source": None
        if build.source is None
        else {"repository": build.source.repository, "commit": build.source.commit.hex},
    }


def _launch(recipe: Recipe) -> Json:
    plan = recipe.parallelism
    return {
        "name": recipe.name,
        "flags": list(recipe.flags),
        "env": [list(pair) for pair in recipe.env],
        "parallelism": {"tp": plan.tp, "pp": plan.pp, "dp": plan.dp, "ep": plan.ep},
    }


def step_document(step: StatusStep) -> Json:
    """Write one step of the status ladder."""
    match step:
        case Reached(step=name, date=date, pin=pin):
            return {"step": name, "state": "reached", "date": date, "pin": pin}
        case NotYet(step=name, why=why):
            return {"step": name, "state": "not yet", "why": why}


def _measurement(measurement: Measurement, pages: frozenset[str]) -> Json:
    asked: Json = {
        "slug": measurement.slug,
        "label": measurement.ref.label,
        "statistic": measurement.statistic,
        "load": measurement.load,
        "page": claim_path(measurement.slug) if measurement.slug in pages else None,
    }
    match measurement.figure:
        case Shown(claim=claim, raw=raw, marks=marks):
            return {
                **asked,
                "state": "shown",
                "value": claim.value,
                "unit": claim.unit,
                "marks": [
                    {"word": mark.word, "slug": mark.slug, "at": mark.at, "reason": mark.reason} for mark in marks
                ],
                "raw": {
                    "path": raw_path(raw.sha256),
                    "sha256": raw.sha256.hex,
                    "name": raw.name,
                    "bytes": raw.size.count,
                    "captured_at": raw.captured_at,
                    "command": raw.command,
                },
                "place": place_words(claim.locator),
                "extractor": claim.extraction.extractor,
                "parameters": dict(claim.extraction.parameters),
                "subject": claim.subject.hex,
            }
        case Gone(reason=reason, at=at) as gone:
            return {**asked, "state": gone.word, "reason": reason, "at": at}
        case Absent(why=why):
            return {**asked, "state": "absent", "reason": why}


def _workload(package: Package) -> Json:
    return {
        "seed": package.workload.seed,
        "cells": [
            {
                "name": cell.name,
                "concurrency": cell.concurrency,
                "requests": cell.requests,
                "warmup_requests": cell.warmup_requests,
                "input_tokens": cell.input_tokens,
                "output_tokens": cell.output_tokens,
                "in_words": cell_words(cell),
            }
            for cell in package.workload.cells
        ],
    }


def _kit(kit: KitFacts) -> Json:
    return {
        "archive": kit.archive,
        "bytes": kit.size.count,
        "weight_bytes": kit.weight_bytes.count,
        "key_fingerprint": kit.key_fingerprint,
        "demo_key": kit.demo_key,
        "verify_command": kit.verify_command,
    }
