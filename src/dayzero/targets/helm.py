"""Helm: the folder ``helm`` with a chart whose ``values.yaml`` holds the launch word for word, without one escape.

The templates are the same for every launch. They write what :mod:`dayzero.targets.kubernetes` writes, object for object: each
string through ``toJson``, and each ``$`` of the launch twice, because the kubelet reads ``$$`` as ``$``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from dayzero.core.errors import InputError
from dayzero.core.launch import Command, Commands, Delta, HubModel, LaunchSpec, LocalModel, apply_deltas
from dayzero.targets.container import (
    USER_ID,
    WORK_FOLDER,
    container_deltas,
    header,
    image_reference,
    literal,
)
from dayzero.targets.dockerfile import companions_of
from dayzero.targets.interface import NotCarriedError, Validator
from dayzero.targets.kubernetes import CALLERS, progress_s
from dayzero.targets.pod import checksum_lines, claim_size, grace_s, product_of, pull_policy, startup_failures
from dayzero.targets.precondition import require_carriable, require_one_node
from dayzero.targets.yaml_text import Node, dump, entries, load_all, mapping, string

FOLDER = "helm"
_KEYS = frozenset({"name", "image", "engine", "model", "resources", "budgets", "workFolder", "userId"})
_ENGINE_KEYS = frozenset({"argv", "env", "port", "healthPath", "readyPath"})
_CHECKED_KEYS = frozenset({"checksums", "claimSize", "storageClass"})
_STATIC = ("values.schema.json", "templates/weights.yaml", "templates/service.yaml", "templates/deployment.yaml")


@dataclass(frozen=True, slots=True)
class Helm:
    """The Helm target: a chart of one launch."""

    name: str = "helm"
    inputs: tuple[str, ...] = ("cache", "storage_class")
    validators: tuple[Validator, ...] = (Validator(command=("helm", "lint", "--strict"), folder=True),)

    def file_name(self, spec: LaunchSpec) -> str:  # noqa: ARG002  (the name is the same for every launch)
        """Name the file that is written."""
        return f"{FOLDER}/values.yaml"

    def companions(self, spec: LaunchSpec) -> tuple[tuple[str, str], ...]:
        """Give the rest of the chart, and the Dockerfile, where the launch names no image."""
        chart = files("dayzero.targets").joinpath("chart")
        static = [(f"{FOLDER}/{name}", chart.joinpath(name).read_text(encoding="utf-8")) for name in _STATIC]
        return (*companions_of(spec), (f"{FOLDER}/Chart.yaml", _chart(spec)), *static)

    def deltas(self, spec: LaunchSpec) -> tuple[Delta, ...]:
        """Declare the address that the engine listens on inside its pod, and the hub's cache."""
        return container_deltas(spec, who=CALLERS)

    def render(self, spec: LaunchSpec) -> str:
        """Write ``values.yaml``.

        Raises:
            NotCarriedError: The launch takes several nodes.
            InputError: The file cannot carry the launch word for word.
        """
        require_one_node(spec)
        require_carriable(spec)
        _require_printable(spec)
        deltas = self.deltas(spec)
        return header(spec, deltas) + dump(_values(spec, apply_deltas(spec, deltas).leader))

    def parse(self, text: str) -> Commands:
        """Read ``values.yaml`` back.

        Raises:
            InputError: The text is not the values of a rendered chart.
        """
        documents = load_all(text)
        if len(documents) != 1:
            raise InputError(f"{len(documents)} documents instead of one", hint="Render the file again.")
        values = mapping(documents[0], "the values", keys=_KEYS)
        engine = mapping(values.get("engine", {}), "engine", keys=_ENGINE_KEYS)
        argv = tuple(string(word, f"engine.argv {index}") for index, word in enumerate(_list(engine, "argv")))
        command = Command(argv=argv, env=tuple(map(_variable, _list(engine, "env"))))
        return Commands(leader=command, checked=_checked(values.get("model", {})))


TARGET = Helm()


def _require_printable(spec: LaunchSpec) -> None:
    """Refuse the two characters that toJson writes bare and Helm's own YAML reader then refuses."""
    for word in (*spec.argv, *(value for _, value in spec.env)):
        if "\ufffe" in word or "\uffff" in word:
            raise NotCarriedError(
                f"a Helm chart cannot carry the Unicode noncharacter in {word!r}",
                hint="Put the text into a file and pass the file's path.",
            )


def _checked(model: Node) -> bool:
    """Say whether the templates write the check of the weights: they do where there is no cache of the hub's."""
    checked = isinstance(model, Mapping) and "cache" not in model
    of_model = mapping(model, "model", keys=_CHECKED_KEYS if checked else frozenset({"cache"}))
    if checked and not string(of_model.get("checksums", ""), "model.checksums"):
        raise InputError("the values have no checksums for the weights", hint="Render the file again.")
    return checked


def _list(engine: Mapping[str, Node], key: str) -> tuple[Node, ...]:
    return entries(engine.get(key, ""), f"engine.{key}")


def _variable(entry: Node) -> tuple[str, str]:
    pair = mapping(entry, "an entry of engine.env", keys=frozenset({"name", "value"}))
    name = string(pair.get("name", 0), "the name of an env entry")
    return name, string(pair.get("value", 0), f"the value of {name}")


def _values(spec: LaunchSpec, command: Command) -> dict[str, Node]:
    return {
        "name": spec.name,
        "image": {"reference": image_reference(spec), "pullPolicy": pull_policy(spec)},
        "engine": {
            "argv": literal(command.argv),
            "env": [{"name": name, "value": value} for name, value in command.env],
            "port": spec.port,
            "healthPath": spec.health_path,
            "readyPath": spec.ready_path,
        },
        "model": _model(spec),
        # Strings: Helm reads a number as a floating-point one and would write 2e+12 for it.
        "resources": {
            "memory": str(spec.memory_bytes),
            "gpus": str(spec.accelerators or ""),
            "gpuProduct": product_of(spec),
            "sharedMemory": str(spec.shared_memory_bytes or ""),
        },
        "budgets": {
            "startupFailures": startup_failures(spec),
            "progressSeconds": progress_s(spec),
            "preStopSeconds": spec.budgets.pre_stop_s,
            "graceSeconds": grace_s(spec),
        },
        "workFolder": WORK_FOLDER,
        "userId": USER_ID,
    }


def _model(spec: LaunchSpec) -> dict[str, Node]:
    match spec.model:
        case HubModel():
            return {"cache": spec.site.cache}
        case LocalModel():
            storage_class = spec.site.storage_class
            return {"checksums": checksum_lines(spec), "claimSize": claim_size(spec), "storageClass": storage_class}


def _chart(spec: LaunchSpec) -> str:
    """Write ``Chart.yaml``; the chart's own version says nothing, because the launch is pinned word for word."""
    return dump(
        {
            "apiVersion": "v2",
            "name": spec.name,
            "description": f"{spec.name}, served by {spec.distribution}",
            "type": "application",
            "version": "1.0.0",
            "appVersion": spec.distribution,
        }
    )
