"""The plug-in: ggml's name and how its tables are read."""

from dataclasses import dataclass

from dayzero.audit.model import Facts
from dayzero.audit.ports import BuildFiles
from dayzero.kernels.ggml.facts import read_tensor_types


@dataclass(frozen=True, slots=True)
class GgmlLibrary:
    """ggml, as it is built into a wheel's shared objects."""

    name: str = "ggml"
    distribution: str = ""

    def read_tensor_types(self, files: BuildFiles) -> Facts:
        """Read which storage types the library computes with, named as GGUF files name them (``f32``, ``mxfp4``)."""
        return read_tensor_types(files)
