"""Read the launches that one file describes."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from dayzero.audit.recipes import shapes
from dayzero.audit.recipes.context import of_path
from dayzero.audit.recipes.model import Launch, NoRecipe
from dayzero.audit.recipes.tree import Table, documents

_STRUCTURED = {".yaml", ".yml", ".json"}
_SHELL = {".sh", ".bash", ".sbatch", ".slurm"}
_NONE = "no command, image or settings of an engine in it"


def read(path: str, text: str) -> tuple[Launch, ...] | NoRecipe:
    """Read one file.

    Args:
        path: Its path in the repository, ``/`` between folders: versions and kinds of GPU stand there.
        text: Its content.
    """
    suffix = PurePosixPath(path).suffix.lower()
    try:
        if suffix in _STRUCTURED:
            found = tuple(_structured(path, text, as_json=suffix == ".json"))
        elif suffix in _SHELL or (text.startswith("#!") and "sh" in text.split("\n", 1)[0]):
            found = tuple(shapes.of_script(text, 1, of_path(path)))
        else:
            return NoRecipe(f"files called {suffix or PurePosixPath(path).name} are not read")
    except ValueError as error:
        return NoRecipe(f"it cannot be parsed: {' '.join(str(error).split())}")
    except RecursionError:
        return NoRecipe("it cannot be parsed: it is nested too deeply")
    return _distinct(found) or NoRecipe(_NONE)


def _structured(path: str, text: str, *, as_json: bool) -> Iterator[Launch]:
    for document in documents(text, as_json=as_json):
        outer = of_path(path)
        settings = shapes.of_settings(document, outer) if isinstance(document, Table) else None
        if settings is not None:
            yield settings
        else:
            yield from shapes.launches(document, outer)


def _distinct(found: tuple[Launch, ...]) -> tuple[Launch, ...]:
    """Leave out what a file says twice, as a list of words and as one text, say; where it stands first, it stays."""
    kept: dict[object, Launch] = {}
    for one in found:
        words = tuple(word.text for word in one.flags)
        kept.setdefault((one.code, one.model, words, one.env, one.system, one.gaps), one)
    return tuple(kept.values())
