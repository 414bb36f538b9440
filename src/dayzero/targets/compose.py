"""Docker Compose: ``compose.yaml``.

Escape rules: every string in double quotes; every ``$`` of the launch doubled, because Compose interpolates all values.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, HubModel, LaunchSpec, LocalModel, apply_deltas
from dayzero.targets.container import (
    HUB_FOLDER,
    MODEL_FOLDER,
    USER_ID,
    WORK_FOLDER,
    container_deltas,
    doubled,
    header,
    image_reference,
    literal,
    undoubled,
    words,
)
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import Validator
from dayzero.targets.precondition import require_carriable, require_one_node
from dayzero.targets.probe import health_probe
from dayzero.targets.yaml_text import Node, dump, entries, load_all, mapping, string

_CHECK_KEYS = frozenset(
    {"build", "image", "pull_policy", "init", "user", "working_dir", "entrypoint", "command", "volumes", "network_mode"}
)
_ENGINE_KEYS = frozenset(
    {"build", "image", "pull_policy", "init", "user", "working_dir", "entrypoint", "command", "environment", "volumes"}
    | {"ports", "depends_on", "healthcheck", "stop_signal", "stop_grace_period", "restart", "mem_limit", "cap_drop"}
    | {"security_opt", "shm_size", "ulimits", "deploy"}
)
_CHECK_COMMAND = ("sha256sum", "--check", "--quiet", "--strict", "model.sha256")
_CHECK = "check-weights"
_STOP_SLACK_S = 10


@dataclass(frozen=True, slots=True)
class Compose:
    """The Compose target: one engine, and one check of the weights that has to pass first."""

    name: str = "compose"
    inputs: tuple[str, ...] = ("cache",)
    validators: tuple[Validator, ...] = (
        Validator(command=("check-jsonschema", "--builtin-schema", "vendor.compose-spec")),
    )

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return "compose.yaml"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the Dockerfile, where the launch names no image."""
        return companions_of(spec)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the address that the engine listens on inside its container, and the hub's cache."""
        return container_deltas(spec, who="the port published on the host's 127.0.0.1")

    def render(self, spec: LaunchSpec) -> str:
        """Write ``compose.yaml``.

        Raises:
            InputError: The file cannot carry the launch word for word.
        """
        require_one_node(spec)
        require_carriable(spec)
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).leader
        checks: dict[str, Node] = {_CHECK: _check(spec)} if isinstance(spec.model, LocalModel) else {}
        document: dict[str, Node] = {"name": spec.name, "services": {**checks, "engine": _engine(spec, command)}}
        return header(spec, deltas) + dump(document)

    def parse(self, text: str) -> Commands:
        """Read ``compose.yaml`` back.

        Raises:
            InputError: The text is not a Compose file of this target.
        """
        documents = load_all(text)
        if len(documents) != 1:
            raise InputError(f"{len(documents)} documents instead of one", hint="Render the file again.")
        root = mapping(documents[0], "the document", keys=frozenset({"name", "services"}))
        services = mapping(root.get("services", {}), "services", keys=frozenset({_CHECK, "engine"}))
        engine = mapping(services.get("engine", {}), "services.engine", keys=_ENGINE_KEYS)
        env = tuple(map(_variable, entries(engine.get("environment", ()), "environment")))
        return Commands(leader=Command(argv=_argv(engine), env=env), checked=_checked(services, engine))


TARGET = Compose()


def _checked(services: Mapping[str, Node], engine: Mapping[str, Node]) -> bool:
    if _CHECK not in services and "depends_on" not in engine:
        return False
    check = mapping(services.get(_CHECK, {}), f"services.{_CHECK}", keys=_CHECK_KEYS)
    same = (check.get("volumes"), engine.get("volumes")) == (_CHECK_VOLUMES, _CHECK_VOLUMES[:1])
    if _argv(check) != _CHECK_COMMAND or not same or engine.get("depends_on") != _AFTER_THE_CHECK:
        raise InputError(
            "the engine does not start after a check of the weights that it is given", hint="Render the file again."
        )
    return True


def _argv(service: Node) -> tuple[str, ...]:
    keys = mapping(service, "the service", keys=_ENGINE_KEYS | _CHECK_KEYS)
    program = words(keys.get("entrypoint", ()), "entrypoint")
    if len(program) != 1:
        raise InputError(f"the entrypoint has {len(program)} words instead of one", hint="Render the file again.")
    return program + words(keys.get("command", ()), "command")


def _variable(entry: Node) -> tuple[str, str]:
    name, equals, value = string(entry, "an environment entry").partition("=")
    if not equals:
        raise InputError(f"the environment entry {name!r} takes its value from outside", hint="Render the file again.")
    return name, undoubled(value, f"the environment variable {name}")


def _image(spec: LaunchSpec) -> dict[str, Node]:
    built: dict[str, Node] = {} if spec.image else {"build": ".", "pull_policy": "build"}
    return {
        "image": image_reference(spec),
        **built,
        "init": True,
        "user": f"{USER_ID}:{USER_ID}",
        "working_dir": WORK_FOLDER,
    }


def _mount(source: str, target: str, *, read_only: bool = True) -> dict[str, Node]:
    # A missing source is an error, not an empty folder that belongs to root.
    bind: dict[str, Node] = {"create_host_path": False}
    return {"type": "bind", "source": source, "target": target, "read_only": read_only, "bind": bind}


_AFTER_THE_CHECK = {_CHECK: {"condition": "service_completed_successfully"}}
_CHECK_VOLUMES = (_mount("./model", MODEL_FOLDER), _mount("./model.sha256", f"{WORK_FOLDER}/model.sha256"))


def _weights(spec: LaunchSpec) -> Node:
    match spec.model:
        case LocalModel():
            return _CHECK_VOLUMES[0]
        case HubModel():
            return _mount(spec.site.cache, HUB_FOLDER, read_only=False)


def _check(spec: LaunchSpec) -> dict[str, Node]:
    program, *arguments = _CHECK_COMMAND
    return {
        **_image(spec),
        "entrypoint": [program],
        "command": arguments,
        "volumes": _CHECK_VOLUMES,
        "network_mode": "none",
    }


def _engine(spec: LaunchSpec, command: Command) -> dict[str, Node]:
    program, *arguments = literal(command.argv)
    return {
        **_image(spec),
        "entrypoint": [doubled(program)],
        "command": [doubled(word) for word in arguments],
        "environment": [doubled(f"{name}={value}") for name, value in command.env],
        "volumes": [_weights(spec)],
        "ports": [f"127.0.0.1:{spec.port}:{spec.port}"],
        **_after_the_check(spec),
        "healthcheck": _healthcheck(spec),
        "stop_signal": "SIGTERM",
        "stop_grace_period": f"{spec.budgets.stop_s + _STOP_SLACK_S}s",
        "restart": "unless-stopped",
        "mem_limit": f"{spec.memory_bytes}b",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        **_accelerators(spec),
    }


def _after_the_check(spec: LaunchSpec) -> dict[str, Node]:
    if isinstance(spec.model, HubModel):
        return {}
    return {"depends_on": _AFTER_THE_CHECK}


def _healthcheck(spec: LaunchSpec) -> dict[str, Node]:
    return {
        "test": ["CMD", *health_probe(spec)],
        "interval": "10s",
        "timeout": "10s",
        "retries": 3,
        "start_period": f"{spec.budgets.start_s}s",
    }


def _accelerators(spec: LaunchSpec) -> dict[str, Node]:
    shared: dict[str, Node] = {"shm_size": f"{spec.shared_memory_bytes}b"} if spec.shared_memory_bytes else {}
    if spec.accelerators == 0:
        return shared
    device: dict[str, Node] = {"driver": "nvidia", "count": spec.accelerators, "capabilities": ["gpu"]}
    return {
        **shared,
        "ulimits": {"memlock": -1},
        "deploy": {"resources": {"reservations": {"devices": [device]}}},
    }
