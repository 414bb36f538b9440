"""Write ``saved.json``: what transformers stores for each small model, under the names that it stores.

Runs in an environment with transformers and torch: ``python record_saved.py saved.json``.
"""

import json
import re
import struct
import sys
import tempfile
from pathlib import Path

import torch
import transformers

sys.path.insert(0, str(Path(__file__).parent))
from small_models import SMALL_MODELS

_EXPERT = re.compile(r"\.experts\.\d+\.")


def _headers(folder: Path) -> dict[str, list[object]]:
    tensors: dict[str, list[object]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        content = path.read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        for name, entry in json.loads(content[8 : 8 + length]).items():
            if name == "__metadata__":
                continue
            key = _EXPERT.sub(".experts.*.", name)
            known = tensors.setdefault(key, [entry["dtype"], entry["shape"], 0])
            if known[:2] != [entry["dtype"], entry["shape"]]:
                raise SystemExit(f"experts differ: {name}")
            known[2] = int(known[2]) + 1  # type: ignore[call-overload]
    return tensors


def _saved(config: dict[str, object]) -> dict[str, object]:
    of_type = transformers.CONFIG_MAPPING[str(config["model_type"])]
    model_class = getattr(transformers, str(config["architectures"][0]))  # type: ignore[index]
    with torch.device("cpu"):
        model = model_class(of_type.from_dict(dict(config))).to(torch.bfloat16)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        written = json.loads(Path(folder, "config.json").read_text())
        return {"config": written, "tensors": _headers(Path(folder))}


def main() -> None:
    only = sys.argv[2:]
    records = {}
    for name, config in SMALL_MODELS.items():
        if only and name not in only:
            continue
        records[name] = _saved(config)
    lines = (f"{json.dumps(name)}: {json.dumps(record, sort_keys=True)}" for name, record in records.items())
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
