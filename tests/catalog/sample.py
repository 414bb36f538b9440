"""Two packages with evidence as a real run leaves it: one on the processor, one on eight GPUs with a retraction."""

import hashlib
from dataclasses import replace
from typing import Any

from dayzero.catalog.card import build_card
from dayzero.catalog.edition import DeployFile, Deployment, Edition, SystemFit
from dayzero.catalog.model import Card, Fit, FitState, KitFacts, NotYet, Reached
from dayzero.catalog.release import Release, Yank
from dayzero.catalog.told import Told
from dayzero.core.errors import EvidenceError
from dayzero.core.hardware import System
from dayzero.core.package import Change, ClaimRef, Package, Unmeasured, Wall
from dayzero.core.parallelism import Parallelism
from dayzero.core.pins import (
    Commit,
    EngineBuild,
    FilePin,
    FromSeed,
    HubRevision,
    KernelPin,
    ModelPin,
    Sha256,
    SourceBuild,
    WheelPin,
)
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.core.workload import Cell, Workload
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.locate import line_locator
from dayzero.evidence.locator import PointerLocator, WholeFile
from dayzero.evidence.model import (
    Claim,
    Concern,
    Correction,
    Derived,
    Expiry,
    Explanation,
    Extraction,
    RawFile,
    Reaffirmation,
    Record,
    Retraction,
    Trial,
    Uncitable,
)
from dayzero.evidence.subject import recipe_digest

ROWS = b'{"cell":"c1","ttft_ns":56100000}\n{"cell":"c1","ttft_ns":56300000}\n'
START = b'{"seconds": 0.64}\n'
LOG = b"boot\nrate <b>140.30</b> tok/s \x1b[31m & more\nbye\n"
GIB = 1024**3


def digest(content: bytes) -> Sha256:
    return Sha256(hashlib.sha256(content).hexdigest())


def raw_file(name: str, content: bytes) -> RawFile:
    return RawFile(
        sha256=digest(content),
        name=name,
        size=Bytes(len(content)),
        captured_at="2026-11-29T16:40:12Z",
        command="dayzero bench PACKAGE",
    )


def bench_ref(id_: str, label: str, unit: str, metric: str, *, headline: bool = False) -> ClaimRef:
    """Ask for a statistic of the rows; ``metric`` is written ``cell/metric/statistic``."""
    cell, name, statistic = metric.split("/")
    return ClaimRef(
        id=id_,
        label=label,
        unit=unit,
        source="requests.jsonl",
        extractor="bench-rows@1",
        parameters=(("cell", cell), ("metric", name), ("statistic", statistic), ("decimals", "1")),
        headline=headline,
    )


def claim(package: Package, id_: str, value: str, content: bytes = ROWS) -> Claim:
    """Make the claim that a run would append for one number of the definition."""
    ref = next(ref for ref in package.claims if ref.id == id_)
    return Claim(
        slug=f"{package.name}/{id_}",
        label=ref.label,
        value=value,
        unit=ref.unit,
        raw=digest(content),
        locator=PointerLocator(pointer=ref.pointer) if ref.pointer else WholeFile(),
        extraction=Extraction(extractor=ref.extractor, parameters=ref.parameters),
        subject=recipe_digest(package.recipe),
    )


def wheel(version: str, platform: str, fill: str) -> WheelPin:
    return WheelPin(filename=f"xllamacpp-{version}-cp310-abi3-{platform}.whl", sha256=Sha256(fill * 32))


def tiny() -> Package:
    """Give the package on the processor, with one headline and three other numbers."""
    build = EngineBuild(
        engine="llamacpp",
        distribution="xllamacpp",
        version="2026.10.11549",
        wheels=(
            wheel("2026.10.11549", "manylinux2014_x86_64.manylinux_2_17_x86_64", "c5"),
            wheel("2026.10.11549", "manylinux2014_aarch64.manylinux_2_17_aarch64", "e2"),
        ),
    )
    return Package(
        name="demo-kimi-k3-tiny",
        version="1.0.0",
        title="Kimi-K3 architecture at 7M parameters, on one CPU core",
        summary="The architecture of Kimi K3 at 7 million parameters, with weights made from a seed. It shows the wall "
        "that a new architecture meets in an engine build that does not know it, and the way past it.",
        tier="open",
        technique="",
        recipe=Recipe(
            name="tiny-kimi-k3",
            model=ModelPin(
                name="tiny-kimi-k3-seed7",
                architecture="kimi-k3",
                tensor_types=("f32", "mxfp4"),
                weights_format="gguf",
                parameters=7_036_744,
                licence="Apache-2.0",
                origin=FromSeed(generator="kimi-k3", seed=7),
                files=(FilePin(path="tiny-kimi-k3-seed7.gguf", sha256=Sha256("e2de4c86" * 8), size=Bytes(18_625_760)),),
            ),
            engine=build,
            kernels=(KernelPin(library="ggml", distribution="xllamacpp", version="2026.10.11549"),),
            system=System(name="cpu-1core", accelerator="", accelerators=0, memory=Bytes(GIB // 2)),
            parallelism=Parallelism(),
            flags=("--n-ctx", "8192", "--n-parallel", "4", "--cpuparams.n-threads", "1", "--kv-unified", "true"),
            env=(),
            port=18480,
            start_budget_s=60,
            stop_budget_s=10,
        ),
        workload=Workload(
            seed=20260727,
            cells=(
                Cell(name="c1", concurrency=1, requests=64, warmup_requests=4, input_tokens=128, output_tokens=64),
                Cell(name="c4", concurrency=4, requests=64, warmup_requests=8, input_tokens=128, output_tokens=64),
            ),
        ),
        walls=(
            Wall(
                advisory="DZA-2026-001",
                build=replace(
                    build, version="2026.8.10229", wheels=(wheel("2026.8.10229", "manylinux2014_x86_64", "c9"),)
                ),
                resolution="Re-pin the engine build to one whose architecture table holds kimi-k3.",
            ),
        ),
        claims=(
            bench_ref(
                "c1-output-tok-s",
                "output rate, one stream",
                "tok/s",
                "c1/output_tok_s/total",
                headline=True,
            ),
            bench_ref("c1-ttft-p50", "time to first token, one stream", "ms", "c1/ttft_ms/p50"),
            bench_ref("c4-ttft-p90", "time to first token, four streams", "ms", "c4/ttft_ms/p90"),
            ClaimRef(
                id="start-to-healthy",
                label="start to healthy",
                unit="s",
                source="start.json",
                extractor="json-value@1",
                parameters=(("decimals", "2"),),
                pointer="/seconds",
            ),
        ),
        unmeasured=(
            Unmeasured(topic="quality of the answers", why="The weights are random; there is no quality to measure."),
            Unmeasured(
                topic="99th percentiles", why="At 99 % confidence they need 662 requests a cell; this grid sends 64."
            ),
        ),
        changes=(Change(version="1.0.0", date="2026-11-29", kind="added", text="First version."),),
    )


def large() -> Package:
    """Give the package on GPUs: weights on a hub, a source build, three numbers."""
    small = tiny()
    return replace(
        small,
        name="kimi-k3-8xb300",
        version="1.1.0",
        title="Kimi K3 on one node of eight B300",
        summary="The pinned upstream weights on a pinned source build, in one NVLink domain.",
        tier="licensed",
        recipe=replace(
            small.recipe,
            model=replace(
                small.recipe.model,
                name="Kimi-K3",
                architecture="KimiK3ForConditionalGeneration",
                tensor_types=("mxfp4", "bf16"),
                weights_format="safetensors",
                parameters=2_800_000_000_000,
                licence="Modified MIT",
                origin=HubRevision(repository="moonshotai/Kimi-K3", revision=Commit("0123456789" * 4)),
                files=(
                    FilePin(path="model-00001-of-00096.safetensors", sha256=Sha256("ab" * 32), size=Bytes(17 * GIB)),
                    FilePin(path="config.json", sha256=Sha256("cd" * 32), size=Bytes(4_711)),
                ),
            ),
            engine=EngineBuild(
                engine="vllm",
                distribution="vllm",
                version="0.26.1.dev7",
                wheels=(),
                image="registry.example/vllm@sha256:" + "9f" * 32,
                source=SourceBuild(repository="vllm-project/vllm", commit=Commit("fedcba9876" * 4)),
            ),
            system=System(name="8xb300", accelerator="B300", accelerators=8, memory=Bytes(268 * GIB)),
            parallelism=Parallelism(tp=8, ep=True),
            flags=("--tensor-parallel-size", "8", "--enable-expert-parallel", "--block-size", "128"),
            env=(("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),),
        ),
        walls=(),
        claims=(
            bench_ref(
                "c1-output-tok-s",
                "output rate, one stream",
                "tok/s",
                "c1/output_tok_s/p50",
                headline=True,
            ),
            bench_ref(
                "c4-output-tok-s",
                "output rate, four streams together",
                "tok/s",
                "c4/output_tok_s/total",
            ),
            bench_ref("c4-ttft-p95", "time to first token, four streams", "ms", "c4/ttft_ms/p95"),
        ),
        changes=(
            Change(version="1.1.0", date="2026-11-28", kind="retracted", text="The headline rate was taken back."),
            Change(version="1.0.0", date="2026-08-05", kind="added", text="First version."),
        ),
    )


def tiny_records() -> tuple[Record, ...]:
    package = tiny()
    return (
        raw_file("requests.jsonl", ROWS),
        raw_file("start.json", START),
        claim(package, "c1-output-tok-s", "532.4"),
        claim(package, "c1-ttft-p50", "56.1"),
        claim(package, "c4-ttft-p90", "411.9"),
        claim(package, "start-to-healthy", "0.64", START),
    )


def large_records() -> tuple[Record, ...]:
    package = large()
    return (
        claim(package, "c1-output-tok-s", "140.4"),
        claim(package, "c4-output-tok-s", "388.0"),
        Retraction(
            slug="kimi-k3-8xb300/c1-output-tok-s",
            kind="withdraw",
            reason="The clock of the client was stepped during the run; 140.4 tok/s cannot be told from it.",
            at="2026-11-28T09:15:00Z",
        ),
    )


KIT = KitFacts(
    archive="demo-kimi-k3-tiny-1.0.0.kit.tar",
    size=Bytes(48_640),
    weight_bytes=Bytes(0),
    key_fingerprint="SHA256:" + "4be1" * 16,
    demo_key=True,
    verify_command="dayzero kit verify demo-kimi-k3-tiny-1.0.0.kit.tar --key demo-key.pub",
)

STATUSES = (
    Reached(step="resolves", date="2026-11-29", pin="xllamacpp==2026.10.11549"),
    Reached(step="starts", date="2026-11-29", pin="xllamacpp==2026.10.11549"),
    Reached(step="serves", date="2026-11-29", pin="xllamacpp==2026.10.11549"),
    Reached(step="measured", date="2026-11-29", pin="xllamacpp==2026.10.11549"),
    NotYet(step="quality-gated", why="The weights are random; no gate applies."),
)

FITS = Fit(FitState.MEASURED_FITS, "It was served on this system: weights 17.76 MiB and cache within 512.00 MiB.")


def ledger_of(*records: Record) -> Ledger:
    ledger, _ = Ledger().append(records)
    return ledger


AT = "2026-11-30T08:00:00Z"


def log_claim(slug: str, value: str = "140.30", *, line: int = 2) -> Claim:
    """Make a claim on one line of the log, of any slug."""
    return Claim(
        slug=slug,
        label=f"rate of {slug}",
        value=value,
        unit="tok/s",
        raw=digest(LOG),
        locator=line_locator(LOG, line),
        extraction=Extraction(extractor="text-line@1", parameters=(("pattern", r"<b>(\d+\.\d+)</b>"),)),
        subject=Sha256("0" * 64),
    )


def ratio(slug: str, *inputs: str) -> Derived:
    return Derived(slug=slug, label=f"ratio {slug}", value="1.00", unit="x", rule="ratio@1", inputs=inputs, decimals=2)


def every_state() -> tuple[Record, ...]:
    """Say something under a slug for each state that a page can show; the slug names the state."""
    return (
        raw_file("run.log", LOG),
        log_claim("s/standing"),
        log_claim("lone"),
        log_claim("s/deep/er"),
        log_claim("s/superseded", "139.90"),
        log_claim("s/superseded"),
        log_claim("s/corrected", "14.03"),
        Correction(slug="s/corrected", reason="A decimal point was lost.", at=AT),
        log_claim("s/corrected"),
        log_claim("s/concern"),
        Concern(slug="s/concern", reason="It was <i>retried</i> in 20 ms.", at=AT),
        log_claim("s/reaffirmed"),
        Concern(slug="s/reaffirmed", reason="The clock was looked at.", at=AT),
        Reaffirmation(slug="s/reaffirmed", reason="The clock was right.", at=AT),
        log_claim("s/expired"),
        Expiry(slug="s/expired", reason="The image is gone.", at=AT),
        log_claim("s/withdrawn", "77.10"),
        ratio("s/derived", "s/standing", "s/concern"),
        ratio("s/unsupported", "s/standing", "s/withdrawn"),
        Retraction(slug="s/withdrawn", kind="withdraw", reason="The batch size was guessed.", at=AT),
        log_claim("s/retracted", "88.20"),
        Retraction(slug="s/retracted", kind="retract", reason="The clock was wrong.", at=AT),
        Explanation(
            slug="s/cause",
            statement="Graph capture reads a tensor that the replay overwrites.",
            facts=("s/standing", "s/reaffirmed", "s/concern"),
            trials=(
                Trial(
                    name="first",
                    conditions=(("autotune", "on"),),
                    outcome="died",
                    raw=digest(LOG),
                    locator=line_locator(LOG, 3),
                ),
            ),
        ),
        Uncitable(slug="s/uncitable", topic="rate on the lost node", why="The log went with the node."),
    )


def told_of(*records: Record) -> Told:
    return Told.read(ledger_of(*records))


def made_card(package: Package, *records: Record, **more: Any) -> Card:
    """Build the card of a package from records; kit, statuses and fit are nothing unless they are given."""
    given = {"kit": None, "statuses": (), "fit": Fit(FitState.UNKNOWN, "Nobody has tried it here."), **more}
    return build_card(package, told_of(*records).about(recipe_digest(package.recipe)), **given)


def edition_of(
    package: Package,
    *records: Record,
    at: str = "",
    yank: Yank | None = None,
    fits: tuple[SystemFit, ...] = (),
    **more: Any,
) -> Edition:
    """Make a version, released where ``at`` says when, else a draft."""
    card, text = made_card(package, *records, **more), f"name = {package.name!r}, version = {package.version!r}\n"
    digest_of = digest(text.encode())
    said = Release(package=package.name, version=package.version, at=at or AT, definition=digest_of, recipe=card.recipe)
    file = DeployFile(
        target="shell",
        path="serve.sh",
        content=b"#!/bin/sh\n",
        sha256=digest(b"#!/bin/sh\n"),
        proven="proven",
        why="Equal.",
    )
    return Edition(
        card=card,
        release=said if at else None,
        yank=yank,
        definition=text,
        definition_sha256=digest_of,
        rendering=lambda: Deployment((file,)),
        fits=fits,
        difference=None,
        terms=None,
    )


class RawFolder:
    """A place for raw files, in memory."""

    def __init__(self, *contents: bytes) -> None:
        self.files = {digest(content): content for content in contents}

    def read(self, digest: Sha256) -> bytes:
        if digest not in self.files:
            raise EvidenceError(f"no raw file {digest}", hint="File it again.")
        return self.files[digest]

    def put(self, content: bytes) -> Sha256:
        self.files[digest(content)] = content
        return digest(content)
