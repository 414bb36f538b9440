"""Say what this process measures with: the GPU, the versions, and whether the engine's files are those that its wheel recorded."""

import base64
import csv
import hashlib
import importlib.metadata
import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

_PROBED = ("torch", "triton", "numpy", "vllm", "flashinfer-python", "nvidia-nccl-cu13", "nvidia-nccl-cu12")
_HOSTS = {"NCCL_COMM_ID", "NCCL_HOSTID"}  # they name machines
_LIBRARIES = Path("/proc/self/maps")


def describe() -> dict[str, Any]:
    """Say which Python, libraries and GPU this is."""
    told: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "versions": {name: version for name in _PROBED if (version := _version(name))},
        "gpus": [],
        "nccl": {
            name: os.environ[name] for name in sorted(os.environ) if name.startswith("NCCL_") and name not in _HOSTS
        },
    }
    try:
        import torch  # noqa: PLC0415  (where there is one)
    except ImportError:
        return told
    told["versions"]["torch"] = torch.__version__  # with its local part, which names the CUDA that it was built for
    told["cuda"] = torch.version.cuda or ""
    if torch.cuda.is_available():
        told["versions"]["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
        told["gpus"] = [_gpu(torch.cuda.get_device_properties(index)) for index in range(torch.cuda.device_count())]
    return told


def _gpu(facts: Any) -> dict[str, Any]:  # noqa: ANN401  (torch comes without types here)
    return {
        "name": facts.name,
        "sm": facts.major * 10 + facts.minor,
        "memory_bytes": facts.total_memory,
        "uuid": str(getattr(facts, "uuid", "")),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def loaded_files(package: str) -> dict[str, Any]:
    """Compare the files of a distribution that this process has loaded with what its wheel recorded.

    Returns:
        ``version``; ``record_sha256``: digest of what the wheel recorded, as sorted lines ``PATH sha256=DIGEST`` without
        the folder of its metadata; ``checked``: how many loaded files were compared; ``differ``: those that are others.
    """
    try:
        found = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return {"package": package, "version": "", "record_sha256": "", "checked": 0, "differ": []}
    kept, record_sha256 = recorded(package)
    root = Path(str(found.locate_file("")))
    checked = sorted(path for path in _loaded(root) if path in kept)
    return {
        "package": package,
        "version": found.version,
        "record_sha256": record_sha256,
        "checked": len(checked),
        "differ": [path for path in checked if digest_of(root / path) != kept[path]],
    }


@cache
def recorded(package: str) -> tuple[dict[str, str], str]:
    """Read the digests that the wheel recorded, and the digest of them all."""
    text = importlib.metadata.distribution(package).read_text("RECORD") or ""
    rows = (row for row in csv.reader(text.splitlines()) if len(row) > 1 and row[1])
    kept = {row[0]: row[1] for row in rows if ".dist-info/" not in row[0] and not row[0].startswith("..")}
    lines = "".join(f"{path} {digest}\n" for path, digest in sorted(kept.items()))
    return kept, hashlib.sha256(lines.encode()).hexdigest() if kept else ""


def _loaded(root: Path) -> set[str]:
    files = {getattr(module, "__file__", None) or "" for module in tuple(sys.modules.values())}
    if _LIBRARIES.exists():
        lines = _LIBRARIES.read_text(encoding="utf-8").splitlines()
        files |= {line.split(maxsplit=5)[-1] for line in lines if ".so" in line}
    inside = (Path(name) for name in files if name.startswith(str(root)))
    return {str(path.relative_to(root)) for path in inside}


@cache
def digest_of(path: Path) -> str:
    """Write the digest of a file as wheels record it."""
    with path.open("rb") as stream:
        raw = hashlib.file_digest(stream, "sha256").digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
