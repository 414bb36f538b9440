"""Reading the files of another tool, and of runs of ours, from the command line."""

import json
import shutil
from pathlib import Path

import pytest
from tests.bench import measured_run

from dayzero.bench.rows import encode
from dayzero.cli.bench_export import export_run, wanted_formats
from dayzero.cli.bench_read import read
from dayzero.core.errors import InputError

SAMPLES = Path(__file__).parents[1] / "bench" / "foreign" / "samples"


@pytest.fixture
def ours(tmp_path):
    """Lay out the folder of a valid run."""
    rows = measured_run.rows()
    (tmp_path / "requests.jsonl").write_bytes(b"".join(map(encode, rows)))
    (tmp_path / "receipt.json").write_text(json.dumps(measured_run.document(rows)))
    return tmp_path


@pytest.mark.parametrize(("name", "code"), [("vllm-0.32.0-role-chunk", 1), ("aiperf-0.13.0", 3), ("guidellm-0.8.1", 3)])
def test_a_refuted_figure_is_exit_one_and_an_undecided_one_is_three(name, code, capsys):
    assert read(SAMPLES / name) == code
    assert capsys.readouterr().out.splitlines()[-1].startswith("REFUTED: " if code == 1 else "UNDECIDED: ")


def test_the_text_shows_what_was_printed_above_what_our_definition_gives(capsys):
    read(SAMPLES / "vllm-0.32.0-role-chunk" / "result.json")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    place = next(number for number, line in enumerate(lines) if line[:1] == ["ttft"])
    assert lines[place] == ["ttft", "7.21", "6.99", "8.36", "ms"]
    assert lines[place + 1] == ["ttft_ms", "22.25", "22.11", "n", "<", "662"]


def test_json_is_one_document(capsys):
    assert read(SAMPLES / "guidellm-0.8.1", output_format="json") == 3
    assert json.loads(capsys.readouterr().out)["schema"] == "dayzero/bench-foreign/v1"


def test_a_place_where_nothing_is_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no known tool wrote"):
        read(tmp_path)


def test_files_of_another_tool_cannot_be_exported_as_ours():
    with pytest.raises(InputError, match="only a run of dayzero's"):
        read(SAMPLES / "aiperf-0.13.0", export="csv")


def test_a_run_of_ours_is_exported_again_with_its_report(ours, capsys):
    assert read(ours, export="csv,vllm,llm-d,openmetrics") == 0
    written = {Path(line.removeprefix("wrote ")).name for line in capsys.readouterr().out.splitlines()}
    assert written == {
        "report.html",
        "requests.csv",
        "figures.csv",
        "vllm-c4.json",
        "benchmark_report-c4.json",
        "bench.prom",
    }
    assert all((ours / name).stat().st_size for name in written)


def test_what_was_exported_for_vllm_can_be_read_again(ours, tmp_path, capsys):
    read(ours, export="vllm")
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(ours / "vllm-c4.json", alone)
    assert read(alone) == 3
    assert "vllm bench serve" in capsys.readouterr().out


def test_a_run_without_a_receipt_has_no_figures_to_export(ours):
    (ours / "receipt.json").unlink()
    with pytest.raises(InputError, match=r"no receipt\.json"):
        read(ours, export="csv")


def test_a_format_without_a_place_for_reasons_is_not_written_of_a_run_that_is_not_valid(tmp_path, capsys):
    rows = measured_run.rows()
    document = measured_run.document(rows, reasons=("c4: late",))
    written = export_run(document, rows, ("csv", "vllm"), tmp_path)
    assert [file.name for file in written] == ["requests.csv", "figures.csv"]
    assert "not exported: vllm" in capsys.readouterr().err


def test_a_format_that_does_not_exist_is_refused_before_anything_is_measured():
    assert wanted_formats(" csv, csv,parquet,") == ("csv", "parquet")
    with pytest.raises(InputError, match="no such format: 'xls'"):
        wanted_formats("csv,xls")
