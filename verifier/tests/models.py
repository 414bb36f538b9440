"""Make small models on disk: shards, an index, configuration, and the pins of all of them."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from dayzero_verify.statement import ModelFile

INDEX = "model.safetensors.index.json"


def header_of(tensors: dict[str, int], *, metadata: bool = True) -> dict[str, object]:
    """Describe tensors of so many float32 each, one behind the other."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}} if metadata else {}
    at = 0
    for name, count in tensors.items():
        entries[name] = {"dtype": "F32", "shape": [count], "data_offsets": [at, at + 4 * count]}
        at += 4 * count
    return entries


def shard(header: object, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return len(text).to_bytes(8, "little") + text + data


def whole_shard(tensors: dict[str, int], *, seed: int = 1) -> bytes:
    return shard(header_of(tensors), bytes([seed]) * (4 * sum(tensors.values())))


def header_digest(content: bytes) -> str:
    return sha256(content[: 8 + int.from_bytes(content[:8], "little")]).hexdigest()


@dataclass(frozen=True)
class Model:
    """A model on disk and its pins."""

    folder: Path
    files: tuple[ModelFile, ...]

    def path(self, number: int) -> Path:
        return self.folder / name_of(number)


def name_of(number: int) -> str:
    return f"model-0000{number}-of-00003.safetensors"


def pin(path: str, content: bytes) -> ModelFile:
    header = header_digest(content) if path.endswith(".safetensors") else ""
    return ModelFile(path=path, size=len(content), sha256=sha256(content).hexdigest(), header_sha256=header)


def contents() -> dict[str, bytes]:
    shards = {name_of(number): {f"a.{number}.{part}": 3 + part for part in range(2)} for number in (1, 2, 3)}
    weight_map = {tensor: shard for shard, tensors in shards.items() for tensor in tensors}
    return {
        "config.json": b'{"model_type": "small"}',
        INDEX: json.dumps({"metadata": {"total_size": 84}, "weight_map": weight_map}).encode(),
        **{path: whole_shard(tensors) for path, tensors in shards.items()},
    }


def put(folder: Path, files: dict[str, bytes] | None = None) -> Model:
    """Write a model and pin it as it is."""
    files = contents() if files is None else files
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return Model(folder, tuple(pin(path, content) for path, content in files.items()))
