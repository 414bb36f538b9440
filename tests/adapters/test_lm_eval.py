"""What is read from lm-eval's files, and what is refused."""

import json
from pathlib import Path

import pytest

from dayzero.adapters.lm_eval import read_samples
from dayzero.core.errors import InputError, RemoteError

CONFIG = {
    "filter_list": [{"name": "strict"}, {"name": "flexible"}],
    "metric_list": [{"metric": "exact_match"}],
    "metadata": {"base_url": "http://one"},
}


def sample(number: int, which: str, found: object, score: object = 1.0) -> dict[str, object]:
    hashes = {f"{part}_hash": f"{part}{number}" for part in ("doc", "prompt", "target")}
    return {"doc_id": number, "filter": which, "filtered_resps": found, "exact_match": score, **hashes}


def written(folder: Path, *samples: dict[str, object], config: dict[str, object] = CONFIG) -> Path:
    inner = folder / "m"
    inner.mkdir(parents=True)
    (inner / "results_2026.json").write_text(json.dumps({"configs": {"t": config}}))
    (inner / "samples_t_2026.jsonl").write_text("".join(json.dumps(one) + "\n" for one in samples))
    return folder


@pytest.mark.parametrize(
    ("found", "extracted"),
    [(["4"], True), ([["4"]], True), (["[invalid]"], False), ([""], False), ([" "], False), ([[]], False), ([], False)],
)
def test_an_answer_in_which_the_rule_finds_nothing_is_unscorable(tmp_path, found, extracted):
    (item,) = read_samples(written(tmp_path, sample(0, "strict", found)), "", "").items
    assert item.extracted is extracted


def test_the_first_filter_decides_unless_another_is_named(tmp_path):
    folder = written(tmp_path, sample(0, "strict", ["4"], 0.0), sample(0, "flexible", ["4"], 1.0))
    assert [item.score for item in read_samples(folder, "", "").items] == [0.0]
    assert [item.score for item in read_samples(folder, "flexible", "").items] == [1.0]
    with pytest.raises(InputError, match="has no filter 'loose'"):
        read_samples(folder, "loose", "")


def test_the_rule_has_one_digest_whatever_the_endpoint_and_another_for_another_filter(tmp_path):
    one = read_samples(written(tmp_path / "a", sample(0, "strict", ["4"])), "", "")
    moved = {**CONFIG, "metadata": {"base_url": "http://two"}}
    other = read_samples(written(tmp_path / "b", sample(0, "strict", ["4"]), config=moved), "", "")
    assert one.rule == other.rule
    assert read_samples(tmp_path / "a", "flexible", "").rule != one.rule
    changed = {**CONFIG, "filter_list": [{"name": "strict", "filter": [{"function": "regex"}]}]}
    assert read_samples(written(tmp_path / "c", sample(0, "strict", ["4"]), config=changed), "", "").rule != one.rule


def test_files_of_another_form_are_a_remote_failure(tmp_path):
    with pytest.raises(RemoteError, match="no samples"):
        read_samples(tmp_path, "", "")
    broken = {"doc_id": 0, "filter": "strict"}
    with pytest.raises(RemoteError, match=r"form of lm-eval 0\.4\.13"):
        read_samples(written(tmp_path, broken), "", "")
