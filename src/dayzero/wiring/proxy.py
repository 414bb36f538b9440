"""Make a rehearsal model from a whole one's configuration, and say what of the whole is in it."""

from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.new_folder import write_new_folder
from dayzero.core.quantities import Bytes
from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.checkpoint import Checkpoint, Unknown
from dayzero.proxy.files import model_files
from dayzero.proxy.kinds import Kind, kinds_of
from dayzero.proxy.shrink import Shrunk, shrink
from dayzero.wiring.audit import model_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A rehearsal model.

    Attributes:
        folder: Where it is.
        shrunk: Its configuration.
        files: Paths and sizes of its files.
        size, of_size: What the engine will hold of weights, and the whole model's; ``None`` where they cannot be told.
        kinds: The kinds of layer of the whole model; empty where they cannot be told.
        unknown: Why sizes and kinds cannot be told, ``""`` where they can.
    """

    folder: Path
    shrunk: Shrunk
    files: tuple[tuple[str, Bytes], ...]
    size: Bytes | None
    of_size: Bytes | None
    kinds: tuple[Kind, ...]
    unknown: str

    @property
    def missing(self) -> tuple[Kind, ...]:
        """The kinds of which the rehearsal model has no layer."""
        return tuple(kind for kind in self.kinds if kind.first >= self.shrunk.layers)


def make_proxy(model: str, layers: int, folder: Path, *, offline: bool = False) -> Made:
    """Write a model of fewer layers and no weights into a new folder.

    Args:
        model: The whole model's ``config.json``, its folder or its name on the hub.
        layers: Layers to keep.
        folder: A folder that is not there yet.
        offline: Whether the hub must not be asked.

    Raises:
        InputError: The configuration is none, the layers cannot be kept, or the folder is there.
        RemoteError: The hub did not answer, or the disk refused.
    """
    whole = model_of(model, offline=offline)
    shrunk = shrink(whole, layers)
    files = model_files(shrunk.config)
    before, after = checkpoint_of(whole, model), checkpoint_of(shrunk.config, model)
    write_new_folder(folder, [(name, content, False) for name, content in files.items()])
    told = isinstance(before, Checkpoint) and isinstance(after, Checkpoint)
    return Made(
        folder=folder,
        shrunk=shrunk,
        files=tuple((name, Bytes(len(content))) for name, content in files.items()),
        size=after.size if isinstance(after, Checkpoint) else None,
        of_size=before.size if isinstance(before, Checkpoint) else None,
        kinds=kinds_of((one.name, f"{one.dtype} {one.shape} {one.count}", one.stored.count) for one in before.tensors)
        if isinstance(before, Checkpoint)
        else (),
        unknown="" if told else _why(before, after),
    )


def _why(*found: Checkpoint | Unknown) -> str:
    return next(one.reason for one in found if isinstance(one, Unknown))
