"""What a model on this disk stores: a folder, one file of weights, an index, or a ``config.json`` alone."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from dayzero.adapters.safetensors_header import Entry, read_safetensors_header
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import FilePin
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place
from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.checkpoint import Basis, Checkpoint, Tensor, Unknown

GgufReader: TypeAlias = Callable[[Path], tuple[Tensor, ...]]
"""Lists the tensors of a GGUF file; an engine that serves GGUF knows how."""

_CONFIG, _QUANTISATION, _ADAPTER = "config.json", "hf_quant_config.json", "adapter_config.json"
_INDEX_SUFFIX, _WEIGHTS_SUFFIX, _GGUF_SUFFIX = ".safetensors.index.json", ".safetensors", ".gguf"
_EXPERT = re.compile(r"(?<=\.experts\.)\d+(?=\.)")
_HINT = "Give a folder of a model, a safetensors or GGUF file, a *.safetensors.index.json, or a config.json."
_OFF_BY = 0.001  # an index's total beyond this is told


def read_checkpoint(path: Path, gguf: GgufReader | None = None) -> Checkpoint | Unknown:
    """List what a model stores, from the strongest source that is there: headers, else an index, else the configuration.

    Args:
        path: A folder, ``*.safetensors``, ``*.gguf``, ``*.safetensors.index.json``, or any other ``*.json`` as a configuration.
        gguf: Reads GGUF files.

    Raises:
        InputError: A file is missing, torn or contradicts itself; the message names it.
    """
    if path.is_dir():
        return _of_folder(path, gguf)
    if not path.is_file():
        raise InputError(f"{path} does not exist", hint=_HINT)
    if path.name.endswith(_INDEX_SUFFIX):
        return _of_index(path)
    if path.suffix == _WEIGHTS_SUFFIX:
        return _of_shards((path,), _config_beside(path.parent), source=path)
    if path.suffix == _GGUF_SUFFIX:
        return _of_gguf((path,), gguf, source=path)
    if path.suffix == ".json":
        return checkpoint_of(_object(path), str(path))
    raise InputError(f"{path} is none of the files that say what a model stores", hint=_HINT)


def read_pinned_checkpoint(
    pins: Iterable[FilePin], folder: Path, gguf: GgufReader | None = None
) -> Checkpoint | Unknown:
    """List what the pinned files of a package store; files of the folder that are not pinned are not looked at.

    Raises:
        InputError: A pinned file is not in the folder, or see :func:`read_checkpoint`.
        IntegrityError: A file does not have the size that is pinned.
    """
    paths = [folder / pin.path for pin in pins if _held_to_size(folder / pin.path, pin)]
    weights = tuple(sorted(path for path in paths if path.suffix == _WEIGHTS_SUFFIX))
    if weights:
        return _of_shards(weights, _config_beside(folder), source=folder)
    quantised = tuple(sorted(path for path in paths if path.suffix == _GGUF_SUFFIX))
    if quantised:
        return _of_gguf(quantised, gguf, source=folder)
    configs = [path for path in paths if path.name == _CONFIG]
    if configs:
        return checkpoint_of(_object(configs[0]), str(configs[0]))
    raise InputError(f"none of the files pinned for {folder} says what the model stores", hint=_HINT)


def _held_to_size(path: Path, pin: FilePin) -> bool:
    if not path.is_file():
        raise InputError(f"{path} is pinned and not there", hint="Put the pinned weights into the folder first.")
    size = path.stat().st_size
    if size != pin.size.count:
        raise IntegrityError(
            f"{path} has {size} bytes instead of the pinned {pin.size.count}", hint="Delete it and fetch it again."
        )
    return True


def _of_folder(folder: Path, gguf: GgufReader | None) -> Checkpoint | Unknown:
    if (folder / _ADAPTER).is_file() and not (folder / _CONFIG).is_file():
        base = _object(folder / _ADAPTER).get("base_model_name_or_path") or "which its model card names"
        raise InputError(f"{folder} holds an adapter, not a model", hint=f"Give the folder of its base model, {base}.")
    indices = sorted(folder.glob(f"*{_INDEX_SUFFIX}"))
    if len(indices) > 1:
        names = ", ".join(index.name for index in indices)
        raise InputError(f"{folder} has several indices: {names}", hint="Give the path of the one that is meant.")
    if indices:
        return _of_indexed_shards(folder, indices[0])
    weights = sorted(folder.glob(f"*{_WEIGHTS_SUFFIX}"))
    # Mistral's own format lies beside the same weights in the usual one.
    weights = [path for path in weights if not path.name.startswith("consolidated")] or weights
    if weights:
        return _of_shards(tuple(weights), _config_beside(folder), source=folder)
    quantised = tuple(sorted(folder.glob(f"*{_GGUF_SUFFIX}")))
    if quantised:
        return _of_gguf(quantised, gguf, source=folder)
    if (folder / _CONFIG).is_file():
        return checkpoint_of(_config_beside(folder), str(folder / _CONFIG))
    raise InputError(f"{folder} holds neither weights nor a {_CONFIG}", hint=_HINT)


def _of_indexed_shards(folder: Path, index: Path) -> Checkpoint:
    weight_map, stated = _read_index(index)
    shards = tuple(folder / name for name in sorted(set(weight_map.values())))
    for shard in shards:
        if not shard.is_file():
            raise InputError(
                f"{index} names the shard {shard.name}, which is not there",
                hint="Fetch the shard, or give the index itself to go by it and config.json.",
            )
    return _noted(_of_shards(shards, _config_beside(folder), source=folder, placed=weight_map), stated, index)


def _of_shards(
    shards: tuple[Path, ...], config: Mapping[str, object], *, source: Path, placed: Mapping[str, str] | None = None
) -> Checkpoint:
    seen: dict[str, Path] = {}
    sums: dict[tuple[str, str, tuple[int, ...]], tuple[int, int]] = {}
    for shard in shards:
        entries = read_safetensors_header(shard)
        for name in entries.keys() & seen.keys():
            raise InputError(f"{name} is in {seen[name].name} and in {shard.name}", hint="Keep one of both files.")
        seen.update(dict.fromkeys(entries, shard))
        _add(sums, entries)
    for name, shard_name in (placed or {}).items():
        if name not in seen or seen[name].name != shard_name:
            raise InputError(
                f"the index places {name} in {shard_name}, which does not hold it", hint="Fetch index and shards again."
            )
    tensors = tuple(
        Tensor(name=name, shape=shape, dtype=dtype, stored=Bytes(size), count=count)
        for (name, dtype, shape), (size, count) in sums.items()
    )
    return Checkpoint(tensors=tensors, config=config, basis=Basis.HEADERS, source=str(source), shards=len(shards))


def _add(sums: dict[tuple[str, str, tuple[int, ...]], tuple[int, int]], entries: Mapping[str, Entry]) -> None:
    """Count equal tensors of the experts of one layer together."""
    for name, entry in entries.items():
        shared = _EXPERT.sub("*", name) if ".experts." in name else name
        key = (shared, entry.dtype, entry.shape)
        size, count = sums.get(key, (0, 0))
        begin, end = entry.data_offsets
        sums[key] = (size + end - begin, count + 1)


def _of_index(index: Path) -> Checkpoint | Unknown:
    """Go by the names of an index and its total: shapes and types are those that the configuration leads to."""
    weight_map, stated = _read_index(index)
    config = _config_beside(index.parent)
    if not config:
        reason = "an index names tensors without their shapes, and there is no config.json beside it"
        return Unknown(reason=reason, place=Place(artifact="", file=str(index)))
    told = checkpoint_of(config, str(index))
    if isinstance(told, Unknown):
        return told
    named = {_EXPERT.sub("*", name) for name in weight_map}
    strange = sorted(named ^ {tensor.name for tensor in told.tensors})
    if strange:
        where = "the index alone" if strange[0] in named else "the configuration alone"
        reason = f"index and configuration name different tensors; {len(strange)} differ: {strange[0]} is in {where}"
        return Unknown(reason=reason, place=Place(artifact="", file=str(index)))
    shards = len(set(weight_map.values()))
    return _noted(replace(told, basis=Basis.INDEX, shards=shards), stated, index)


def _noted(checkpoint: Checkpoint, stated: Bytes | None, index: Path) -> Checkpoint:
    if stated is None:
        return checkpoint
    notes, size = checkpoint.notes, checkpoint.size
    if abs(stated.count - size.count) > _OFF_BY * size.count:
        notes += (f"{index.name} states {stated}; the tensors have {size}",)
    return replace(checkpoint, notes=notes, stated=stated)


def _read_index(index: Path) -> tuple[dict[str, str], Bytes | None]:
    document = _object(index)
    weight_map = document.get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise InputError(f"{index} has no weight_map", hint="Fetch the index again.")
    for name, shard in weight_map.items():
        if not isinstance(shard, str) or Path(shard).name != shard or not shard.endswith(_WEIGHTS_SUFFIX):
            raise InputError(
                f"{index} places {name} in {shard!r:.80}, no file beside it", hint="Fetch the index again."
            )
    metadata = document.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, float) and total.is_integer():
        total = int(total)
    stated = Bytes(total) if isinstance(total, int) and not isinstance(total, bool) and total >= 0 else None
    return weight_map, stated


def _of_gguf(paths: tuple[Path, ...], gguf: GgufReader | None, *, source: Path) -> Checkpoint | Unknown:
    if gguf is None:
        return Unknown(reason="no engine that reads GGUF is here", place=Place(artifact="", file=str(source)))
    tensors = tuple(tensor for path in paths for tensor in gguf(path))
    return Checkpoint(tensors=tensors, config={}, basis=Basis.HEADERS, source=str(source), shards=len(paths))


def _config_beside(folder: Path) -> Mapping[str, object]:
    """Read the configuration of a folder, with the quantisation that modelopt writes into a file of its own."""
    path, separate = folder / _CONFIG, folder / _QUANTISATION
    if not path.is_file():
        return {}
    config = _object(path)
    if "quantization_config" not in config and separate.is_file():
        config["quantization_config"] = {"quant_method": "modelopt", **_object(separate)}
    return config


def _object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint=_HINT) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}", hint="Fetch it again.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is no JSON object", hint="Fetch it again.")
    return content
