"""FlashInfer's own tables, and what they prove of the experts' activation and of compiled dispatches."""

import pytest
from tests.engines.vllm.capabilities.builds import shared
from tests.simulators.build_files import BuildInMemory
from tests.wheels.released import wheel

from dayzero.audit.finding import Applies, Finding, Severity
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.rules import Subject
from dayzero.kernels.flashinfer.build import (
    abi_members,
    activation_types,
    artifact_paths,
    checksums,
    dispatches,
    listed_kernels,
)
from dayzero.kernels.flashinfer.rules.activation_kernels import RULE as KERNELS
from dayzero.kernels.flashinfer.rules.dispatch_tables import RULE as DISPATCH

NEW, OLD = "5988e15c0e6d006c6a64c0f6c6748b4d3150c1af", "b368d003e8fdfe4b271bff7c788ac52ef789a81b"
STRANGE = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "a" * 64
HEADER = "flashinfer/data/include/flashinfer/trtllm/batched_gemm/KernelRunner.h"


def enums(*, situ: bool) -> str:
    return "from enum import IntEnum\nclass ActivationType(IntEnum):\n    Silu = 2\n" + (
        "    Situ = 10\n" if situ else ""
    )


def artifacts(pin: str) -> str:
    paths = f'class ArtifactPath:\n    TRTLLM_GEN_BMM: str = (\n        "{pin}/batched_gemm-1-2/"\n    )\n'
    return paths + 'class CheckSumHash:\n    TRTLLM_GEN_BMM = "ab"\n'


def header(*members: str) -> str:
    return (
        "// enum of kinds\nenum class ActType {\n  // For ActType == SwiGlu, {ideally}\n"
        + ",\n".join(members)
        + "\n};\n"
    )


def build(*, situ=True, pin=NEW, members=("SwiGlu = 0", "SiTuGlu"), files=None) -> Distribution:
    texts = {
        "flashinfer/__init__.py": "",
        "flashinfer/tllm_enums.py": enums(situ=situ),
        "flashinfer/artifacts.py": artifacts(pin),
        HEADER: header(*members),
    } | (files or {})
    return Distribution(
        name="flashinfer-python",
        version="1",
        requires=(),
        files=BuildInMemory({name: text.encode() for name, text in texts.items()}),
    )


def kernel(name: str) -> str:
    return f'{{nullptr, 0, 1, "{name}", 256, "{DIGEST}", 0}},\n'


def folder(pin: str, *names: str) -> BuildInMemory:
    text = "".join(map(kernel, names))
    return BuildInMemory({f"cubins/{pin}/batched_gemm-1-2/include/flashinferMetaInfo.h": text.encode()})


def asked(  # noqa: PLR0913  (what a subject has)
    library, *, model=None, capability=(10, 3), cubins=None, env=None, flags=()
) -> Subject:
    engine = Distribution(name="vllm", version="0", requires=(), files=BuildInMemory({"vllm/__init__.py": b""}))
    return Subject(
        installed=Installed(engine=engine, others=(library,) if library else ()),
        engine="vllm",
        model={"hidden_act": "situ"} if model is None else model,
        capability=capability,
        cubins=cubins,
        env=env or {},
        flags=flags,
    )


def test_its_tables_are_read_with_their_places():
    installed = asked(build()).installed
    types, paths, sums, abi = (read(installed) for read in (activation_types, artifact_paths, checksums, abi_members))
    assert types is not None
    assert (types.values, types.place.position) == ({"Silu": 2, "Situ": 10}, "line 2")
    assert paths is not None
    assert paths.values == {"TRTLLM_GEN_BMM": f"{NEW}/batched_gemm-1-2/"}
    assert sums is not None
    assert sums.values == {"TRTLLM_GEN_BMM": "ab"}
    assert abi is not None
    assert list(abi.values) == ["SwiGlu", "SiTuGlu"]


@pytest.mark.parametrize(
    ("parts", "severity", "applies", "words"),
    [
        ({"library": build(situ=False, pin=OLD)}, Severity.DOWNGRADE, Applies.YES, "has no Situ"),
        ({"library": build(pin=OLD)}, Severity.PATH, Applies.YES, "are older than siTuGlu: there is nothing to launch"),
        ({"library": build(members=("SwiGlu", "GeGlu"))}, Severity.PATH, Applies.YES, "has no siTuGlu"),
        ({"library": build()}, Severity.UNVERIFIED, Applies.NO, "remote artifact"),
        ({"library": build(pin=STRANGE)}, Severity.UNVERIFIED, Applies.UNKNOWN, "remote artifact"),
        (
            {"library": build(), "env": {"FLASHINFER_CUBIN_DIR": "/k"}},
            Severity.UNVERIFIED,
            Applies.UNKNOWN,
            "remote artifact",
        ),
        (
            {"library": build(), "cubins": folder(OLD, "bmm_siTuGlu_sm100f")},
            Severity.UNVERIFIED,
            Applies.YES,
            "remote artifact",
        ),
        (
            {"library": build(), "cubins": folder(NEW, "bmm_swiGlu_sm100f")},
            Severity.PATH,
            Applies.YES,
            "none of the 1 kernels",
        ),
        (
            {"library": build(), "cubins": folder(NEW, "bmm_siTuGlu_sm107a")},
            Severity.PATH,
            Applies.YES,
            "none of the 1",
        ),
        (
            {"library": build(), "cubins": folder(NEW, "bmm_siTuGluX_sm100f")},
            Severity.PATH,
            Applies.YES,
            "none of the 1",
        ),
    ],
)
def test_member_pin_header_and_kernels_must_agree(parts, severity, applies, words):
    (found,) = KERNELS.check(asked(**parts))
    assert isinstance(found, Finding)
    assert (found.severity, found.applies) == (severity, applies)
    assert words in found.message


@pytest.mark.parametrize(
    "parts",
    [
        {"library": build(), "cubins": folder(NEW, "bmm_siTuGlu_bN_sm100f", "bmm_swiGlu_sm100f")},
        {"library": build(), "cubins": folder(NEW, "bmm_siTuGlu_sm103a")},
        {"library": build(situ=False), "capability": (9, 0)},
        {"library": build(situ=False), "model": {"hidden_act": "silu"}},
        {"library": build(pin=OLD), "flags": ("--moe-backend", "marlin")},
        {"library": build(pin=OLD), "flags": ("--moe_backend=deep_gemm",)},
    ],
)
def test_kernels_that_are_there_or_that_nobody_asks_for_are_no_finding(parts):
    assert not list(KERNELS.check(asked(**parts)))


def test_kernels_are_counted_by_whole_tokens():
    kernels = listed_kernels(folder(NEW, "bmm_swiGlu_sm100f", "bmm_siTuGlu_sm100f_sm100f"), f"{NEW}/batched_gemm-1-2/")
    assert kernels is not None
    assert (kernels.total, kernels.tokens()["sm100f"], kernels.tokens()["Glu"]) == (2, 2, 0)


SOURCE = "flashinfer/data/csrc/sparse_mla_sm120_decode_dsv4.cu"
PAIRS = """#define DSV4_DISPATCH(H, K) \\
  if (num_heads == (H)) {}
  DSV4_DISPATCH(16, 512)
  DSV4_DISPATCH(32, 128)
  DSV4_DISPATCH(32, 512)
"""
SPARSE = {"model_type": "deepseek_v4", "num_attention_heads": 64, "index_topk": 512, "sliding_window": 128}


@pytest.mark.parametrize(
    ("source", "model", "flags", "capability", "missing"),
    [
        (PAIRS, SPARSE, ("--tensor-parallel-size", "2"), (12, 0), []),
        (PAIRS, SPARSE, ("--tensor-parallel-size=4",), (12, 0), ["16 heads and 128"]),
        (PAIRS, SPARSE | {"index_topk": 256}, ("-tp", "2"), (12, 0), ["32 heads and 256"]),
        (PAIRS, SPARSE, (), (12, 0), ["64 heads and 512", "64 heads and 128"]),
        (PAIRS, SPARSE, (), (10, 0), []),
        (PAIRS, SPARSE | {"model_type": "llama"}, (), (12, 0), []),
        ("  DSV4_DISPATCH(32)\n", SPARSE, ("-tp", "2"), (12, 0), []),
        ("  DSV4_DISPATCH(32)\n", SPARSE, ("-tp", "1"), (12, 0), ["64 heads and 512", "64 heads and 128"]),
    ],
)
def test_a_pair_without_a_compiled_instance_is_found(source, model, flags, capability, missing):
    library = build(files={SOURCE: source})
    said = list(DISPATCH.check(asked(library, model=model, flags=flags, capability=capability)))
    assert all(isinstance(one, Finding) and one.severity is Severity.PATH for one in said)
    assert [words in one.message for one, words in zip(said, missing, strict=True) if isinstance(one, Finding)] == [
        True for _ in missing
    ]


def test_a_macro_is_not_its_own_instance():
    (table,) = dispatches(asked(build(files={SOURCE: PAIRS})).installed, ("dsv4",))
    assert table.instances == {(16, 512), (32, 128), (32, 512)}


@pytest.mark.wheels
def test_the_tables_of_real_releases_are_what_was_read_by_hand():
    expected = shared("cases/audit/flashinfer_versions.json")
    for version in ("0.6.13", "0.6.16rc3", "0.6.16.post3", "0.7.4"):
        installed = Installed(engine=wheel("flashinfer-python", version), others=())
        read = {"ActivationType": activation_types, "ArtifactPath": artifact_paths, "CheckSumHash": checksums}
        for name, reader in read.items():
            table = reader(installed)
            assert table is not None
            values = {key: list(one) if isinstance(one, tuple) else one for key, one in table.values.items()}
            assert values == expected[version][name], (version, name)
