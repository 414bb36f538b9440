r"""SkyPilot: ``skypilot.yaml``, a task for ``sky launch`` and a service for ``sky serve up``.

Escape rules: every string in double quotes, scripts over several lines of one; in ``run`` every word as
:mod:`dayzero.targets.shell_words` writes it, the address of the first node and the rank of a node as ``"$dayzero_leader"`` and
``"$dayzero_rank"``. SkyPilot quotes ``envs`` itself before it exports them (skypilot 0.14.1, skylet/log_lib.py,
make_task_bash_script), and puts their values into ``service`` and ``workdir`` (task.py, _fill_in_env_vars), which hold no ``$``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import (
    Command,
    Commands,
    Delta,
    HubModel,
    LaunchSpec,
    LocalModel,
    Placeholder,
    apply_deltas,
    node_deltas,
)
from dayzero.targets.container import HUB_FOLDER, header, host_deltas, hub_deltas
from dayzero.targets.interface import NotCarriedError, Validator
from dayzero.targets.precondition import require_carriable
from dayzero.targets.shell_words import by_flag, joined, on_one_line, split, taken_by_bash
from dayzero.targets.yaml_text import Node, dump, load_all, mapping, quoted, string

_KEYS = frozenset({"name", "num_nodes", "workdir", "resources", "envs", "config", "service", "setup", "run"})
_RESOURCES = frozenset({"accelerators", "image_id", "memory", "ports"})
_FORMS = {Placeholder.LEADER_ADDRESS: '"$dayzero_leader"', Placeholder.NODE_RANK: '"$dayzero_rank"'}
_ACCELERATOR = re.compile(r"[a-z0-9][a-z0-9-]*")
_HOST_PATH = re.compile(r"/[A-Za-z0-9_./+@-]*")
_GIB = 1024**3
_INDENT, _LEADER_INDENT = "  ", "    "
_EXEC = "exec "

_ENVIRONMENT = (
    "set -euo pipefail",
    'lock="$(sha256sum < requirements.lock)"',
    'if [ "$(cat .venv/requirements.sha256 2> /dev/null || true)" != "$lock" ]; then',
    "  rm -rf .venv",
    "  python3 -m venv .venv",
    "  .venv/bin/python3 -m pip install --disable-pip-version-check --require-hashes --no-deps -r requirements.lock",
    """  printf '%s\\n' "$lock" > .venv/requirements.sha256""",
    "fi",
)
_OPENING = ("set -euo pipefail", 'ulimit -S -l "$(ulimit -H -l)"')
_CHECK = "sha256sum --check --quiet --strict model.sha256 || exit 4"
_PATH = 'export PATH="$PWD/.venv/bin:$PATH"'
_NODES = (
    '[ "$SKYPILOT_NUM_NODES" -eq {count} ] || exit 2',
    "dayzero_leader=\"${{SKYPILOT_NODE_IPS%%$'\\n'*}}\"",
    'dayzero_rank="$SKYPILOT_NODE_RANK"',
    'if [ "$dayzero_rank" -eq 0 ]; then',
)


@dataclass(frozen=True, slots=True)
class SkyPilot:
    """The SkyPilot target: a task from a pinned image, or from the environment of the hash-locked wheels."""

    name: str = "skypilot"
    inputs: tuple[str, ...] = ("cache",)
    validators: tuple[Validator, ...] = ()

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "skypilot.yaml"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:  # noqa: ARG002  (no launch needs one)
        """Give nothing: the kit's own files are sent along."""
        return ()

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the address that the engine listens on, the hub's cache and the words of several nodes."""
        hub = HUB_FOLDER if spec.image else spec.site.cache
        return (
            *host_deltas(spec, who="SkyPilot's load balancer and its readiness probe"),
            *hub_deltas(spec, hub),
            *node_deltas(spec),
        )

    def render(self, spec: LaunchSpec) -> str:
        """Write ``skypilot.yaml``.

        Raises:
            NotCarriedError: The engine is built from source and no image of it is pinned.
            InputError: The file cannot carry the launch word for word.
        """
        require_carriable(spec)
        _require_here(spec)
        deltas = self.deltas(spec)
        commands = apply_deltas(spec, deltas)
        refused = [name for name, _ in commands.leader.env if taken_by_bash(name) or name.startswith("SKYPILOT_")]
        if refused:
            raise NotCarriedError(
                f"skypilot.yaml cannot set what bash or SkyPilot sets itself: {', '.join(sorted(refused))}",
                hint="Leave it out of the launch's environment.",
            )
        document: dict[str, Node] = {
            "name": spec.name,
            "num_nodes": spec.nodes.count,
            "workdir": ".",
            "resources": _resources(spec),
            **_container(spec),
            "envs": dict(commands.leader.env),
            "service": {"readiness_probe": _readiness(spec), "replicas": 1},
        }
        return header(spec, deltas) + dump(document) + _scripts(_setup(spec), _run(spec, commands))

    def parse(self, text: str) -> Commands:
        """Read ``skypilot.yaml`` back.

        Raises:
            InputError: The text is not a task of this target.
        """
        documents = load_all(text)
        if len(documents) != 1:
            raise InputError(f"{len(documents)} documents instead of one", hint="Render the file again.")
        task = mapping(documents[0], "the task", keys=_KEYS)
        resources = mapping(task.get("resources", {}), "resources", keys=_RESOURCES)
        env = _environment(task.get("envs", {}))
        lines = string(task.get("run", 0), "run")
        own = "image_id" not in resources
        checked = f"\n{_CHECK}\n" in lines
        before = (*_OPENING, *((_CHECK,) if checked else ()), *((_PATH,) if own else ()))
        setup = string(task.get("setup", ""), "setup")
        # A YAML string can be written in many ways; only one is let through.
        if not text.endswith(_scripts(tuple(setup.split("\n")[:-1]), tuple(lines.split("\n")[:-1]))):
            raise InputError("setup and run are not written as they are rendered", hint="Render the file again.")
        if own and tuple(setup.split("\n")[: len(_ENVIRONMENT)]) != _ENVIRONMENT:
            raise InputError("setup does not make the environment of the locked wheels", hint="Render the file again.")
        count = task.get("num_nodes", 0)
        leader, worker = _starts(lines, before, count if isinstance(count, int) else 0)
        return Commands(
            leader=Command(argv=split(leader, _FORMS), env=env),
            worker=Command(argv=split(worker, _FORMS), env=env) if worker else None,
            checked=checked,
        )


TARGET = SkyPilot()


def _require_here(spec: LaunchSpec) -> None:
    if spec.source and not spec.image:
        raise NotCarriedError(
            "this file starts a pinned image or the locked wheels, and the engine of this launch is built from source",
            hint="Build the Dockerfile, push the image, and pin it by its digest.",
        )
    if spec.accelerators and not _ACCELERATOR.fullmatch(spec.accelerator):
        raise NotCarriedError(
            f"the launch takes {spec.accelerators} GPUs, and SkyPilot knows no kind of them called {spec.accelerator!r}",
            hint="Name the kind in [system] accelerator, in lower-case letters and digits: h200.",
        )
    if isinstance(spec.model, HubModel) and not _HOST_PATH.fullmatch(spec.site.cache):
        raise InputError(
            f"the cache of the site cannot be mounted: {spec.site.cache!r}",
            hint="Give an absolute path of letters, digits and _ . / + @ -.",
        )


def _resources(spec: LaunchSpec) -> dict[str, Node]:
    accelerators: dict[str, Node] = (
        {"accelerators": f"{spec.accelerator.upper()}:{spec.accelerators}"} if spec.accelerators else {}
    )
    image: dict[str, Node] = {"image_id": f"docker:{spec.image}"} if spec.image else {}
    return {**accelerators, **image, "memory": f"{-(-spec.memory_bytes // _GIB)}+", "ports": [spec.port]}


def _container(spec: LaunchSpec) -> dict[str, Node]:
    if not spec.image:
        return {}
    options = (
        *((f"--shm-size={spec.shared_memory_bytes}b",) if spec.shared_memory_bytes else ()),
        *(("--ulimit=memlock=-1",) if spec.accelerators else ()),
        *((f"--volume={spec.site.cache}:{HUB_FOLDER}",) if isinstance(spec.model, HubModel) else ()),
    )
    return {"config": {"docker": {"run_options": options}}} if options else {}


def _readiness(spec: LaunchSpec) -> dict[str, Node]:
    return {"path": spec.ready_path, "initial_delay_seconds": spec.budgets.start_s, "timeout_seconds": 15}


def _setup(spec: LaunchSpec) -> tuple[str, ...]:
    if spec.image:
        return ()
    match spec.model:
        case LocalModel():
            return _ENVIRONMENT
        case HubModel():
            folder = spec.site.cache
            return (*_ENVIRONMENT, f'[ -w {folder} ] || sudo install -d -o "$(id -u)" -g "$(id -g)" {folder}')


def _run(spec: LaunchSpec, commands: Commands) -> tuple[str, ...]:
    before = (
        *_OPENING,
        *((_CHECK,) if isinstance(spec.model, LocalModel) else ()),
        *(() if spec.image else (_PATH,)),
    )
    if commands.worker is None:
        return (*before, *_started(commands.leader, _INDENT))
    nodes = (line.format(count=spec.nodes.count) for line in _NODES)
    leader = (
        f"{_INDENT}{line}" if line.startswith(_EXEC) else line for line in _started(commands.leader, _LEADER_INDENT)
    )
    return (*before, *nodes, *leader, "fi", *_started(commands.worker, _INDENT))


def _started(command: Command, indent: str) -> tuple[str, ...]:
    return tuple((_EXEC + by_flag(joined(command.argv, _FORMS), indent)).split("\n"))


def _scripts(setup: tuple[str, ...], run: tuple[str, ...]) -> str:
    return (_script("setup", setup) if setup else "") + _script("run", run)


def _script(key: str, lines: tuple[str, ...]) -> str:
    # A scalar in double quotes may run over lines whose ends are escaped; what a line starts with would be dropped.
    bodies = (("\\" if line.startswith(" ") else "") + quoted(line)[1:-1] for line in lines)
    return f'{key}: "\\\n' + "".join(f"  {body}\\n\\\n" for body in bodies) + '  "\n'


def _environment(node: Node) -> tuple[tuple[str, str], ...]:
    pairs: Mapping[str, Node] = mapping(
        node, "envs", keys=frozenset(node) if isinstance(node, Mapping) else frozenset()
    )
    return tuple((name, string(value, f"the variable {name}")) for name, value in pairs.items())


def _starts(text: str, before: tuple[str, ...], count: int) -> tuple[str, str]:
    lines = tuple(on_one_line(on_one_line(text, _LEADER_INDENT), _INDENT).split("\n"))
    nodes = tuple(line.format(count=count) for line in _NODES) if count > 1 else ()
    opening = (*before, *nodes)
    if lines[: len(opening)] != opening:
        raise InputError("run does not check and prepare what it starts", hint="Render the file again.")
    match lines[len(opening) :]:
        case (leader, "") if count == 1 and leader.startswith(_EXEC):
            return leader.removeprefix(_EXEC), ""
        case (leader, "fi", worker, "") if (
            count > 1 and leader.startswith(_INDENT + _EXEC) and worker.startswith(_EXEC)
        ):
            return leader.removeprefix(_INDENT + _EXEC), worker.removeprefix(_EXEC)
        case _:
            raise InputError("run does not start one command on each node", hint="Render the file again.")
