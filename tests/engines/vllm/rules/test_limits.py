"""Block tables, heads and grids against what the kernels take; variables that the choice never reads."""

from dataclasses import replace

import pytest
from tests.engines.vllm.capabilities.builds import ENGINE, FLASHINFER, subject
from tests.simulators.build_files import BuildInMemory
from tests.simulators.elf_symbols import shared_object

from dayzero.audit.finding import Applies, Finding, Severity
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.report import audited
from dayzero.audit.rules import Subject
from dayzero.audit.rules.native_symbols import RULE as NATIVE
from dayzero.core.hardware import parse_system
from dayzero.engines.vllm.rules.grid_limit import RULE as GRID
from dayzero.engines.vllm.rules.kv_block_alignment import RULE as BLOCKS
from dayzero.engines.vllm.rules.prefill_kernel import RULE as PREFILL
from dayzero.engines.vllm.rules.unread_variable import RULE as VARIABLES

NAMED = {name: text.replace("FAST_MLA", "FLASHINFER_MLA") for name, text in ENGINE.items()}
HEADS = """
def decode(query, block_size):
    num_heads_q = query.size(-2)
    if 64 < num_heads_q < 128:
        reason = "not supported"
"""
ALWAYS = """
def check(block_num, block_size):
    if block_num % (128 / block_size) != 0:
        raise ValueError("block_num")
"""
SWITCHED = ALWAYS + "def call():\n    check(1, 2, require_aligned_block_table=backend != 'trtllm-gen')\n"
ALIGNED = """
def blocks(model_config, size):
    if model_config.use_mla:
        size = max(size, 128)
"""
HYBRID = {"linear_attn_config": {"num_heads": 96, "head_dim": 128}}
CHUNKS = "def run(N, H, V):\n    def grid(meta):\n        return (cdiv(V, meta['BV']), N * H)\n"
CHUNK_FILE = "vllm/third_party/flash_linear_attention/ops/chunk_delta_h.py"


def blocks(core, *, engine=NAMED, flags=("-tp", "8"), **model: object):
    asked = subject(engine=engine, libraries=FLASHINFER | {"flashinfer/mla/_core.py": core}, flags=flags, model=model)
    return [one for one in BLOCKS.check(asked) if isinstance(one, Finding)]


@pytest.mark.parametrize(("heads", "degree", "found"), [(96, "1", 1), (96, "2", 0), (96, "8", 0), (128, "1", 0)])
def test_a_rank_between_the_head_counts_that_flashinfer_takes_is_refused(heads, degree, found):
    said = blocks(HEADS, flags=("-tp", degree), num_attention_heads=heads)
    assert len(said) == found
    assert all(one.severity is Severity.PATH and one.applies is Applies.YES and "has 96" in one.message for one in said)


@pytest.mark.parametrize(
    ("core", "engine", "flags", "model", "found"),
    [
        (ALWAYS, NAMED, (), HYBRID, 1),
        (ALWAYS, NAMED, (), {}, 0),
        (SWITCHED, NAMED, (), HYBRID, 0),
        (ALWAYS, NAMED, ("--block-size", "256"), HYBRID, 0),
        (ALWAYS, NAMED | {"vllm/platforms/interface.py": ENGINE["vllm/platforms/interface.py"] + ALIGNED}, (), HYBRID, 0),
        (ALWAYS, ENGINE, (), HYBRID, 0),
    ],
)  # fmt: skip
def test_a_hybrid_models_blocks_must_be_aligned_where_flashinfer_checks_them(core, engine, flags, model, found):
    assert len(blocks(core, engine=engine, flags=("-tp", "8", *flags), **model)) == found


@pytest.mark.parametrize(
    ("flags", "system", "found"),
    [
        (("-tp", "1"), "1xh200", 1),
        (("-tp", "1", "--max-num-seqs", "682"), "1xh200", 0),
        (("-tp", "1", "--max-num-seqs", "683"), "1xh200", 1),
        (("-tp", "8"), "8xh200", 0),
        ((), "8xh200", 0),
        (("-tp", "1"), "1xl4", 0),
    ],
)
def test_sequences_times_heads_must_fit_the_second_dimension_of_the_grid(flags, system, found):
    plain = subject(engine=ENGINE | {CHUNK_FILE: CHUNKS}, flags=flags, model=HYBRID, capability=(9, 0))
    # Only a release is known to serve more sequences on a large GPU; see memory/facts.toml.
    release = replace(plain.installed.engine, version="0.27.0")
    asked = Subject(
        installed=Installed(engine=release, others=plain.installed.others),
        engine="vllm",
        model=plain.model,
        capability=(9, 0),
        flags=flags,
        system=parse_system(system),
    )
    said = [one for one in GRID.check(asked) if isinstance(one, Finding)]
    assert len(said) == found
    assert all("--max-num-seqs 682" in one.resolution for one in said)


KDA_FILE = "vllm/models/kimi_k3/nvidia/kda.py"
KDA = """
def resolve_kda_prefill_backend(backend):
    return "triton" if backend == "triton" else "flashkda"

def _flashkda_prefill():
    import vllm._flashkda_C
"""
LIBRARY = {"needed": ["libc10.so"], "undefined": ["_ZN3c105ErrorC2E"]}


def beside_torch(flags, exports):
    """A vLLM whose FlashKDA asks torch for a symbol, beside a torch with sources that its compiled names are not in."""
    plain = subject(engine=ENGINE | {CHUNK_FILE: CHUNKS, KDA_FILE: KDA}, model=HYBRID | {"model_type": "kimi_k3"})
    texts = {name: plain.installed.engine.files.read(name) for name in plain.installed.engine.files.names()}
    files = BuildInMemory(texts | {"vllm/_flashkda_C.abi3.so": shared_object(**LIBRARY)})
    engine = replace(plain.installed.engine, version="0.27.0", files=files)
    parts = {"torch/__init__.py": b"from torch._C import *", "torch/lib/libc10.so": shared_object(exports=exports)}
    torch = Distribution(name="torch", version="2.11.0", requires=(), files=BuildInMemory(parts))
    installed = Installed(engine=engine, others=(torch,))
    return replace(
        plain, installed=installed, capability=(9, 0), system=parse_system("1xh200"), flags=("-tp", "1", *flags)
    )


TRITON = ("--kda-prefill-backend", "triton")


@pytest.mark.parametrize(
    ("flags", "exports", "found"),
    [
        ((), ["x"], {"grid-limit", "prefill-kernel"}),
        (TRITON, ["x"], {"grid-limit"}),
        ((*TRITON, "--max-num-seqs", "256"), ["x"], set()),
        ((), LIBRARY["undefined"], set()),
        (TRITON, LIBRARY["undefined"], {"grid-limit"}),
    ],
)
def test_a_prefill_kernel_that_cannot_be_loaded_stops_the_start_and_leaves_the_other_ones_limit(flags, exports, found):
    asked = beside_torch(flags, exports)
    said = [*GRID.check(asked), *PREFILL.check(asked)]
    assert all(isinstance(one, Finding) and one.severity is Severity.START for one in said)
    assert {one.rule for one in said} == found


def test_a_prefill_kernel_that_cannot_be_loaded_is_one_finding_that_says_which_symbol_is_missing():
    said = audited([NATIVE, PREFILL], beside_torch((), ["x"])).findings
    assert [(one.rule, one.severity) for one in said] == [("prefill-kernel", Severity.START)]
    assert "torch==2.11.0 does not export _ZN3c105ErrorC2E" in said[0].message
    served = audited([NATIVE, PREFILL], beside_torch(TRITON, ["x"])).findings
    assert [one.rule for one in served] == ["native-symbols"]


def test_a_grid_of_another_shape_is_not_judged():
    engine = ENGINE | {CHUNK_FILE: CHUNKS.replace("N * H", "N + H")}
    assert not list(GRID.check(subject(engine=engine, model=HYBRID, flags=("-tp", "1", "--max-num-seqs", "1024"))))


@pytest.mark.parametrize(
    ("name", "found"), [("VLLM_OTHER_PATH", 1), ("VLLM_PREFER_SLOW", 0), ("VLLM_UNHEARD_OF", 0), ("VLLM_WIDE", 0)]
)
def test_a_variable_that_only_another_selection_reads_is_named(name, found):
    engine = ENGINE | {
        "vllm/model_executor/layers/fused_moe/oracle/fp8.py": "import vllm.envs as envs\nenvs.VLLM_OTHER_PATH\nenvs.VLLM_WIDE\n",
        "vllm/worker.py": "import vllm.envs as envs\nenvs.VLLM_WIDE\n",
    }  # fmt: skip
    said = list(VARIABLES.check(subject(engine=engine, env={name: "1"})))
    assert len(said) == found
