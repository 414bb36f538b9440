from dataclasses import replace

from tests.catalog.sample import ROWS, bench_ref, claim, made_card, raw_file, tiny

from dayzero.catalog.model import Card
from dayzero.catalog.series import series_of
from dayzero.core.workload import Cell, Constant
from dayzero.evidence.model import Record, Retraction

CELLS = tuple(
    Cell(
        name=f"c{streams}",
        concurrency=streams,
        requests=64 * streams,
        warmup_requests=4,
        input_tokens=128,
        output_tokens=64,
    )
    for streams in (16, 4, 1)
)
PACKAGE = replace(
    tiny(),
    workload=replace(
        tiny().workload,
        cells=(
            *CELLS,
            replace(CELLS[0], name="long", input_tokens=1024),
            replace(CELLS[0], name="open", load=Constant(2.0)),
        ),
    ),
    claims=(
        *(bench_ref(f"{cell.name}-rate", "rate", "tok/s", f"{cell.name}/output_tok_s/total") for cell in CELLS),
        *(bench_ref(f"{cell.name}-ttft", "wait", "ms", f"{cell.name}/ttft_ms/p50") for cell in CELLS),
        bench_ref("c1-ttft-p90", "wait", "ms", "c1/ttft_ms/p90"),
        bench_ref("long-rate", "rate", "tok/s", "long/output_tok_s/total"),
        bench_ref("open-rate", "rate", "tok/s", "open/output_tok_s/total"),
    ),
)


def card(*more: Record) -> Card:
    made = (claim(PACKAGE, ref.id, f"{number}.5") for number, ref in enumerate(PACKAGE.claims))
    return made_card(PACKAGE, raw_file("requests.jsonl", ROWS), *made, *more)


def told(card: Card) -> list[tuple[str, str, str, list[tuple[int, str]]]]:
    return [(s.label, s.unit, s.load[:3], [(p.x, p.text) for p in s.points]) for s in series_of(card)]


def test_a_metric_over_the_cells_that_differ_in_streams_only_is_one_series():
    rate = "output rate, over the whole cell"
    assert told(card()) == [
        (rate, "tok/s", "128", [(1, "2.5 tok/s"), (4, "1.5 tok/s"), (16, "0.5 tok/s")]),
        ("time to first token, median (50th percentile)", "ms", "128", [(1, "5.5 ms"), (4, "4.5 ms"), (16, "3.5 ms")]),
        ("time to first token, 90th percentile", "ms", "128", [(1, "6.5 ms")]),
        (rate, "tok/s", "102", [(16, "7.5 tok/s")]),
    ]


def test_a_number_that_was_taken_back_is_no_point():
    back = Retraction(
        slug=f"{PACKAGE.name}/c4-rate", kind="retract", reason="The clock was wrong.", at="2026-11-30T08:00:00Z"
    )
    assert [point.x for point in series_of(card(back))[0].points] == [1, 16]


def test_a_card_without_numbers_has_nothing_to_plot():
    assert series_of(made_card(PACKAGE)) == ()


def test_a_point_is_where_its_text_says():
    points = [point for series in series_of(card()) for point in series.points]
    assert all(f"{point.y}" == point.text.split()[0] for point in points)
    assert all(
        point.slug == f"{PACKAGE.name}/{point.cell}-{point.slug.rpartition('/')[2].partition('-')[2]}"
        for point in points
    )
