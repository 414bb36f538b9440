"""Timing on a GPU, against a stand-in for torch whose clock the test sets."""

import builtins
import contextlib
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from dayzero.collector.timing import Method, measure
from dayzero.collector.trace import launched
from dayzero.collector.work import Check, Ranks, Work, compare, unchecked


class Cuda:
    """A GPU on which each call takes the same time."""

    def __init__(self, call_us, *, capture=True, launch_us=0.0) -> None:
        self.launch_us = launch_us
        self.now_us, self.call_us, self.calls, self.capturing, self.flushes = 0.0, call_us, 0, None, 0
        self.can_capture = capture
        self.modes = []

    def call(self, launch_us=None):
        if self.capturing is not None:
            self.capturing.count += 1
            return
        self.now_us += self.call_us + (self.launch_us if launch_us is None else launch_us)
        self.calls += 1

    def torch(self):
        cuda = self

        class Event:
            def __init__(self, *, enable_timing) -> None:
                self.at = 0.0
                assert enable_timing

            def record(self) -> None:
                self.at = cuda.now_us

            def synchronize(self) -> None:
                pass

            def elapsed_time(self, other) -> float:
                return (other.at - self.at) / 1000

        class Graph:
            count = 0

            def replay(self) -> None:
                for _ in range(self.count):
                    cuda.call(launch_us=0.0)

        @contextlib.contextmanager
        def graph(made, *, capture_error_mode="global") -> Iterator[None]:
            cuda.modes.append(capture_error_mode)
            if not cuda.can_capture:
                raise RuntimeError("operation not permitted when stream is capturing")
            cuda.capturing = made
            yield
            cuda.capturing = None

        def flush() -> None:
            cuda.flushes += 1

        return SimpleNamespace(
            cuda=SimpleNamespace(Event=Event, CUDAGraph=Graph, graph=graph, synchronize=lambda: None),
            empty=lambda *_, **__: SimpleNamespace(zero_=flush),
            int8="int8",
        )


def work(cuda, **more: bool):
    return Work(call=cuda.call, check=unchecked("a stand-in"), **more)


def test_short_calls_are_repeated_in_a_graph_until_a_sample_lasts():
    cuda = Cuda(10.0)
    timed = measure(cuda.torch(), work(cuda), Method())
    assert (timed.timing_method, timed.used_cuda_graph, timed.l2_state) == ("graph_event", True, "warm")
    assert timed.inner_repeats == 100  # 1 ms a sample
    assert timed.samples_us == [pytest.approx(10.0)] * 40


def test_how_often_a_call_is_repeated_follows_from_its_graph_and_not_from_the_launches_outside_it():
    timed = measure((cuda := Cuda(10.0, launch_us=240.0)).torch(), work(cuda), Method())
    assert (timed.inner_repeats, timed.samples_us[0]) == (100, pytest.approx(10.0))


def test_long_calls_are_timed_one_by_one_and_not_for_ever():
    cuda = Cuda(100_000.0)
    timed = measure(cuda.torch(), work(cuda), Method(least=5))
    assert (timed.inner_repeats, len(timed.samples_us)) == (1, 5)
    assert measure(cuda.torch(), work(cuda), Method(limit_s=-1.0)).samples_us == [100_000.0]


def test_a_lane_that_serving_does_not_capture_is_not_captured():
    cuda = Cuda(900.0)
    timed = measure(cuda.torch(), work(cuda, graph=False), Method())
    assert (timed.timing_method, timed.used_cuda_graph, timed.note) == ("cuda_event", False, "")


def test_a_graph_that_cannot_be_made_is_said():
    cuda = Cuda(4.0, capture=False)
    timed = measure(cuda.torch(), work(cuda), Method())
    assert timed.timing_method == "cuda_event"
    assert timed.note == "no CUDA graph: RuntimeError: operation not permitted when stream is capturing"


def test_the_cache_is_written_over_before_each_single_call():
    cuda = Cuda(4.0)
    timed = measure(cuda.torch(), work(cuda), Method(flush=True, most=7))
    assert (timed.l2_state, timed.inner_repeats, cuda.flushes) == ("flushed", 1, 7)


def together(cuda, slowest_us, others_us=()):
    """Ranks of which the slowest takes so long for a call."""
    cuda.lined_up = 0

    def line_up() -> None:
        assert cuda.capturing is None
        cuda.lined_up += 1

    def mean(values) -> list[float]:
        return [sum((value, *others_us)) / (1 + len(others_us)) for value in values]

    return Ranks(line_up=line_up, largest=lambda value: max(value, slowest_us), mean=mean)


@pytest.mark.parametrize(("slowest_us", "repeats", "samples"), [(20.0, 100, 20), (900.0, 2, 23), (3e6, 1, 1)])
def test_ranks_that_wait_for_each_other_make_the_same_calls_however_fast_each_of_them_is(slowest_us, repeats, samples):
    counts = []
    for call_us in (4.0, slowest_us):
        cuda = Cuda(call_us)
        timed = measure(
            cuda.torch(), work(cuda, ranks=together(cuda, slowest_us)), Method(sample_us=2000.0, repeats=100)
        )
        assert (timed.inner_repeats, len(timed.samples_us)) == (repeats, samples)
        assert cuda.lined_up == 3 + samples
        counts.append(cuda.calls)
    assert counts[0] == counts[1]


def test_ranks_tell_the_mean_of_what_each_of_them_saw_and_are_captured_beside_other_threads():
    cuda = Cuda(4.0)
    timed = measure(cuda.torch(), work(cuda, ranks=together(cuda, 4.0, others_us=(6.0,))), Method())
    assert set(timed.samples_us) == {5.0}
    assert set(cuda.modes) == {"thread_local"}
    measure((alone := Cuda(4.0)).torch(), work(alone), Method())
    assert set(alone.modes) == {"global"}


def test_ranks_without_a_gpu_line_up_before_each_sample():
    calls, lined_up = [], []
    ranks = Ranks(line_up=lambda: lined_up.append(len(calls)), largest=lambda _: 1000.0, mean=lambda values: values)
    done = Work(call=lambda: calls.append(1), check=unchecked("nothing"), device="cpu", ranks=ranks)
    timed = measure(None, done, Method(sample_us=2000.0, most=9))
    assert (timed.inner_repeats, len(timed.samples_us)) == (2, 9)
    assert lined_up == [*range(3, 6), *range(6, 6 + 2 * 9, 2)]


def test_without_a_gpu_the_clock_is_read():
    calls = []
    timed = measure(None, Work(call=lambda: calls.append(1), check=unchecked("nothing"), device="cpu"), Method(most=9))
    assert (timed.timing_method, timed.l2_state, len(timed.samples_us)) == ("wall", "unknown", 9)
    assert len(calls) == 3 + 3 + 9 * timed.inner_repeats


def profiler(events, error=None):
    @contextlib.contextmanager
    def profile(activities) -> Iterator[SimpleNamespace]:
        assert activities == ["on the gpu"]
        if error is not None:
            raise error
        yield SimpleNamespace(events=lambda: events)

    activity = SimpleNamespace(CUDA="on the gpu", CPU="on the processor")
    return SimpleNamespace(
        profiler=SimpleNamespace(profile=profile, ProfilerActivity=activity),
        cuda=SimpleNamespace(synchronize=lambda: None),
        __version__="2.11.0",
    )


def event(name, start, took, device="DeviceType.CUDA"):
    return SimpleNamespace(
        name=name, device_type=device, time_range=SimpleNamespace(start=start, elapsed_us=lambda: took)
    )


def test_kernels_are_told_in_the_order_in_which_they_were_launched():
    events = [event("b", 5, 2.0), event("a", 1, 1.0), event("b", 9, 2.5), event("aten::mm", 0, 9.0, "DeviceType.CPU")]
    found = launched(profiler(events), lambda: None, "cuda")
    assert found == {"kernels": [["a", 1], ["b", 2]], "busy_us": 5.5, "tool": "torch.profiler 2.11.0"}


def test_a_machine_that_does_not_let_itself_be_profiled_says_so():
    found = launched(profiler([], RuntimeError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")), lambda: None, "cuda")
    assert found == {"error": "RuntimeError: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"}


class Tensor:
    """One number that stands for a tensor."""

    def __init__(self, value) -> None:
        self.value = value

    def float(self):
        return self

    def __sub__(self, other) -> "Tensor":
        return Tensor(self.value - other.value)

    def __truediv__(self, other) -> "Tensor":
        return Tensor(self.value / other.value)

    def __float__(self) -> builtins.float:
        return self.value

    def abs(self):
        return Tensor(abs(self.value))

    def max(self):
        return self

    def clamp(self, min):  # noqa: A002  (as torch has it)
        return Tensor(max(self.value, min))


@pytest.mark.parametrize(
    ("found", "state"), [(10.2, "agrees"), (10.4, "differs"), (float("nan"), "differs"), (float("inf"), "differs")]
)
def test_a_result_agrees_within_its_limit(found, state):
    torch = SimpleNamespace(
        isfinite=lambda t: SimpleNamespace(all=lambda: abs(t.value) != float("inf") and t.value == t.value)
    )
    check = compare(torch, Tensor(found), Tensor(10.0), against="ten", limit=0.03)
    assert isinstance(check, Check)
    assert check.state == state
    assert check.error == check.error  # it can be written as JSON
