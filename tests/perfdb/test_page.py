"""What ``perfdb page`` writes is what the catalog reads: coverage, the longest series of a lane, and what was taken back."""

import json

from tests.perfdb.tree_samples import KDA, kda, place, write_tree

from dayzero.catalog.performance import changes, read_performance

CONV = "kimi-k3/vllm/kda/context"


def series(version: str, floor_ms: float, **more: object) -> list[dict[str, object]]:
    rows = [kda(floor_ms + size / 1e6, size, version=version, **more) for size in (1, 128, 4096)]
    return [*rows, kda(9.0, 64, version=version, batch_size=2, **more)]


def test_the_page_holds_the_curves_with_what_was_taken_back_beside_what_is_left(tmp_path, answer, dayzero):
    tables = {
        place(KDA, version="0.1.dev19262"): series("0.1.dev19262", 0.4),
        place(KDA, version="0.27.0"): series("0.27.0", 0.002),
    }
    answer("perfdb", "import", write_tree(tmp_path / "tree", tables), "-o", tmp_path / "db")
    dayzero("keys", "new", "lab", "-o", tmp_path)
    (tmp_path / "evidence").mkdir()
    words = ("--table", "kda_perf", "--where", "dir_version=0.1.dev19262", "--cause", "instrument_artifact")
    code, _, err = dayzero(
        "perfdb",
        "retract",
        "floor",
        tmp_path / "db",
        tmp_path,
        *words,
        "--why",
        "A floor.",
        "--sign",
        tmp_path / "lab.key.pem",
    )
    assert code == 0, err
    asked = ("perfdb", "page", tmp_path / "db", "-o", tmp_path / "page.json", "--evidence", tmp_path)
    code, out, _ = dayzero(*asked)
    assert (code, "1 lanes, 1 curves, 1 retractions" in out) == (0, True)
    told = read_performance((tmp_path / "page.json").read_bytes(), "page.json")
    (curve,) = told.of(CONV)
    assert (curve.system, curve.axis, dict(curve.fixed)["batch_size"]) == ("h200_sxm", "seq_len", "1")
    assert [(line.label, line.retracted) for line in curve.lines] == [("0.27.0", False), ("0.1.dev19262", True)]
    assert [point.size for point in curve.lines[0].points] == [1, 128, 4096]
    assert all(point.low_us < point.value_us < point.high_us for line in curve.lines for point in line.points)
    (change,) = changes(told.curves)
    assert (change.size, change.before_us, change.after_us) == (1, 400.0, 2.001)
    states = {cell.system: cell.state for cell in told.lanes[0].cells}
    assert (states["h200_sxm"], states["gb300"]) == ("measured", "not attempted")
    assert told.retractions[0].effect == "applied"
    _, document = answer(*asked)
    assert document == json.loads((tmp_path / "page.json").read_text())


def test_without_evidence_nothing_is_taken_back_and_without_rows_there_is_no_curve(tmp_path, answer):
    rows = [kda(0.4, version="0.27.0", phase="generation")]
    answer(
        "perfdb", "import", write_tree(tmp_path / "tree", {place(KDA, version="0.27.0"): rows}), "-o", tmp_path / "db"
    )
    _, told = answer("perfdb", "page", tmp_path / "db", "-o", tmp_path / "page.json")
    assert (told["curves"], told["retractions"]) == ([], [])
    assert [lane["lane"] for lane in told["lanes"]] == [CONV]
