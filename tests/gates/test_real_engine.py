"""The contract and the task gate against the embedded engine with real weights."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from gguf import GGUFReader
from tests.conftest import EmbeddedEngine
from tests.engines.llamacpp.fixtures import recipe_for, start

from dayzero.adapters.openai_http import Connection
from dayzero.core.errors import RemoteError
from dayzero.core.verdict import Undecided
from dayzero.gates.contract.model import Broken, Holds, NotOffered
from dayzero.gates.model import Different, Same
from dayzero.gates.task import TaskPlan
from dayzero.wiring import definitions, laboratory
from dayzero.wiring.gate_contract import look_at_contract
from dayzero.wiring.gate_task import TaskRequest, TaskRun, lm_eval_environment, run_task

TASK = Path(__file__).parent / "tasks" / "short_answers"


@pytest.fixture(scope="module")
def smollm2() -> Path:
    model = definitions.package("demo-smollm2").recipe.model
    try:
        return laboratory.weights(model, laboratory.weights_cache(model))[0]
    except RemoteError as error:
        pytest.skip(f"the weights are not here: {error.message}")


@pytest.fixture(scope="module")
def endpoint(embedded_engine: EmbeddedEngine, smollm2: Path, tmp_path_factory) -> Iterator[str]:
    server = start(embedded_engine.site, recipe_for(smollm2), smollm2, tmp_path_factory.mktemp("a"))
    yield server.base_url
    server.stop()


@pytest.fixture(scope="module")
def damaged(embedded_engine: EmbeddedEngine, smollm2: Path, tmp_path_factory) -> Iterator[str]:
    """Serve a copy in which one tensor of the second layer is zero."""
    folder = tmp_path_factory.mktemp("b")
    tensor = next(one for one in GGUFReader(smollm2).tensors if one.name == "blk.1.ffn_down.weight")
    content = bytearray(smollm2.read_bytes())
    content[tensor.data_offset : tensor.data_offset + tensor.n_bytes] = bytes(int(tensor.n_bytes))
    copy = folder / "damaged.gguf"
    copy.write_bytes(content)
    server = start(embedded_engine.site, recipe_for(copy), copy, folder)
    yield server.base_url
    server.stop()


# What llama.cpp (build 11549) breaks, found by this suite: it takes values out of range and parameters that it does not know, it
# answers for any model's name, and with this model's template it drops tools and a required call in silence.
BROKEN = {"ranges", "tool-call", "tool-call-streamed", "unknown-model", "unknown-parameter"}


@pytest.mark.gates
@pytest.mark.engine
def test_the_embedded_engine_breaks_what_it_is_known_to_break_and_nothing_else(endpoint, tmp_path):
    done = look_at_contract(Connection(url=endpoint), "", tmp_path / "out", known=sorted(BROKEN), told=lambda _: None)
    by_kind = {
        kind: {one.check for one in done.report.found if isinstance(one.outcome, kind)}
        for kind in (Holds, Broken, NotOffered, Undecided)
    }
    assert by_kind[Broken] == BROKEN
    assert by_kind[NotOffered] == {"reasoning"}
    assert by_kind[Undecided] == {"tool-choice-none"}


def asked(a: str, b: str, folder: Path) -> TaskRun:
    if not (lm_eval_environment() / "bin" / "lm_eval").exists():
        pytest.skip("lm-eval is not here: install it with tools/tool_env.sh lm-eval, or name it in DAYZERO_LM_EVAL_ENV")
    request = TaskRequest(
        plan=TaskPlan(task="short_answers", margin=0.15),
        a=(Connection(url=a), ""),
        b=(Connection(url=b), ""),
        include_path=TASK,
        route="completions",
        concurrency=1,
        folder=folder,
    )
    return run_task(request, lambda _: None)


@pytest.mark.lm_eval
@pytest.mark.engine
def test_one_server_asked_twice_is_the_same(endpoint, tmp_path):
    done = asked(endpoint, endpoint, tmp_path / "out")
    assert isinstance(done.judged.verdict, Same), done.document
    assert done.judged.arms["A"].right > 20
    assert done.judged.arms["A"].truncated == done.judged.arms["A"].unscorable == 0


@pytest.mark.lm_eval
@pytest.mark.engine
def test_a_copy_with_one_damaged_layer_is_different(endpoint, damaged, tmp_path):
    done = asked(endpoint, damaged, tmp_path / "out")
    assert isinstance(done.judged.verdict, Different), done.document
    compared = done.judged.compared
    assert compared is not None
    assert compared.table.only_a > compared.table.only_b
