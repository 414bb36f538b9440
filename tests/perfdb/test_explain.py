"""A point query says which rows answered, over which channel, and a bar that holds nine in ten."""

import json
import math
import random

import pytest
from tests.perfdb.tree_samples import GEMM, KDA, gemm, kda, place

from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.perfdb.error_bar import calibrate, interpolate, noise, quantile, residuals
from dayzero.perfdb.explain import Answer, Question, explain
from dayzero.perfdb.lane_index import index_of
from dayzero.perfdb.predicate import parse_terms
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_explain import Explainer

SIZES = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]


def curve(seed: int, spread: float = 0.08, **more: object) -> list[dict[str, object]]:
    """Give rows of a matrix product whose latency grows with m, with a spread that a seed settles."""
    rng = random.Random(seed)  # noqa: S311  (not for a secret)
    return [
        gemm((0.02 + m / 20000 * (n / 4096)) * math.exp(rng.gauss(0, spread)), m, n=n, k=k, **more)
        for n in (1024, 2048, 4096, 8192)
        for k in (1024, 4096, 7168)
        for m in SIZES
    ]


@pytest.fixture
def explainer(imported):
    tables = {place(GEMM): curve(1)}
    tables[place(GEMM, version="0.25.0")] = curve(2, version="0.25.0")[: -len(SIZES)]
    return Explainer(database=imported(tables))


def ask(explainer, label="0.24.0", **shape: object):
    terms = ("system=h200_sxm", "engine=vllm", *(f"{name}={value}" for name, value in shape.items()))
    return explainer.answer("gemm_perf", label, parse_terms(terms))


def test_a_row_answers_for_its_own_shape(explainer):
    index, found = ask(explainer, m=128, n=4096, k=4096)
    row = next(r for r in curve(1) if (r["m"], r["n"], r["k"]) == (128, 4096, 4096))
    assert isinstance(found, Answer)
    assert math.isclose(found.value_us, row["latency"] * 1000)
    assert (found.channel, found.axis, len(found.used)) == ("exact", "", 1)
    assert index.family.sources[found.used[0].source].path == place(GEMM)
    assert found.low_us < found.value_us < found.high_us


def test_between_rows_the_value_lies_between_them_and_the_bar_is_wider(explainer):
    _, row = ask(explainer, m=128, n=4096, k=4096)
    _, found = ask(explainer, m=160, n=4096, k=4096)
    assert isinstance(found, Answer)
    assert isinstance(row, Answer)
    assert (found.axis, len(found.used)) == ("m", 2)
    assert min(r.latency_us for r in found.used) <= found.value_us <= max(r.latency_us for r in found.used)
    assert found.residuals >= 20
    assert found.high_us / found.value_us > row.high_us / row.value_us


def test_another_build_answers_with_the_same_kernel_and_says_so(explainer):
    _, own = ask(explainer, label="0.24.0", m=64, n=8192, k=7168)
    _, found = ask(explainer, label="0.25.0", m=64, n=8192, k=7168)
    assert isinstance(own, Answer)
    assert isinstance(found, Answer)
    assert (found.channel, found.value_us) == ("kernel_equal", own.value_us)
    assert found.transfer > 1
    assert found.high_us > own.high_us


def test_beyond_the_rows_and_along_two_axes_there_is_no_answer(explainer):
    for shape in ({"m": 4096, "n": 4096, "k": 4096}, {"m": 160, "n": 5000, "k": 4096}):
        _, found = ask(explainer, **shape)
        assert isinstance(found, Undecided)


def test_what_is_not_one_point_of_one_lane_is_refused(explainer):
    with pytest.raises(InputError, match="m is not given"):
        ask(explainer, n=4096, k=4096)
    with pytest.raises(InputError, match="several builds"):
        ask(explainer, label="", m=128, n=4096, k=4096)
    with pytest.raises(InputError, match="no such lane"):
        ask(explainer, gemm_dtype="fp8", m=128, n=4096, k=4096)


def test_what_was_not_given_is_told_at_once_and_what_follows_from_the_rest_is_not_asked(imported):
    rows = [kda(0.01 * n, n, num_k_heads=h, num_v_heads=h) for n in (1, 2, 4) for h in (12, 24)]
    lane = ("system=h200_sxm", "engine=vllm")
    explainer = Explainer(database=imported({place(KDA): [*rows, *(row | {"phase": "verify"} for row in rows)]}))
    with pytest.raises(InputError, match="they differ in phase") as refused:
        explainer.answer("kda_perf", "", parse_terms(lane))
    assert refused.value.hint == "Give --where phase=..., one of context, verify."
    lane = (*lane, "phase=verify")
    with pytest.raises(InputError, match="num_k_heads, num_v_heads, seq_len are not given") as refused:
        explainer.answer("kda_perf", "", parse_terms(lane))
    assert "--where num_v_heads=VALUE, one of 12, 24; --where seq_len=VALUE, from 1 to 4" in refused.value.hint
    _, found = explainer.answer("kda_perf", "", parse_terms((*lane, "num_v_heads=24", "seq_len=2")))
    assert isinstance(found, Answer)
    with pytest.raises(InputError, match="there is no table 'kda_prf'"):
        open_database(explainer.database.folder.root, "", ("kda_prf",))


def test_a_lane_that_was_asked_once_answers_without_the_database(explainer):
    ask(explainer, m=128, n=4096, k=4096)
    explainer.database.rows._connection.close()  # noqa: SLF001  (nothing may ask it again)
    _, found = ask(explainer, m=300, n=2048, k=1024)
    assert isinstance(found, Answer)


def test_the_bar_holds_nine_in_ten_of_points_that_were_left_out(imported):
    held = total = 0
    for seed in range(4):
        database = imported({place(GEMM): curve(seed)}, name=f"tree{seed}")
        whole = Explainer(database=database).lane("gemm_perf", parse_terms(("system=h200_sxm", "engine=vllm")))
        for key, rows in random.Random(seed).sample(list(whole.points.items()), 60):  # noqa: S311  (not for a secret)
            points = {other: listed for other, listed in whole.points.items() if other != key}
            left = index_of(whole.family, whole.terms, points)
            found = explain(left, Question(label=key[0], fixed=key[1], sizes=key[2]))
            if isinstance(found, Answer):
                total += 1
                held += found.low_us <= rows[0].latency_us <= found.high_us
    assert total > 100
    assert 0.85 <= held / total <= 0.97


def test_the_parts_of_a_bar():
    assert interpolate((10, 1.0), (1000, 100.0), 100) == pytest.approx(10.0)
    straight = [(2**n, float(2**n)) for n in range(30)]
    assert all(one.error < 1e-9 and one.gap == 2 for one in residuals(straight))
    assert noise([[1.0, 1.0]] * 5) == 0.04
    assert noise([[1.0, 1.1]] * 40) == pytest.approx(math.log(1.05))
    assert quantile([float(n) for n in range(1, 100)]) == 90.0
    narrow = calibrate(residuals(straight))
    assert narrow.bound(1.0) == narrow.bound(2.0)
    assert narrow.bound(3.0) is None


def test_rows_that_were_taken_back_do_not_answer(tmp_path, dayzero, answer, imported):
    imported({place(GEMM): curve(1)})
    dayzero("keys", "new", "lab", "-o", tmp_path)
    words = ("--table", "gemm_perf", "--where", "m=128", "--cause", "duplicate", "--why", "x")
    code, _, err = dayzero(
        "perfdb", "retract", "r", tmp_path / "db", tmp_path, *words, "--sign", tmp_path / "lab.key.pem"
    )
    assert code == 0, err
    point = ("--table", "gemm_perf", "--system", "h200_sxm", "--engine", "vllm")
    shape = ("--where", "m=128", "--where", "n=4096", "--where", "k=4096")
    code, told = answer("perfdb", "explain", tmp_path / "db", *point, *shape)
    assert (code, told["axis"], len(told["rows"])) == (0, "", 1)
    code, told = answer("perfdb", "explain", tmp_path / "db", *point, *shape, "--evidence", tmp_path)
    assert (code, told["axis"], len(told["rows"])) == (0, "m", 2)


POINT = ("--table", "gemm_perf", "--system", "h200_sxm", "--engine", "vllm", "--label", "0.24.0")


def test_the_rows_behind_an_answer_are_shown_as_they_came(tmp_path, dayzero, answer, imported):
    rows = curve(1)
    imported({place(GEMM): rows})
    shape = ("--where", "m=160", "--where", "n=4096", "--where", "k=4096")
    code, told = answer("perfdb", "explain", tmp_path / "db", *POINT, *shape)
    numbers = [n for n, row in enumerate(rows) if row["m"] in {128, 192} and (row["n"], row["k"]) == (4096, 4096)]
    assert (code, [row["row"] for row in told["rows"]]) == (0, numbers)
    assert [row["columns"] for row in told["rows"]] == [rows[n] for n in numbers]
    assert all("line" not in row for row in told["rows"])
    (tree,) = {row["file_sha256"] for row in told["rows"]}
    assert (tmp_path / "db" / "files" / tree).read_bytes() == (tmp_path / "tree" / place(GEMM)).read_bytes()
    _, out, _ = dayzero("perfdb", "explain", tmp_path / "db", *POINT, *shape)
    flat = " ".join(out.split())
    assert f"m=128 n=4096 k=4096 latency={rows[numbers[0]]['latency']} ms" in flat
    assert f"kept as files/{tree}" in flat
    (small, large) = told["around"]
    assert (small["size"], large["size"]) == (128, 192)
    share = math.log(160 / 128) / math.log(192 / 128)
    assert told["value_us"] == pytest.approx(small["value_us"] * (large["value_us"] / small["value_us"]) ** share)
    assert " ^ (ln(160 / 128) / ln(192 / 128))" in flat
    assert max(map(len, out.splitlines())) <= 132


def test_a_file_that_is_not_the_one_that_was_imported_backs_no_answer(tmp_path, dayzero, imported):
    imported({place(GEMM): curve(1)})
    imported({place(GEMM): curve(2)}, name="other")
    (one, other) = (kept for kept in (tmp_path / "db" / "files").iterdir() if kept.read_bytes()[:4] == b"PAR1")
    content = other.read_bytes()
    for changed in (one, other):
        changed.chmod(0o644)
        changed.write_bytes(content)
    shape = ("--where", "m=128", "--where", "n=4096", "--where", "k=4096")
    ids = [made["id"] for made in map(_manifest, (tmp_path / "db" / "imports").iterdir())]
    codes = {dayzero("perfdb", "explain", tmp_path / "db", *POINT, *shape, "--import", made)[0] for made in ids}
    assert codes == {0, 4}
    one.unlink()
    other.unlink()
    code, _, err = dayzero("perfdb", "explain", tmp_path / "db", *POINT, *shape)
    assert (code, "is gone from the database" in err) == (4, True)


def _manifest(path) -> dict[str, object]:
    return json.loads(path.read_text())
