"""The plug-in: FlashInfer's name, who carries it, and how its table of number types is read."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.audit.python_source import Module, sources
from dayzero.core.verdict import Place

_TABLE = "DtypeTrtllmGen"
# How the members of that enumeration are called in package definitions; the others by their own names, in small letters.
_CALLED: Mapping[str, str] = {
    "Bfloat16": "bf16",
    "Fp16": "f16",
    "Fp32": "f32",
    "E4m3": "fp8_e4m3",
    "E5m2": "fp8_e5m2",
    "E2m1": "nvfp4",
    "MxE2m1": "mxfp4",
    "MxE4m3": "mxfp8",
}


@dataclass(frozen=True, slots=True)
class FlashInferLibrary:
    """FlashInfer, as a distribution of its own beside the engine."""

    name: str = "flashinfer"
    distribution: str = "flashinfer-python"

    def read_tensor_types(self, files: BuildFiles) -> Facts:
        """Read which number types its kernels for matrices are made for: the members of ``DtypeTrtllmGen``."""
        found = [
            (module, node)
            for module in sources([files], f"class {_TABLE}").modules
            for node in module.tree.body
            if isinstance(node, ast.ClassDef) and node.name == _TABLE
        ]
        if len(found) != 1:
            count = "no" if not found else f"{len(found)} times the"
            return Unread(noun="tensor type", reason=f"{count} enumeration {_TABLE} in {files.artifact}")
        module, node = found[0]
        return FactTable(noun="tensor type", entries=tuple(_members(module, node)), place=module.place(node.lineno))


def _members(module: Module, node: ast.ClassDef) -> Iterator[tuple[str, Place]]:
    for one in node.body:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield _CALLED.get(name, name.lower()), module.place(one.lineno)
            case _:
                continue
