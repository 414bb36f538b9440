"""The files of a kit that follow from the launch and the package: launch, locks and manifest."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from dayzero.core.errors import InputError
from dayzero.core.launch import HubModel, LaunchSpec, LocalModel, ModelSource, Placeholder, Word
from dayzero.core.pins import FilePin, Sha256, WheelPin
from dayzero.kit.model import KitFile

LAUNCH_SCHEMA = "dayzero/launch/v2"
MANIFEST_SCHEMA = "dayzero/kit-manifest/v1"


def launch_json(spec: LaunchSpec) -> str:
    """Write the launch, the source that every deploy file in the kit was rendered from, member by member."""
    source = spec.source
    return _json(
        {
            "schema": LAUNCH_SCHEMA,
            "name": spec.name,
            "argv": list(spec.argv),
            "env": [list(pair) for pair in spec.env],
            "distribution": spec.distribution,
            "wheels": [{"filename": wheel.filename, "sha256": wheel.sha256.hex} for wheel in spec.wheels],
            "lock": Sha256.of(spec.lock.encode()).hex if spec.lock else "",
            "image": spec.image,
            "source": None if source is None else {"repository": source.repository, "commit": source.commit.hex},
            "model": _model(spec.model),
            "port": spec.port,
            "health_path": spec.health_path,
            "ready_path": spec.ready_path,
            "accelerator": spec.accelerator,
            "accelerators": spec.accelerators,
            "memory_bytes": spec.memory_bytes,
            "shared_memory_bytes": spec.shared_memory_bytes,
            "nodes": {
                "count": spec.nodes.count,
                "leader": list(map(_word, spec.nodes.leader)),
                "worker": list(map(_word, spec.nodes.worker)),
            },
            "budgets": asdict(spec.budgets),
            "site": asdict(spec.site),
        }
    )


def _model(model: ModelSource) -> dict[str, object]:
    files = [pin_document(file) for file in model.files]
    match model:
        case LocalModel():
            return {"from": "folder", "files": files}
        case HubModel():
            return {
                "from": "hub",
                "repository": model.repository,
                "revision": model.revision.hex,
                "tokenizer_revision": model.tokenizer_revision.hex,
                "code_revision": model.code_revision.hex,
                "files": files,
            }


def _word(word: Word) -> str | dict[str, str]:
    return {"placeholder": word.value} if isinstance(word, Placeholder) else word


def requirements_of(spec: LaunchSpec) -> str:
    """Give the requirements that the environment is made of: the launch's own lock, else its wheels with their hashes.

    Raises:
        InputError: A file name is not a wheel's.
    """
    return spec.lock or requirements_lock(spec.wheels)


def requirements_lock(wheels: tuple[WheelPin, ...]) -> str:
    """Write pip's requirements with hashes: one entry a version, one hash a wheel.

    Raises:
        InputError: A file name is not a wheel's.
    """
    hashes: dict[str, set[str]] = {}
    for wheel in wheels:
        try:
            name, version, _, _ = parse_wheel_filename(wheel.filename)
        except InvalidWheelFilename as error:
            raise InputError(
                f"not the file name of a wheel: {wheel.filename!r}", hint="Pin wheels by file name."
            ) from error
        hashes.setdefault(f"{name}=={version}", set()).add(wheel.sha256.hex)
    entries = (
        [requirement, *(f"    --hash=sha256:{digest}" for digest in sorted(digests))]
        for requirement, digests in sorted(hashes.items())
    )
    head = "# Install with: pip install --require-hashes --no-deps -r requirements.lock\n"
    return head + "".join(" \\\n".join(entry) + "\n" for entry in entries)


def model_sums(files: tuple[FilePin, ...]) -> str:
    """Write the digests of the weights for ``sha256sum --check``, from the folder that holds ``model/``."""
    return "".join(f"{file.sha256}  model/{file.path}\n" for file in sorted(files, key=lambda file: file.path))


def manifest_json(name: str, version: str, files: Iterable[KitFile]) -> str:
    """Write the list of all other files; the signed statement repeats it, and that one is the one to believe."""
    ordered = sorted(files, key=lambda file: file.path)
    return _json(
        {
            "schema": MANIFEST_SCHEMA,
            "kit": {"name": name, "version": version},
            "files": [file.document() for file in ordered],
        }
    )


def pin_document(file: FilePin) -> dict[str, object]:
    """Give a pinned file as JSON members."""
    return {"path": file.path, "size": file.size.count, "sha256": file.sha256.hex}


def _json(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
