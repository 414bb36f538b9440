"""What every target that runs in a container shares: folders, user, image, the address it listens on, ``$`` doubled."""

from dayzero.core.errors import InputError
from dayzero.core.launch import AddedVariable, Delta, HubModel, LaunchSpec, LocalModel, Replaced, Word, node_deltas
from dayzero.targets.yaml_text import Node, entries, string

WORK_FOLDER = "/srv/dayzero"
# The slowest disk on which weights are checked before a start.
_CHECKED_BYTES_S = 100_000_000
MODEL_FOLDER = f"{WORK_FOLDER}/model"
HUB_FOLDER = f"{WORK_FOLDER}/hub"
HUB_VARIABLE = "HF_HOME"  # huggingface_hub 1.0, constants.py: the folder that holds hub/, the token and the locks
USER_ID = 10001
USER_NAME = "dayzero"
WRITABLE_FOLDER = "/tmp"  # noqa: S108  (of the container, or private to the service)
_HOME_VARIABLE = "HOME"
# What Python's getpass.getuser() asks for, in this order, before it asks the list of users (CPython 3.11, Lib/getpass.py).
_NAME_VARIABLES = ("LOGNAME", "USER", "LNAME", "USERNAME")
ALL_ADDRESSES = "0.0.0.0"  # noqa: S104  (inside the container; what is published outside is each target's decision)


def image_reference(spec: LaunchSpec) -> str:
    """Name the image: the pinned one, else the one that the Dockerfile makes, under a name that no registry answers to."""
    return spec.image or f"localhost/{spec.name}:built-from-this-kit"


def check_s(spec: LaunchSpec) -> int:
    """Give the seconds that the check of the weights may take before a start; 0 for weights that the engine fetches."""
    match spec.model:
        case LocalModel(files=files):
            return -(-sum(file.size.count for file in files) // _CHECKED_BYTES_S)
        case HubModel():
            return 0


def host_deltas(spec: LaunchSpec, *, who: str) -> tuple[Delta, ...]:
    """Declare that the engine listens on every address of its container.

    Args:
        spec: The launch.
        who: Who has to reach it from outside the container's loopback.
    """
    if "--host" in spec.argv[:-1] and spec.argv[spec.argv.index("--host") + 1] == ALL_ADDRESSES:
        return ()
    return (
        Replaced(
            flag="--host",
            value=ALL_ADDRESSES,
            why=f"inside a container the loopback address is the container's own; {who} could not reach the engine",
        ),
    )


def hub_deltas(spec: LaunchSpec, folder: str = HUB_FOLDER) -> tuple[Delta, ...]:
    """Declare the variable that tells the engine where the hub's cache is, for weights that it fetches itself.

    Args:
        spec: The launch.
        folder: The cache as the engine sees it: :data:`HUB_FOLDER` in a container, the host's own path elsewhere.
    """
    if isinstance(spec.model, LocalModel):
        return ()
    why = "the engine keeps what it fetches from the hub in the folder that this site gives it"
    return (AddedVariable(name=HUB_VARIABLE, value=folder, why=why),)


def home_deltas(spec: LaunchSpec, *, why: str) -> tuple[Delta, ...]:
    """Declare a home that the engine's libraries can write their caches into, where the launch names none.

    Args:
        spec: The launch.
        why: What home the engine would have else.
    """
    if _HOME_VARIABLE in dict(spec.env):
        return ()
    return (AddedVariable(name=_HOME_VARIABLE, value=WRITABLE_FOLDER, why=why),)


def user_deltas(spec: LaunchSpec) -> tuple[Delta, ...]:
    """Declare the home and the name of the user, who is in no list of users of a pinned image.

    An image that is built from the kit knows the user, and its home is his own.
    """
    if not spec.image:
        return ()
    home = home_deltas(
        spec, why=f"the pinned image knows no user {USER_ID}, so his home would be /, which he cannot write"
    )
    if set(_NAME_VARIABLES) & set(dict(spec.env)):
        return home
    why = f"the pinned image knows no user {USER_ID}, and libraries that ask for his name would fail"
    return (*home, AddedVariable(name="USER", value=USER_NAME, why=why))


def container_deltas(spec: LaunchSpec, *, who: str) -> tuple[Delta, ...]:
    """Declare all that a file differs in which runs the engine in containers: address, cache, user, words of several nodes.

    Args:
        spec: The launch.
        who: Who has to reach the engine from outside the container's loopback.
    """
    return (*host_deltas(spec, who=who), *hub_deltas(spec), *user_deltas(spec), *node_deltas(spec))


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


def literal(words: tuple[Word, ...]) -> tuple[str, ...]:
    """Take the words of a launch on one node, where none is left to the cluster."""
    return tuple(str(word) for word in words)


def words(node: Node, where: str) -> tuple[str, ...]:
    """Read a list of doubled words."""
    return tuple(
        undoubled(string(word, f"{where} {index}"), f"{where} {index}")
        for index, word in enumerate(entries(node, where))
    )


def header(spec: LaunchSpec, deltas: tuple[Delta, ...]) -> str:
    """Write the comment at the top of a deploy file: what it is, and each declared difference with its reason."""
    place = "It belongs in the unpacked kit, beside requirements.lock"
    beside = ", model.sha256 and model/" if isinstance(spec.model, LocalModel) else ""
    lines = [
        f"# {spec.name}, served by {spec.distribution}. Written by dayzero from one launch and parsed back equal to it.",
        f"# {place}{beside}.",
        *(declared(delta) for delta in deltas),
    ]
    return "\n".join(lines) + "\n"


def declared(delta: Delta) -> str:
    """Write one declared difference as a comment line."""
    return f"# Declared difference: {delta} ({delta.why})."
