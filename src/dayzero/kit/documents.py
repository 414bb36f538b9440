"""The files of a kit that follow from the launch and the package: launch, locks and manifest."""

import json
from collections.abc import Iterable

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec
from dayzero.core.pins import FilePin, WheelPin
from dayzero.kit.model import KitFile

LAUNCH_SCHEMA = "dayzero/launch/v1"
MANIFEST_SCHEMA = "dayzero/kit-manifest/v1"


def launch_json(spec: LaunchSpec) -> str:
    """Write the launch, the source that every deploy file in the kit was rendered from."""
    return _json(
        {
            "schema": LAUNCH_SCHEMA,
            "name": spec.name,
            "argv": list(spec.argv),
            "env": [list(pair) for pair in spec.env],
            "distribution": spec.distribution,
            "wheels": [{"filename": wheel.filename, "sha256": wheel.sha256.hex} for wheel in spec.wheels],
            "image": spec.image,
            "model_files": [pin_document(file) for file in spec.model_files],
            "port": spec.port,
            "health_path": spec.health_path,
            "accelerators": spec.accelerators,
            "memory_bytes": spec.memory_bytes,
            "start_budget_s": spec.start_budget_s,
            "stop_budget_s": spec.stop_budget_s,
        }
    )


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
