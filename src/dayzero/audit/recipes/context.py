"""What the mappings around a command say of it: image, environment, GPUs, version."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from packaging.version import InvalidVersion, Version

from dayzero.audit.recipes.tree import Node, Row, Table, Text
from dayzero.core.accelerators import accelerator, accelerator_names
from dayzero.core.errors import InputError
from dayzero.core.hardware import System, parse_system

_ENV = ("env", "environment", "envs", "env_vars", "base_env")
_KIND = (
    "gpu",
    "gpu_type",
    "gpu_kind",
    "gpu_model",
    "hardware",
    "accelerator",
    "accelerators",
    "runner",
    "system",
    "sku",
)
_COUNT = ("gpus", "gpu_count", "num_gpus", "ngpus", "gpus_per_node", "accelerator_count")
_VERSION = ("engine_version", "vllm_version", "sglang_version", "version")
_PRODUCT, _LIMIT = "nvidia.com/gpu.product", "nvidia.com/gpu"
_PRODUCTS = re.compile(r"NVIDIA-|-SXM\d*|-\d+GB\S*|-HBM\S*|-PCIE|-NVL", re.IGNORECASE)
_KIND_AND_COUNT = re.compile(r"(?P<kind>[A-Za-z][\w-]*):(?P<count>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What is said so far, from the outside in.

    Attributes:
        image: The container image.
        engine: The engine's name.
        version: The engine's version.
        model: The model's name.
        kind: Kind of GPU.
        count: How many of them.
        env: Environment variables.
        name: What it is called.
    """

    image: str = ""
    engine: str = ""
    version: str = ""
    model: str = ""
    kind: str = ""
    count: int = 0
    env: tuple[tuple[str, str], ...] = field(default=())
    name: str = ""

    def system(self, count: int = 0) -> System | None:
        """Give the GPUs; ``None`` where their kind is not said, or their number is said nowhere.

        Args:
            count: Their number where nothing around the command says it.
        """
        gpus = self.count or count
        return parse_system(f"{gpus}x{self.kind}") if self.kind and gpus else None


def of_path(path: str) -> Context:
    """Read what the names of folders and of the file say: a version, and a kind of GPU where they name just one."""
    parts = path.rsplit(".", 1)[0].split("/")
    versions = [part.removeprefix("v") for part in parts[:-1] if re.fullmatch(r"v?\d+(\.\d+){2,}\S*", part)]
    tokens = set(re.split(r"[^a-z0-9]+", path.lower()))
    kinds = {one for one in accelerator_names() if one in tokens}
    return Context(version=_release(versions[-1]) if versions else "", kind=kinds.pop() if len(kinds) == 1 else "")


def within(outer: Context, table: Table) -> Context:
    """Add what a mapping says."""
    kind, count = _gpus(table)
    return replace(
        outer,
        image=_image(table) or outer.image,
        engine=table.text("engine", "framework", "backend", "backendframework").lower() or outer.engine,
        version=_release(table.text(*_VERSION)) or outer.version,
        model=table.text("model", "model_id", "model_path", "model_name", "hf_id", "hf_model") or outer.model,
        kind=kind or outer.kind,
        count=count or outer.count,
        env=_environment(table) or outer.env,
        name=table.text("name") or outer.name,
    )


def _image(table: Table) -> str:
    nested = table.table("image")
    if nested is not None and nested.text("repository"):
        return f"{nested.text('repository')}:{nested.text('tag') or 'latest'}"
    return table.text("image", "docker_image", "container_image", "container")


def _release(text: str) -> str:
    try:
        return str(Version(text)) if re.match(r"v?\d+\.\d+\.\d+", text) else ""
    except InvalidVersion:
        return ""


def kind_of(text: str) -> str:
    """Give the kind of GPU that a text names, ``""`` where it names none."""
    plain = _PRODUCTS.sub("", text)
    for one in (text, plain, plain.split("-", 1)[0], plain.rsplit(":", 1)[-1].split("_", 1)[0]):
        try:
            return accelerator(one).name if one else ""
        except InputError:
            continue
    return ""


def _gpus(table: Table) -> tuple[str, int]:
    for key in (*_KIND, *_COUNT):
        text = table.text(key)
        pair = _KIND_AND_COUNT.fullmatch(text)
        if pair and kind_of(pair["kind"]):
            return kind_of(pair["kind"]), int(pair["count"])
        try:
            system = parse_system(text)
        except InputError:
            continue
        return system.accelerator, system.gpus
    kind = next((found for key in _KIND if (found := kind_of(table.text(key)))), "")
    count = next((int(table.text(key)) for key in _COUNT if table.text(key).isdecimal()), 0)
    return kind or _selected(table), count or _limited(table)


def _selected(table: Table) -> str:
    selector = table.table("nodeselector")
    if selector is not None and selector.text(_PRODUCT):
        return kind_of(selector.text(_PRODUCT))
    nested = table.table("accelerator") or table.table("gpu")
    return kind_of(nested.text("kind", "type", "name", "model")) if nested is not None else ""


def _limited(table: Table) -> int:
    resources = table.table("resources")
    for part in ("limits", "requests"):
        amounts = resources.table(part) if resources is not None else None
        text = amounts.text(_LIMIT, "gpu") if amounts is not None else ""
        if text.isdecimal():
            return int(text)
    devices = _below(table, "deploy", "resources", "reservations", "devices")
    counts = [one.text("count") for one in devices.items if isinstance(one, Table)] if isinstance(devices, Row) else []
    return next((int(one) for one in counts if one.isdecimal()), 0)


def _below(table: Table, *keys: str) -> Node | None:
    node: Node | None = table
    for key in keys:
        node = node.members.get(key) if isinstance(node, Table) else None
    return node


def _environment(table: Table) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for key in _ENV:
        found |= environment(table.members.get(key))
    return tuple(found.items())


def environment(node: Node | None) -> Mapping[str, str]:
    """Read an environment in any of its shapes; what is taken from a secret or the host is not known and left out."""
    match node:
        case Table(pairs=pairs):
            return {key: value.text for key, value in pairs if isinstance(value, Text)}
        case Row(items=items):
            found: dict[str, str] = {}
            for one in items:
                if isinstance(one, Text) and "=" in one.text:
                    name, _, value = one.text.partition("=")
                    found[name] = value
                elif isinstance(one, Table) and one.text("name") and "value" in one.members:
                    found[one.text("name")] = one.text("value")
            return found
        case _:
            return {}
