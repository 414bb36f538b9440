"""Which line is the root: small logs, one per rule of choosing."""

import pytest
from tests.triage.reading import read

from dayzero.triage.model import CauseNotInLog, NamedWall, Role, RootFound, Started

HEADER = "Traceback (most recent call last):"
DEAD = (
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
)


def frame(path: str, name: str) -> str:
    return f'  File "/opt/site-packages/{path}", line 3, in {name}'


def told(process: str, pid: int, *lines: str, level: str = "ERROR") -> list[str]:
    return [f"({process} pid={pid}) {level} 09-13 10:19:41 [core.py:1] {line}" for line in lines]


def raised(process: str, pid: int, error: str, *, at: str = "vllm/a.py", inside: str = "f") -> list[str]:
    return told(process, pid, HEADER, frame(at, inside), "    go()", error)


def diagnosed(*lines: str) -> RootFound:
    diagnosis = read("\n".join(lines).encode())
    assert isinstance(diagnosis, RootFound)
    return diagnosis


def test_the_deepest_process_names_the_cause_even_when_it_comes_later():
    found = diagnosed(
        *raised("EngineCore", 2, "ValueError: engine"), *raised("Worker_TP0", 3, "KeyError: 'deep'"), DEAD
    )
    assert (found.root.line, found.root.text) == (8, "KeyError: 'deep'")


def test_of_equal_ranks_the_earliest_is_the_root_and_the_others_are_the_same():
    found = diagnosed(*raised("Worker_TP1", 3, "IndexError: one"), *raised("Worker_TP0", 4, "IndexError: other"), DEAD)
    assert (found.root.line, found.same_as) == (4, (8,))


def test_a_warning_that_explains_the_exception_beats_it():
    warning = told(
        "EngineCore",
        2,
        'Failed to import from vllm._C with ImportError("libc.so.6: version `GLIBC_2.32\' not found")',
        level="WARNING",
    )
    found = diagnosed(
        *warning, *raised("EngineCore", 2, "AttributeError: '_OpNamespace' '_moe_C' object has no attribute 'topk'")
    )
    assert found.root.line == 1
    assert (Role.SYMPTOM, 5) in {(link.role, link.line) for link in found.chain}


def test_a_warning_that_explains_nothing_is_no_root():
    lines = ["a.so: undefined symbol: _ZN3c105Error"]
    warning = told("EngineCore", 2, HEADER, frame("vllm/a.py", "f"), f"ImportError: {lines[0]}", level="WARNING")
    assert diagnosed(*warning, *raised("EngineCore", 2, "ValueError: no"), DEAD).root.text == "ValueError: no"


def test_a_rank_that_lost_its_peer_is_not_the_root():
    lost = raised("Worker_TP0", 3, "RuntimeError: [pair.cc:598] Connection closed by peer [10.0.0.5]:1")
    assert diagnosed(*lost, *raised("Worker_TP1", 4, "ValueError: no"), DEAD).root.text == "ValueError: no"


def test_the_cause_that_a_report_quotes_is_used_where_the_worker_left_no_line():
    quoting = "RuntimeError: Worker failed with error 'No module named 'acme'', please check the stack trace above"
    found = diagnosed(*raised("EngineCore", 2, quoting), DEAD)
    assert found.root.line == 4
    assert "acme" in found.root.text


@pytest.mark.parametrize(
    ("lines", "wall"),
    [
        ((DEAD,), ""),
        ((DEAD.replace("{}", "{'EngineCore': -9}"),), "died-without-cause"),
        (("nothing of note",), ""),
        (("",), ""),
    ],
)
def test_a_log_without_the_cause_is_refused_and_says_what_to_collect(lines: tuple[str, ...], wall: str):
    refused = read("\n".join(lines).encode())
    assert isinstance(refused, CauseNotInLog)
    assert refused.collect
    assert (refused.wall.wall if isinstance(refused.wall, NamedWall) else "") == wall


def test_an_engine_that_served_is_started_and_its_later_death_is_said():
    served = read(
        b"INFO 09-13 10:19:41 [a.py:1] vLLM server version 0.32.0\nINFO:     Application startup complete.\n"
        + DEAD.encode()
    )
    assert isinstance(served, Started)
    assert served.marker.line == 2
    assert served.later is not None
    assert served.later.line == 3


def test_all_ranks_on_one_gpu_are_told_from_ranks_that_each_ran_out():
    tried = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.88 GiB. "
    out = tried + "GPU {} has a total capacity of 79.10 GiB of which 1.29 GiB is free."

    def wall(*gpus: int) -> str:
        lines = [
            line
            for rank, gpu in enumerate(gpus)
            for line in raised(f"Worker_TP{rank}", 10 + rank, out.format(gpu), inside="load_model")
        ]
        found = diagnosed(*lines, DEAD)
        assert isinstance(found.wall, NamedWall)
        return found.wall.wall

    assert (wall(0, 0), wall(0, 1)) == ("gpu-occupied-or-mismapped", "weights-do-not-fit")


@pytest.mark.parametrize(("budget", "wall"), [("-8.59", "gpu-occupied-or-mismapped"), ("0.10", "kv-capacity")])
def test_a_negative_budget_is_another_wall_than_a_small_one(budget: str, wall: str):
    said = told("EngineCore", 2, f"Available KV cache memory: {budget} GiB", level="INFO")
    found = diagnosed(*said, *raised("EngineCore", 2, "ValueError: No available memory for the cache blocks."), DEAD)
    assert isinstance(found.wall, NamedWall)
    assert found.wall.wall == wall
    assert (Role.EVIDENCE, 1) in {(link.role, link.line) for link in found.chain}
    assert ("budget", budget, "GiB", 1) in {(one.name, one.value, one.unit, one.line) for one in found.numbers}


def test_the_last_complete_attempt_is_read_and_the_restarts_are_counted():
    attempt = [*raised("EngineCore", 2, "ValueError: no"), DEAD, "chat exited with code 1 (restarting)"]
    lines = [line if line.startswith("chat ") else f"chat  | {line}" for line in attempt]
    found = diagnosed(*lines, *lines, "chat  | (APIServer pid=1) INFO 09-13 10:19:41 [a.py:1] again")
    assert (found.root.line, found.log.restarts) == (10, 1)
