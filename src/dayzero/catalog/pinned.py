"""Put everything that a definition pins and sets into words, one fact each, so that two definitions can be held together."""

from collections.abc import Iterator, Mapping

from dayzero.catalog.words import cell_words, origin_words
from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild, ModelPin, Sha256
from dayzero.core.recipe import Recipe

Fact = tuple[str, str, str]
"""Topic, name and value."""


def pinned_facts(package: Package) -> Mapping[tuple[str, str], str]:
    """Give every fact by topic and name, in the order of a definition."""
    recipe = package.recipe
    facts: dict[tuple[str, str], str] = {}
    for topic, name, value in (
        *_model(recipe.model),
        *_engine(recipe.engine),
        *(("kernels", kernel.library, f"{kernel.distribution}=={kernel.version}") for kernel in recipe.kernels),
        *_system(recipe),
        *_flags(recipe.flags),
        *(("environment", name, value or "empty") for name, value in recipe.env),
        *_serving(recipe),
        *_workload(package),
        ("terms", "tier", package.tier),
        ("terms", "what was changed in the weights", package.technique or "nothing"),
    ):
        facts[topic, name] = value
    return facts


def _model(model: ModelPin) -> Iterator[Fact]:
    yield "model", "name", model.name
    yield "model", "origin", origin_words(model.origin)
    yield "model", "architecture", model.architecture
    yield "model", "parameters", f"{model.parameters:,}"
    yield "model", "tensor types", ", ".join(model.tensor_types)
    yield "model", "licence", model.licence
    for file in model.files:
        yield "model", file.path, f"{file.size}, sha256 {file.sha256}"


def _engine(build: EngineBuild) -> Iterator[Fact]:
    yield "engine", "engine", build.engine
    yield "engine", "build", str(build)
    for wheel in build.wheels:
        yield "engine", wheel.filename, f"sha256 {wheel.sha256}"
    if build.image:
        yield "engine", "image", build.image
    if build.source is not None:
        yield "engine", "source", f"{build.source.repository}@{build.source.commit}"
    if build.lock:
        yield "engine", "lock", f"sha256 {Sha256.of(build.lock.encode())}"


def _system(recipe: Recipe) -> Iterator[Fact]:
    system, spread = recipe.system, recipe.parallelism
    yield "system", "name", system.name
    yield "system", "GPUs", f"{system.gpus} x {system.accelerator}" if system.accelerators else "none"
    yield "system", "machines", str(system.nodes)
    yield "system", "memory of each GPU" if system.accelerators else "memory", str(system.memory)
    if system.host_memory.count:
        yield "system", "memory of the host", str(system.host_memory)
    if system.shared_memory.count:
        yield "system", "shared memory", str(system.shared_memory)
    for name in ("tp", "pp", "dp"):
        yield "parallelism", name, str(getattr(spread, name))
    yield "parallelism", "ep", "on" if spread.ep else "off"


def _flags(flags: tuple[str, ...]) -> Iterator[Fact]:
    """Put each flag with its values; a flag that is given again has its number behind it."""
    seen: dict[str, int] = {}
    flag, values = "", list[str]()
    for word in (*flags, ""):
        if word and (not word.startswith("-") or word[1:2].isdigit()) and flag:
            values.append(word)
            continue
        if flag:
            seen[flag] = number = seen.get(flag, 0) + 1
            yield "flags", flag if number == 1 else f"{flag} ({number})", " ".join(values) or "set"
        flag, _, value = word.partition("=")
        values = [value] if value else []


def _serving(recipe: Recipe) -> Iterator[Fact]:
    yield "serving", "name", recipe.name
    yield "serving", "port", str(recipe.port)
    yield "serving", "seconds to start", str(recipe.start_budget_s)
    yield "serving", "seconds to stop", str(recipe.stop_budget_s)
    if recipe.pre_stop_s:
        yield "serving", "seconds before the stop", str(recipe.pre_stop_s)


def _workload(package: Package) -> Iterator[Fact]:
    yield "workload", "seed", str(package.workload.seed)
    for cell in package.workload.cells:
        yield "workload", cell.name, cell_words(cell)
