"""Docker Compose: ``compose.yaml``.

Escape rules: every string in double quotes; every ``$`` of the launch doubled, because Compose interpolates all values.
"""

from dataclasses import dataclass

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Delta, LaunchSpec, apply_deltas
from dayzero.targets.container import (
    MODEL_FOLDER,
    USER_ID,
    WORK_FOLDER,
    doubled,
    header,
    host_deltas,
    image_reference,
    undoubled,
    words,
)
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import Validator
from dayzero.targets.precondition import require_carriable
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
_STOP_SLACK_S = 10


@dataclass(frozen=True, slots=True)
class Compose:
    """The Compose target: one engine, and one check of the weights that has to pass first."""

    name: str = "compose"
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
        """Declare the address that the engine listens on inside its container."""
        return host_deltas(spec, who="the port published on the host's 127.0.0.1")

    def render(self, spec: LaunchSpec) -> str:
        """Write ``compose.yaml``.

        Raises:
            InputError: The file cannot carry the launch word for word.
        """
        require_carriable(spec)
        deltas = self.deltas(spec)
        command = apply_deltas(spec, deltas).command
        document: dict[str, Node] = {
            "name": spec.name,
            "services": {"check-weights": _check(spec), "engine": _engine(spec, command)},
        }
        return header(spec, deltas) + dump(document)

    def parse(self, text: str) -> Command:
        """Read ``compose.yaml`` back.

        Raises:
            InputError: The text is not a Compose file of this target.
        """
        documents = load_all(text)
        if len(documents) != 1:
            raise InputError(f"{len(documents)} documents instead of one", hint="Render the file again.")
        root = mapping(documents[0], "the document", keys=frozenset({"name", "services"}))
        services = mapping(root.get("services", {}), "services", keys=frozenset({"check-weights", "engine"}))
        check = mapping(services.get("check-weights", {}), "services.check-weights", keys=_CHECK_KEYS)
        if _argv(check) != _CHECK_COMMAND:
            raise InputError("services.check-weights does not check the weights", hint="Render the file again.")
        engine = mapping(services.get("engine", {}), "services.engine", keys=_ENGINE_KEYS)
        return Command(
            argv=_argv(engine), env=tuple(map(_variable, entries(engine.get("environment", ()), "environment")))
        )


TARGET = Compose()


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


def _mount(source: str, target: str) -> dict[str, Node]:
    # A missing source is an error, not an empty folder that belongs to root.
    return {"type": "bind", "source": source, "target": target, "read_only": True, "bind": {"create_host_path": False}}


def _check(spec: LaunchSpec) -> dict[str, Node]:
    program, *arguments = _CHECK_COMMAND
    return {
        **_image(spec),
        "entrypoint": [program],
        "command": arguments,
        "volumes": [_mount("./model", MODEL_FOLDER), _mount("./model.sha256", f"{WORK_FOLDER}/model.sha256")],
        "network_mode": "none",
    }


def _engine(spec: LaunchSpec, command: Command) -> dict[str, Node]:
    return {
        **_image(spec),
        "entrypoint": [doubled(command.argv[0])],
        "command": [doubled(word) for word in command.argv[1:]],
        "environment": [doubled(f"{name}={value}") for name, value in command.env],
        "volumes": [_mount("./model", MODEL_FOLDER)],
        "ports": [f"127.0.0.1:{spec.port}:{spec.port}"],
        "depends_on": {"check-weights": {"condition": "service_completed_successfully"}},
        "healthcheck": _healthcheck(spec),
        "stop_signal": "SIGTERM",
        "stop_grace_period": f"{spec.stop_budget_s + _STOP_SLACK_S}s",
        "restart": "unless-stopped",
        "mem_limit": f"{spec.memory_bytes}b",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        **_accelerators(spec),
    }


def _healthcheck(spec: LaunchSpec) -> dict[str, Node]:
    # An image need not hold curl. A proxy from the environment must not come between.
    code = (
        "import urllib.request as u; "
        f"u.build_opener(u.ProxyHandler({{}})).open('http://127.0.0.1:{spec.port}{spec.health_path}', timeout=5)"
    )
    return {
        "test": ["CMD", "python3", "-c", code],
        "interval": "10s",
        "timeout": "10s",
        "retries": 3,
        "start_period": f"{spec.start_budget_s}s",
    }


def _accelerators(spec: LaunchSpec) -> dict[str, Node]:
    if spec.accelerators == 0:
        return {}
    device: dict[str, Node] = {"driver": "nvidia", "count": spec.accelerators, "capabilities": ["gpu"]}
    return {
        # Shared memory counts as memory of the container, so it needs no bound of its own below that.
        "shm_size": f"{spec.memory_bytes}b",
        "ulimits": {"memlock": -1},
        "deploy": {"resources": {"reservations": {"devices": [device]}}},
    }
