"""One launch, from which every deploy file is rendered and with which every parsed-back file is compared."""

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias

from dayzero.core.errors import InputError
from dayzero.core.pins import Commit, FilePin, SourceBuild, WheelPin


class Placeholder(Enum):
    """A word of a multi-node command that only the cluster knows; each target writes it in its own way."""

    LEADER_ADDRESS = "leader address"
    NODE_RANK = "node rank"


Word: TypeAlias = str | Placeholder


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is run: the words of the command in order, the program first, and the environment in order."""

    argv: tuple[Word, ...]
    env: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What runs on each kind of node, and whether it runs on checked weights alone.

    Attributes:
        leader: On the first node, or the only one.
        worker: On every other node.
        checked: Whether the weights that travel with the kit are checked before each start.
    """

    leader: Command
    worker: Command | None = None
    checked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """Weights that lie in the ``model`` folder of the kit and are checked before each start."""

    files: tuple[FilePin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """Weights that the engine fetches into the hub's cache, at immutable commits that the launch names.

    Attributes:
        repository: ``owner/name`` on the hub.
        revision: Commit of the weights.
        tokenizer_revision: Commit of the tokenizer.
        code_revision: Commit of the model's own code.
        files: The files of that revision that are pinned, where they are known.
    """

    repository: str
    revision: Commit
    tokenizer_revision: Commit
    code_revision: Commit
    files: tuple[FilePin, ...] = ()


ModelSource: TypeAlias = LocalModel | HubModel

# Some 115 days; some formats count seconds in 32 bits, and add to them.
_LONGEST_S = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """How long a start and a stop may take, in seconds, and the one algebra that every target's own limits obey.

    Attributes:
        start_s: From the start of the engine to healthy.
        engine_start_s: After which the engine itself gives its start up; 0 where it never does.
        pre_stop_s: Between the request to stop and SIGTERM, while traffic is led elsewhere.
        drain_s: Which the engine takes after SIGTERM to finish what it has begun.
        stop_s: From the request to stop to SIGKILL.

    Raises:
        InputError: One of them is negative or missing, the engine would be killed before it gives up by itself, or before
            it has drained.
    """

    start_s: int
    stop_s: int
    engine_start_s: int = 0
    pre_stop_s: int = 0
    drain_s: int = 0

    def __post_init__(self) -> None:
        for name in ("start_s", "stop_s"):
            if getattr(self, name) < 1:
                raise InputError(
                    f"{name} of the launch is {getattr(self, name)}", hint="Give a whole number of at least 1."
                )
        for name in ("start_s", "stop_s"):
            if getattr(self, name) > _LONGEST_S:
                raise InputError(
                    f"{name} of the launch is {getattr(self, name)}", hint=f"Give at most {_LONGEST_S} seconds."
                )
        for name in ("engine_start_s", "pre_stop_s", "drain_s"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} of the launch is {getattr(self, name)}", hint="Give a whole number from 0.")
        if self.start_s < self.engine_start_s:
            raise InputError(
                f"the start budget of {self.start_s} s is shorter than the engine's own of {self.engine_start_s} s",
                hint="Give the start more time, or lower the engine's own limit with its flag or variable.",
            )
        if self.stop_s <= self.pre_stop_s + self.drain_s:
            raise InputError(
                f"the stop budget of {self.stop_s} s leaves no time after {self.pre_stop_s} s before SIGTERM "
                f"and {self.drain_s} s of draining",
                hint="Give the stop more time, or drain for less.",
            )


_SITE_HINTS = {
    "cache": "Give an absolute path of letters, digits and . _ -, without .. and without a / at its end.",
    "namespace": "Give up to 63 lower-case letters, digits and -, with neither - first nor last.",
    "storage_class": "Give lower-case letters, digits, . and -, or nothing for the cluster's default.",
    "partition": "Give letters, digits and . _ - , or nothing for the cluster's default.",
    "nodes": "Give Slurm's list of nodes without spaces (n[0-3],gpu7), or nothing for any.",
    "user": "Give a user's name: lower-case letters, digits, _ and -, with neither a digit nor - first.",
}
_SITE = {
    "cache": r"(/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._-]+)+",
    "namespace": r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
    "storage_class": r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?",
    "partition": r"[A-Za-z0-9_.,-]*",
    "nodes": r"[A-Za-z0-9_.,\[\]-]*",
    "user": r"[a-z_][a-z0-9_-]*",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What only the user's site knows, each with a default that is safe; a target says which of them it reads.

    Attributes:
        cache: Absolute folder on each host for what the engine fetches from the hub.
        namespace: Kubernetes namespace.
        storage_class: Kubernetes storage class of the weights; ``""`` is the cluster's default.
        partition: Slurm partition; ``""`` is the cluster's default.
        nodes: Slurm node list; ``""`` is any.
        user: User that a systemd unit runs as, for weights from the hub.

    Raises:
        InputError: A value holds a letter that some deploy file would read as something else.
    """

    cache: str = "/var/lib/dayzero/hub"
    namespace: str = "default"
    storage_class: str = ""
    partition: str = ""
    nodes: str = ""
    user: str = "dayzero"

    def __post_init__(self) -> None:
        for name, pattern in _SITE.items():
            value = getattr(self, name)
            if not re.fullmatch(pattern, value):
                raise InputError(
                    f"not a value of the site's {name} that every deploy file can hold: {value!r}",
                    hint=_SITE_HINTS[name],
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """How many machines share one launch, and the words that each kind of them gets behind the launch's own."""

    count: int = 1
    leader: tuple[Word, ...] = ()
    worker: tuple[Word, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(f"a launch on {self.count} nodes", hint="Give at least 1.")
        if self.count > 1 and not self.worker:
            raise InputError(
                f"a launch on {self.count} nodes without the words that make them one",
                hint="Use an engine that spreads one model over several nodes.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """Everything that decides what runs, written once.

    Attributes:
        name: Name of the service: lower-case letters, digits and ``-``.
        argv: The whole command in order, the program first; paths are relative to the folder that holds the deploy file.
        env: Environment variables in order; no name twice.
        distribution: ``name==version`` of the engine, for the image and the lock.
        wheels: The pinned wheels of the engine, one a platform.
        lock: Text of the hash-locked requirements that the environment is made of; ``""``: the wheels alone.
        image: ``repository@sha256:...``, or ``""`` where the image is built from the Dockerfile beside the deploy file.
        source: The commit that the engine is built from, where it is.
        model: Where the weights come from.
        port: TCP port that the engine listens on.
        health_path: HTTP path that answers 200 while the engine is well.
        ready_path: HTTP path that answers 200 when the engine serves its model.
        accelerator: Kind of GPU (``b300``), ``""`` for none.
        accelerators: GPUs of one node.
        memory_bytes: Memory of the host that one node needs.
        shared_memory_bytes: Size of ``/dev/shm``; 0 where the engine uses none.
        nodes: How many machines, and what differs between them.
        budgets: How long start and stop may take.
        site: What only the user's site knows.
    """

    name: str
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    distribution: str
    wheels: tuple[WheelPin, ...]
    lock: str = ""
    image: str = ""
    source: SourceBuild | None = None
    model: ModelSource
    port: int
    health_path: str
    ready_path: str
    accelerator: str = ""
    accelerators: int
    memory_bytes: int
    shared_memory_bytes: int = 0
    nodes: Nodes = field(default_factory=Nodes)
    budgets: Budgets
    site: Site = field(default_factory=Site)

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
        """The part that every deploy file has to carry word for word, on every node."""
        return Command(argv=self.argv, env=self.env)


PROGRAM = "argv[0]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """A word that differs between a deploy file and the launch it was rendered from.

    Attributes:
        flag: The argument before the value that differs; :data:`PROGRAM` where the program itself does.
        value: The value in the deploy file.
        why: Why the target cannot take the launch's own value.
    """

    flag: str
    value: str
    why: str

    def __str__(self) -> str:
        return f"{self.flag} {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedVariable:
    """An environment variable that a deploy file sets behind the launch's own."""

    name: str
    value: str
    why: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedWords:
    """The words that make several nodes one, behind the launch's own.

    Attributes:
        leader: What the first node gets.
        worker: What every other node gets.
        why: Why the nodes need them.
    """

    leader: tuple[Word, ...]
    worker: tuple[Word, ...]
    why: str

    def __str__(self) -> str:
        return f"leader: {_spoken(self.leader)}; other nodes: {_spoken(self.worker)}"


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A check of the weights that a deploy file leaves to whoever starts it.

    Attributes:
        why: Why the target cannot check them.
    """

    why: str

    def __str__(self) -> str:
        return "weights not checked before the start"


Delta: TypeAlias = Replaced | AddedVariable | AddedWords | Unchecked


def _spoken(words: tuple[Word, ...]) -> str:
    return " ".join(f"<{word.value}>" if isinstance(word, Placeholder) else word for word in words)


def node_deltas(spec: LaunchSpec) -> tuple[AddedWords, ...]:
    """Declare the words that make several nodes one; nothing for a launch on one node."""
    if spec.nodes.count == 1:
        return ()
    why = f"{spec.nodes.count} nodes serve one model together"
    return (AddedWords(leader=spec.nodes.leader, worker=spec.nodes.worker, why=why),)


def apply_deltas(spec: LaunchSpec, deltas: tuple[Delta, ...]) -> Commands:
    """Give what a deploy file with these declared differences has to carry; nothing else may differ.

    Raises:
        InputError: A delta names a flag that the launch does not pass exactly once, or a variable that it sets already.
    """
    argv, env = list(spec.argv), spec.env
    leader: tuple[Word, ...] = ()
    worker: tuple[Word, ...] | None = None
    checked = isinstance(spec.model, LocalModel)
    for delta in deltas:
        match delta:
            case Replaced():
                _put(argv, delta)
            case AddedVariable(name=name, value=value):
                if name in dict(env):
                    raise InputError(f"the launch sets {name} already", hint="Take it out of the recipe's environment.")
                env = (*env, (name, value))
            case AddedWords():
                leader, worker = delta.leader, delta.worker
            case Unchecked():
                checked = False
    return Commands(
        leader=Command(argv=(*argv, *leader), env=env),
        worker=None if worker is None else Command(argv=(*argv, *worker), env=env),
        checked=checked,
    )


def _put(argv: list[str], delta: Replaced) -> None:
    if delta.flag == PROGRAM:
        argv[:1] = [delta.value]
        return
    if argv.count(delta.flag) != 1 or argv[-1] == delta.flag:
        raise InputError(
            f"the launch does not pass {delta.flag} exactly once with a value",
            hint="Declare the difference on a flag that the launch has.",
        )
    argv[argv.index(delta.flag) + 1] = delta.value


def at_site(spec: LaunchSpec, site: Site) -> LaunchSpec:
    """Give the same launch for another site."""
    return replace(spec, site=site)
