"""A whole kit for tests that need one and do not care what is measured in it; every check of it holds."""

from dataclasses import replace
from hashlib import sha256

from tests.simulators.signer import KnownSigner

from dayzero.adapters.package_files import parse_package
from dayzero.attestation.envelope import seal
from dayzero.core.launch import LaunchSpec
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.locator import PointerLocator
from dayzero.evidence.model import Claim, Extraction, NotMeasured, RawFile
from dayzero.evidence.subject import recipe_digest
from dayzero.kit.assemble import assemble
from dayzero.kit.backing import backing
from dayzero.kit.draft import Draft, completed
from dayzero.kit.model import Kit, KitContents
from dayzero.kit.statements import kit_statement, receipt_statements
from dayzero.wiring.deploy import deployment
from dayzero.wiring.kit_contents import RawInKit, contents_of
from dayzero.wiring.launches import launch_of_package

DEFINITION = """\
schema = "dayzero/package/v1"
name = "demo-tiny"
version = "1.0.0"
title = "Tiny"
summary = "For tests."
tier = "open"
technique = ""

[model]
name = "tiny"
architecture = "kimi-k3"
tensor_types = ["f32", "mxfp4"]
weights_format = "gguf"
parameters = 7_000_000
licence = "Apache-2.0"

[model.from_seed]
generator = "kimi-k3"
seed = 7

[[model.files]]
path = "tiny.gguf"
sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
size_bytes = 1000

[engine]
engine = "llamacpp"
distribution = "xllamacpp"
version = "2.0"

[[engine.wheels]]
filename = "xllamacpp-2.0-cp310-abi3-manylinux2014_x86_64.whl"
sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

[[engine.wheels]]
filename = "xllamacpp-2.0-cp310-abi3-manylinux2014_aarch64.whl"
sha256 = "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"

[[kernels]]
library = "ggml"
distribution = "xllamacpp"
version = "2.0"

[system]
name = "cpu-1core"
memory_bytes = 536_870_912

[serving]
name = "tiny"
port = 18480
flags = ["--n-ctx", "8192"]
env = { OMP_NUM_THREADS = "1" }
start_budget_s = 60
stop_budget_s = 10

[workload]
seed = 1

[[workload.cells]]
name = "c1"
concurrency = 1
warmup_requests = 1
requests = 4
input_tokens = 8
output_tokens = 4

[[claims]]
id = "start-to-healthy"
label = "start to healthy"
unit = "s"
source = "start.json"
pointer = "/seconds"
extractor = "json-value@1"
parameters = { decimals = "2" }
headline = true

[[not_measured]]
topic = "quality"
why = "random weights"

[[changes]]
version = "1.0.0"
date = "2026-11-29"
kind = "added"
text = "First version."
"""
PACKAGE: Package = parse_package(DEFINITION, "package.toml")
RECIPE = recipe_digest(PACKAGE.recipe)
START = b'{"seconds": 12.3}\n'
LOG = b"ready\n"
ENVIRONMENT = (("machine", "cpu-1core"), ("system", "Linux"))
LAUNCH: LaunchSpec = launch_of_package(PACKAGE)


def digest(content: bytes) -> Sha256:
    return Sha256(sha256(content).hexdigest())


def raw_file(name: str, content: bytes) -> RawFile:
    at = "2026-11-29T17:10:40Z"
    return RawFile(sha256=digest(content), name=name, size=Bytes(len(content)), captured_at=at, command="made it")


CLAIM = Claim(
    slug="demo-tiny/start-to-healthy",
    label="start to healthy",
    value="12.30",
    unit="s",
    raw=digest(START),
    locator=PointerLocator(pointer="/seconds"),
    extraction=Extraction(extractor="json-value@1", parameters=(("decimals", "2"),)),
    subject=RECIPE,
)
RECORDS = (
    raw_file("start.json", START),
    raw_file("engine.log", LOG),
    CLAIM,
    NotMeasured(topic="quality", why="random weights"),
)


def contents(*more: object, package: Package = PACKAGE, definition: str = DEFINITION) -> KitContents:
    """Put a kit's contents together as the program does, with more records at the end of its ledger."""
    ledger, lines = Ledger().append([*RECORDS, *more])  # type: ignore[list-item]
    raw = RawInKit({f"evidence/raw/{digest(content)}": content for content in (START, LOG)})
    launch = launch_of_package(package)
    deployed = deployment(launch, ("compose", "shell"))
    return contents_of(package, definition, launch, (backing(package, lines, ledger, raw), ledger), deployed)


CONTENTS = contents()


def kit() -> Kit:
    return assemble(CONTENTS)


def signed(signer: KnownSigner | None = None, made: Kit | None = None, held: KitContents = CONTENTS) -> bytes:
    owner, whole = signer or KnownSigner(), made or assemble(held)
    draft = Draft(kit_statement(whole, held), receipt_statements(whole, held, ENVIRONMENT))
    return b"".join(seal(statement, owner) for statement in completed(draft, owner.kind))


def renamed(card: str) -> Kit:
    """Make another kit of the same package."""
    return assemble(replace(CONTENTS, card=card))
