import pytest

from dayzero.adapters.machine import environment, host_memory

MEMINFO = "MemTotal:       24683652 kB\nMemFree:        11111111 kB\nMemAvailable:   22000000 kB\n"


@pytest.fixture
def roots(tmp_path):
    proc, cgroup = tmp_path / "proc", tmp_path / "cgroup"
    proc.mkdir()
    cgroup.mkdir()
    (proc / "meminfo").write_text(MEMINFO)
    return proc, cgroup


def test_memory_is_what_the_kernel_says_is_available(roots):
    memory = host_memory(*roots)
    assert (memory.total.count, memory.available.count) == (24683652 * 1024, 22000000 * 1024)
    assert memory.source.endswith("meminfo")


@pytest.mark.parametrize(
    ("limit", "used", "available"),
    [
        ("1000000", "400000", 600000),
        ("1000000", "2000000", 0),
        ("max", "400000", 22000000 * 1024),
        ("9" * 15, "0", 22000000 * 1024),
    ],
)
def test_a_tighter_control_group_limits_it(roots, limit, used, available):
    (roots[1] / "memory.max").write_text(limit + "\n")
    (roots[1] / "memory.current").write_text(used + "\n")
    assert host_memory(*roots).available.count == available


def test_the_environment_names_what_a_reader_needs_to_judge_a_number():
    names = [name for name, value in environment() if value]
    assert names == ["cpu", "cores", "memory_bytes", "kernel", "machine", "python", "load_average_1m"]
