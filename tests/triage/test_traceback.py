"""Tracebacks out of interleaved streams."""

from dayzero.triage.records import Entry
from dayzero.triage.traceback import Relation, Trace, traces

HEADER = "Traceback (most recent call last):"
CAUSE = "The above exception was the direct cause of the following exception:"
CONTEXT = "During handling of the above exception, another exception occurred:"


def read(*said: str | tuple[str, str]) -> list[Trace]:
    entries = []
    for number, one in enumerate(said, 1):
        text, pid = one if isinstance(one, tuple) else (one, "")
        entries.append(Entry(number=number, text=text, pid=pid))
    return list(traces(entries, lambda text: text.startswith("The engine fell")))


def frame(name: str) -> str:
    return f'  File "/x/{name}.py", line 3, in {name}'


def names(trace: Trace) -> list[tuple[str, int, Relation]]:
    return [(raised.type, raised.number, raised.relation) for raised in trace.raised]


def test_frames_source_and_carets_lead_to_the_exception():
    (trace,) = read(
        HEADER, frame("a"), "    f(", "    ~^^", "    ...<6 lines>...", "    )", frame("b"), "    g()", "ValueError: no"
    )
    assert names(trace) == [("ValueError", 9, Relation.FIRST)]
    assert [one.function for one in trace.raised[0].frames] == ["a", "b"]


def test_two_ranks_whose_lines_interleave_are_read_apart():
    one = [(text, "1") for text in (HEADER, frame("a"), "    f()", "IndexError: one")]
    two = [(text, "2") for text in (HEADER, frame("b"), "    g()", "RuntimeError: two")]
    found = read(*(line for pair in zip(one, two, strict=True) for line in pair))
    assert [(trace.pid, trace.raised[0].type) for trace in found] == [("1", "IndexError"), ("2", "RuntimeError")]


def test_both_connectors_are_told_apart():
    (trace,) = read(
        HEADER, frame("a"), "KeyError: 'x'", "", CAUSE, "", HEADER, frame("b"), "ValueError: y", "", CONTEXT, "", HEADER,
        frame("c"), "OSError: z",
    )  # fmt: skip
    assert [relation for _, _, relation in names(trace)] == [Relation.FIRST, Relation.CAUSED, Relation.DURING]


def test_a_remote_traceback_without_a_header_is_inside_the_exception_that_carries_it():
    (trace,) = read(
        HEADER, frame("a"), "ray.exceptions.RayTaskError(ValueError): ray::f()", frame("b"), "    g()", "ValueError: no"
    )
    assert names(trace)[-1] == ("ValueError", 6, Relation.EMBEDDED)


def test_lost_indentation_does_not_make_source_an_exception():
    (trace,) = read(
        HEADER,
        'File "/x/a.py", line 3, in a',
        "self.worker.load_model()",
        'File "/x/b.py", line 9, in b',
        "raise ValueError(text)",
        "ValueError: no",
    )
    assert names(trace) == [("ValueError", 6, Relation.FIRST)]


def test_a_message_goes_on_until_a_report_that_stands_on_its_own():
    (trace,) = read(HEADER, frame("a"), "ValueError: no", "  because", "", "of this", "The engine fell", "after")
    assert [number for number, _ in trace.raised[0].lines] == [3, 4, 5, 6]


def test_another_programs_line_between_frames_is_no_exception():
    (trace,) = read(HEADER, frame("a"), "Loading shards:   0% done", frame("b"), "ValueError: no")
    assert len(trace.raised[0].frames) == 2


def test_an_exception_whose_head_was_cut_off_is_still_an_exception():
    (trace,) = read("    f()", "torch.OutOfMemoryError: CUDA out of memory.")
    assert names(trace) == [("torch.OutOfMemoryError", 2, Relation.FIRST)]


def test_an_ignored_exception_is_marked_as_such():
    (trace,) = read("Exception ignored in: <function f>", HEADER, frame("a"), "AttributeError: gone")
    assert trace.ignored


def test_a_header_in_a_record_is_followed_into_the_bare_lines_below_it():
    record = Entry(number=1, text=f"Scheduler hit an exception: {HEADER}", process="TP0", source="log", record=True)
    bare = [Entry(number=n, text=text) for n, text in enumerate((frame("a"), "    f()", "RuntimeError: no"), 2)]
    (trace,) = traces([record, *bare], lambda _: False)
    assert (trace.process, trace.raised[0].number) == ("TP0", 4)


def test_a_traceback_without_an_end_says_nothing():
    assert read(HEADER, frame("a"), "    f()") == []
