"""What every target that runs in a container shares: folders, user, image, the address it listens on, ``$`` doubled."""

from dayzero.core.errors import InputError
from dayzero.core.launch import Delta, LaunchSpec
from dayzero.targets.yaml_text import Node, entries, string

WORK_FOLDER = "/srv/dayzero"
MODEL_FOLDER = f"{WORK_FOLDER}/model"
USER_ID = 10001
ALL_ADDRESSES = "0.0.0.0"  # noqa: S104  (inside the container; what is published outside is each target's decision)


def image_reference(spec: LaunchSpec) -> str:
    """Name the image: the pinned one, else the one that the Dockerfile makes, under a name that no registry answers to."""
    return spec.image or f"localhost/{spec.name}:built-from-this-kit"


def host_deltas(spec: LaunchSpec, *, who: str) -> tuple[Delta, ...]:
    """Declare that the engine listens on every address of its container.

    Args:
        spec: The launch.
        who: Who has to reach it from outside the container's loopback.
    """
    if "--host" in spec.argv[:-1] and spec.argv[spec.argv.index("--host") + 1] == ALL_ADDRESSES:
        return ()
    return (
        Delta(
            flag="--host",
            value=ALL_ADDRESSES,
            why=f"inside a container the loopback address is the container's own; {who} could not reach the engine",
        ),
    )


def doubled(text: str) -> str:
    """Write text for a format that expands ``$``: each ``$`` twice."""
    return text.replace("$", "$$")


def undoubled(text: str, where: str) -> str:
    """Undo :func:`doubled`.

    Raises:
        InputError: A ``$`` stands alone, so the format would expand it.
    """
    if "$" in text.replace("$$", ""):
        raise InputError(f"{where} has a $ that would be expanded: {text!r}", hint="Render the file again.")
    return text.replace("$$", "$")


def words(node: Node, where: str) -> tuple[str, ...]:
    """Read a list of doubled words."""
    return tuple(
        undoubled(string(word, f"{where} {index}"), f"{where} {index}")
        for index, word in enumerate(entries(node, where))
    )


def header(spec: LaunchSpec, deltas: tuple[Delta, ...]) -> str:
    """Write the comment at the top of a deploy file: what it is, and each declared difference with its reason."""
    lines = [
        f"# {spec.name}, served by {spec.distribution}. Written by dayzero from one launch and parsed back equal to it.",
        "# It belongs in the unpacked kit, beside requirements.lock, model.sha256 and model/.",
        *(f"# Declared difference: {delta.flag} {delta.value} ({delta.why})." for delta in deltas),
    ]
    return "\n".join(lines) + "\n"
