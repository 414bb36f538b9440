"""One launch, from which every deploy file is rendered and with which every parsed-back file is compared."""

from dataclasses import dataclass, replace

from dayzero.core.errors import InputError
from dayzero.core.pins import FilePin, WheelPin


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is run: the words of the command in order, the program first, and the environment in order."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """Everything that decides what runs, written once.

    Attributes:
        name: Name of the service: lower-case letters, digits and ``-``.
        argv: The whole command in order, the program first; paths are relative to the folder that holds the deploy file.
        env: Environment variables in order; no name twice.
        wheels: The pinned wheels that the environment holds, nothing else.
        distribution: ``name==version`` of the engine, for the image and the lock.
        image: ``repository@sha256:...``, or ``""`` where the image is built from the Dockerfile beside the deploy file.
        model_files: The pinned weights, relative to the ``model`` folder.
        port: TCP port that the engine listens on.
        health_path: HTTP path that answers 200 when the engine is ready.
        accelerators: GPUs of one instance.
        memory_bytes: Memory that one instance needs.
        start_budget_s: Seconds within which the engine must be healthy.
        stop_budget_s: Seconds between the request to stop and the kill.
    """

    name: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    wheels: tuple[WheelPin, ...]
    distribution: str
    image: str
    model_files: tuple[FilePin, ...]
    port: int
    health_path: str
    accelerators: int
    memory_bytes: int
    start_budget_s: int
    stop_budget_s: int

    def __post_init__(self) -> None:
        names = [name for name, _ in self.env]
        if len(set(names)) != len(names):
            raise InputError("an environment variable is set twice in one launch", hint="Keep one value a name.")
        for word in (*self.argv, *(text for pair in self.env for text in pair)):
            if "\n" in word or "\0" in word:
                raise InputError(
                    f"a newline or NUL in a launch argument cannot be written into every deploy file: {word!r}",
                    hint="Put the text into a file and pass the file's path.",
                )

    @property
    def command(self) -> Command:
        """The part that every deploy file has to carry word for word."""
        return Command(argv=self.argv, env=self.env)


PROGRAM = "argv[0]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One declared difference between a deploy file and the launch it was rendered from.

    Attributes:
        flag: The argument before the value that differs; :data:`PROGRAM` where the program itself does.
        value: The value in the deploy file.
        why: Why the target cannot take the launch's own value.
    """

    flag: str
    value: str
    why: str


def apply_deltas(spec: LaunchSpec, deltas: tuple[Delta, ...]) -> LaunchSpec:
    """Replace the program or the value after a flag, as declared; nothing else may differ between a deploy file and its launch.

    Raises:
        InputError: A delta names a flag that the launch does not pass exactly once.
    """
    argv = list(spec.argv)
    for delta in deltas:
        if delta.flag == PROGRAM:
            argv[:1] = [delta.value]
            continue
        if argv.count(delta.flag) != 1 or argv[-1] == delta.flag:
            raise InputError(
                f"the launch does not pass {delta.flag} exactly once with a value",
                hint="Declare the difference on a flag that the launch has.",
            )
        argv[argv.index(delta.flag) + 1] = delta.value
    return replace(spec, argv=tuple(argv))
