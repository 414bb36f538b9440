"""Describe a verified kit as an RO-Crate 1.1, so that a stranger's tools find each number and the raw file under it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TypeAlias

from dayzero.core.errors import EvidenceError
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Claim, Derived, NotMeasured, RawFile
from dayzero.evidence.state import Standing, State
from dayzero_verify.kit import RAW_FOLDER, Content
from dayzero_verify.strict_json import Json

CRATE_NAME = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/crate/1.1"
CONTEXT = (f"{PROFILE}/context", {"sha256": "http://schema.org/sha256"})
"""The second part names the one term that the first, of RO-Crate 1.1, lacks."""

Entity: TypeAlias = dict[str, object]

_FORMATS: Mapping[str, str] = {
    ".css": "text/css",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".py": "text/x-python",
    ".sh": "text/x-shellscript",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
}
_LICENCE, _ENGINE, _MODEL, _RUN = "#licence", "#engine", "#model", "#measurement"


def ro_crate(kit: Content, ledger: Ledger, pages: Iterable[tuple[str, bytes]] = ()) -> bytes:
    """Write ``ro-crate-metadata.json`` for the folder that a kit is unpacked into; the same kit gives the same bytes.

    Args:
        kit: The kit, verified.
        ledger: Its ledger, with what was said on its claims since, if anything; a claim that no longer stands has no value.
        pages: Files that lie beside the kit's, as (path, content).

    Raises:
        EvidenceError: No raw file is on record, so that there is no evidence to describe.
    """
    raws = {raw.sha256.hex: raw for raw in ledger.raw_files().values()}
    if not raws:
        raise EvidenceError(
            "the kit holds no evidence: no raw file is on record", hint="Export a kit that was measured."
        )
    contents = [(file.path, file.content) for file in kit.files]
    files = [_file(path, content, raws) for path, content in sorted([*contents, *pages])]
    paths = {str(entity["@id"]) for entity in files}
    claims = list(_claims(ledger, paths))
    silent = list(_not_measured(ledger))
    predicate = kit.lines[0].statement.predicate
    graph = [
        {"@id": CRATE_NAME, "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": PROFILE}},
        _root(kit, raws, files=files, claims=claims, silent=silent),
        _run(kit, raws, sorted(path for path in paths if path.startswith(RAW_FOLDER))),
        *_engine(predicate.get("engine")),
        *_model(predicate.get("model")),
        *files,
        *claims,
        *silent,
    ]
    return (json.dumps({"@context": CONTEXT, "@graph": graph}, indent=2, ensure_ascii=False) + "\n").encode()


def _root(
    kit: Content, raws: Mapping[str, RawFile], *, files: list[Entity], claims: list[Entity], silent: list[Entity]
) -> Entity:
    predicate = kit.lines[0].statement.predicate
    engine, model = predicate.get("engine"), predicate.get("model")
    pinned = f"{_text(engine, 'distribution')}=={_text(engine, 'version')}"
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{kit.statement.name}: kit and evidence",
        "description": f"How to serve {_text(model, 'name')} with {pinned}, and the raw files under every number that was "
        "measured with it. The weights and the engine are pinned, not packed.",
        "identifier": f"sha256:{kit.statement.subject}",
        "datePublished": max(raw.captured_at for raw in raws.values()),
        "license": {"@id": _LICENCE},
        "hasPart": _references(files),
        "variableMeasured": _references(claims),
        "comment": _references(silent),
        "mentions": {"@id": _RUN},
    }


def _run(kit: Content, raws: Mapping[str, RawFile], results: list[str]) -> Entity:
    environments = (line.statement.predicate.get("environment") for line in kit.lines[1:])
    where = [
        f"{name}: {text}" for said in environments if isinstance(said, dict) for name, text in sorted(said.items())
    ]
    captured = sorted(raw.captured_at for raw in raws.values())
    return {
        "@id": _RUN,
        "@type": "CreateAction",
        "name": "Start and measurement",
        "description": "; ".join(where) or "The environment is not on record.",
        "instrument": {"@id": _ENGINE},
        "object": {"@id": _MODEL},
        "result": [{"@id": path} for path in results],
        "startTime": captured[0],
        "endTime": captured[-1],
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }


def _engine(pin: Json) -> Iterator[Entity]:
    wheels = _entries(pin, "wheels")
    identifiers = [f"{_text(wheel, 'filename')} sha256:{_text(wheel, 'sha256')}" for wheel in wheels]
    yield {
        "@id": _ENGINE,
        "@type": "SoftwareApplication",
        "name": _text(pin, "distribution"),
        "softwareVersion": _text(pin, "version"),
        "alternateName": _text(pin, "engine"),
        "identifier": [*identifiers, *filter(None, (_text(pin, "image"),))],
    }


def _model(pin: Json) -> Iterator[Entity]:
    weights: list[Entity] = [
        {
            "@id": f"{_MODEL}/{_text(file, 'path')}",
            "@type": "MediaObject",
            "name": _text(file, "path"),
            "description": "pinned, not in this crate",
            "contentSize": _text(file, "size"),
            "sha256": _text(file, "sha256"),
        }
        for file in _entries(pin, "files")
    ]
    yield {
        "@id": _MODEL,
        "@type": "CreativeWork",
        "name": _text(pin, "name"),
        "description": f"{_text(pin, 'architecture')}, {_text(pin, 'weightsFormat')}, {_text(pin, 'parameters')} parameters",
        "license": {"@id": _LICENCE},
        "hasPart": _references(weights),
    }
    yield from weights
    yield {
        "@id": _LICENCE,
        "@type": "CreativeWork",
        "name": _text(pin, "licence") or "not stated",
        "description": "The licence of the model, as the package definition pins it.",
    }


def _file(path: str, content: bytes, raws: Mapping[str, RawFile]) -> Entity:
    digest = sha256(content).hexdigest()
    raw = raws.get(digest) if path.startswith(RAW_FOLDER) else None
    entity: Entity = {
        "@id": path,
        "@type": "File",
        "name": raw.name if raw else path,
        "encodingFormat": _format(raw.name if raw else path, content),
        "contentSize": str(len(content)),
        "sha256": digest,
    }
    return entity | ({"dateCreated": raw.captured_at, "description": f"written by: {raw.command}"} if raw else {})


def _claims(ledger: Ledger, paths: set[str]) -> Iterator[Entity]:
    standings = ledger.standings()
    for slug in sorted(standings):
        match standings[slug]:
            case Standing(claim=Claim() as claim):
                parameters = "".join(f" {name}={value}" for name, value in claim.extraction.parameters)
                raw = f"{RAW_FOLDER}{claim.raw}"
                yield _number(claim, standings[slug], paths) | {
                    "measurementTechnique": f"{claim.extraction.extractor}{parameters}",
                    "subjectOf": {"@id": raw},
                }
            case Standing(claim=Derived() as derived):
                yield _number(derived, standings[slug], paths) | {
                    "measurementTechnique": derived.rule,
                    "valueReference": [{"@id": _claim_id(source)} for source in derived.inputs],
                }
            case _:
                continue


def _number(claim: Claim | Derived, state: State, paths: set[str]) -> Entity:
    page = f"site/claims/{claim.slug}/index.html"
    flags = state.flags if isinstance(state, Standing) else ()
    entity: Entity = {
        "@id": _claim_id(claim.slug),
        "@type": "PropertyValue",
        "propertyID": claim.slug,
        "name": claim.label,
        "value": claim.value,
        "unitText": claim.unit,
    }
    if flags:
        entity["description"] = "; ".join(f"{flag.word}: {flag.event.reason}" for flag in flags)
    return entity | ({"mainEntityOfPage": {"@id": page}} if page in paths else {})


def _claim_id(slug: str) -> str:
    return f"#claim/{slug}"


def _not_measured(ledger: Ledger) -> Iterator[Entity]:
    said = {entry.record.topic: entry.record for entry in ledger.entries if isinstance(entry.record, NotMeasured)}
    for number, record in enumerate(said.values(), start=1):
        yield {
            "@id": f"#not-measured/{number}",
            "@type": "Comment",
            "name": f"Not measured: {record.topic}",
            "text": record.why,
        }


def _format(name: str, content: bytes) -> str:
    if name == "Dockerfile" or name.startswith("LICENSE"):
        return "text/plain"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "application/octet-stream"
    return _FORMATS.get(PurePosixPath(name).suffix, "text/plain")


def _references(entities: Iterable[Entity]) -> list[Entity]:
    return [{"@id": entity["@id"]} for entity in entities]


def _text(value: Json, name: str) -> str:
    """Read a member of a signed pin as text, ``""`` where there is none: the pins describe, and are not checked again."""
    member = value.get(name) if isinstance(value, dict) else None
    return "" if member is None or isinstance(member, dict | list) else str(member)


def _entries(value: Json, name: str) -> list[Json]:
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, list) else []
