"""A whole kit for tests that need one and do not care what is measured in it."""

from dataclasses import replace
from hashlib import sha256

from tests.samples import DIGEST, package
from tests.simulators.signer import KnownSigner

from dayzero.attestation.envelope import sign_statements
from dayzero.core.launch import Budgets, LaunchSpec, LocalModel
from dayzero.core.package import Package
from dayzero.core.pins import Sha256, WheelPin
from dayzero.evidence.locator import LineLocator
from dayzero.evidence.model import Claim, Extraction, NotMeasured
from dayzero.kit.assemble import assemble
from dayzero.kit.model import Kit, KitContents
from dayzero.kit.statements import Measurement, kit_statements

PACKAGE: Package = package()
RECIPE = Sha256("cd" * 32)
ROWS = b'{"cell":"c1","ttft_ms":"12.3"}\n'
LOG = b"ready\n"
LAUNCH = LaunchSpec(
    name="tiny",
    argv=("python3", "serve.py", "--model", "model/tiny.gguf", "--port", "18480"),
    env=(("OMP_NUM_THREADS", "1"),),
    wheels=(
        WheelPin(filename="xllamacpp-2.0-cp310-abi3-manylinux2014_x86_64.whl", sha256=DIGEST),
        WheelPin(filename="xllamacpp-2.0-cp310-abi3-manylinux2014_aarch64.whl", sha256=RECIPE),
    ),
    distribution="xllamacpp==2.0",
    image="",
    model=LocalModel(files=PACKAGE.recipe.model.files),
    port=18480,
    health_path="/health",
    ready_path="/health",
    accelerators=0,
    memory_bytes=1 << 29,
    budgets=Budgets(start_s=60, stop_s=10),
)


def digest(content: bytes) -> Sha256:
    return Sha256(sha256(content).hexdigest())


CONTENTS = KitContents(
    package=PACKAGE,
    definition='name = "demo-tiny"\n',
    launch=LAUNCH,
    deploy_files=(
        ("serve.sh", "#!/usr/bin/env bash\nexec python3 serve.py\n"),
        ("compose.yaml", "services: {}\n"),
        ("Dockerfile", "FROM x\n"),
        ("Dockerfile", "FROM x\n"),
    ),
    launch_files=(("serve.py", b"print('serving')\n"),),
    ledger=b'{"seq":0}\n',
    raw_files=((digest(ROWS), ROWS), (digest(LOG), LOG)),
    card="# Tiny\n",
)
CLAIM = Claim(
    slug="demo-tiny/c1-ttft-p50",
    label="time to first token, median",
    value="12.30",
    unit="ms",
    raw=digest(ROWS),
    locator=LineLocator(line=1, sha256=digest(ROWS[:-1])),
    extraction=Extraction(extractor="bench-rows@1", parameters=(("cell", "c1"),)),
    subject=RECIPE,
)
MEASUREMENT = Measurement(
    workload=PACKAGE.workload,
    claims=(CLAIM,),
    not_measured=(NotMeasured(topic="quality", why="random weights"),),
    environment=(("machine", "cpu-1core"), ("system", "Linux")),
)


def kit() -> Kit:
    return assemble(CONTENTS)


def signed(signer: KnownSigner | None = None, made: Kit | None = None) -> bytes:
    owner = signer or KnownSigner()
    return sign_statements(kit_statements(made or kit(), PACKAGE, RECIPE, MEASUREMENT, owner.kind), owner)


def renamed(card: str) -> Kit:
    """Make another kit of the same package."""
    return assemble(replace(CONTENTS, card=card))
