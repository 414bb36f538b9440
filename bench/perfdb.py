"""How fast dayzero imports, checks and answers from aiconfigurator's tables, beside aiconfigurator's own load and query.

bench/perfdb.py WHEEL|SYSTEMS_FOLDER --aic VENV [--in DIR]

Every stage runs in a fresh process, which says its own wall time, CPU time and peak memory. VENV is an environment with
aiconfigurator (make aic-env). The peer compiles Kimi K3 on b300_sxm with vLLM and predicts one prefill: its first answer has
loaded what it needs, the next ones are warm. Ours answers one expert product of the same lane. The calibration counts, over a
sample of lanes and with bounds from the other half of each lane's series, how many left-out points lie within the bar.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

OURS = """
import json, random, resource, sys, time
from pathlib import Path
from dayzero.cli.main import run
from dayzero.perfdb.error_bar import calibrate, residuals
from dayzero.perfdb.lane_index import load_lane
from dayzero.perfdb.lint import lint
from dayzero.perfdb.predicate import Term, parse_terms
from dayzero.wiring.perfdb import open_database
from dayzero.wiring.perfdb_explain import Explainer
from dayzero.wiring.perfdb_import import import_tree

stage, source, database = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
began, told = time.perf_counter(), {}
LANE = ("system=b300_sxm", "engine=vllm", "num_experts=896", "moe_dtype=w4a16_mxfp4", "distribution=balanced",
        "hidden_size=3584", "inter_size=3072", "topk=16", "moe_tp_size=8", "moe_ep_size=1",
        "kernel_label=vllm_compressedtensorsw4a4mxfp4moe_marlin_marlinexperts")


def ask(explainer, tokens):
    start = time.perf_counter()
    explainer.answer("moe_perf", "0.24.0", parse_terms((*LANE, f"num_tokens={tokens}")))
    return (time.perf_counter() - start) * 1000


if stage == "import":
    told["rows"] = import_tree(source, database, None).made.rows
elif stage == "lint":
    opened = open_database(database)
    told["findings"] = len(lint(opened.made, opened.rows))
elif stage == "coverage":
    run(["perfdb", "coverage", str(database), "--output-format", "json"])
elif stage == "query":
    explainer = Explainer(database=open_database(database, "", ("moe_perf",)))
    told["first_ms"] = ask(explainer, 300)
    warm = sorted(ask(explainer, 17 + n) for n in range(500))
    told |= {"warm_median_ms": warm[250], "warm_max_ms": warm[-1]}
else:
    opened, picked, held, total = open_database(database), random.Random(7), 0, 0
    for family in opened.made.families:
        names = ("system", "engine", "op_name", "kernel_label", *family.lane)
        lanes = opened.rows.ask(f"SELECT {', '.join(names)}, count(*) AS n FROM {family.table} GROUP BY ALL "
                                "HAVING n BETWEEN 60 AND 20000 ORDER BY ALL")
        for lane in picked.sample(list(lanes), min(2, len(lanes))):
            values = ["null" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for v in lane]
            terms = tuple(Term(column=c, operator="=", value=v) for c, v in zip(names, values))
            for lines in load_lane(family, opened.rows, terms, "false").series:
                keys = sorted(lines)
                picked.shuffle(keys)
                bounds = calibrate(r for key in keys[::2] for r in residuals(lines[key]))
                for one in (r for key in keys[1::2] for r in residuals(lines[key])):
                    bound = bounds.bound(one.gap)
                    total, held = total + (bound is not None), held + (bound is not None and one.error <= bound[0])
    told |= {"left_out_points": total, "within_the_bar": held / total}
told["wall_s"] = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_SELF)
told |= {"cpu_s": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024}
print("\\n" + json.dumps(told))
"""

PEER = """
import json, resource, time
began = time.perf_counter()
from aiconfigurator_core.sdk.engine import EngineHandle
handle = EngineHandle.compile("moonshotai/Kimi-K3", "b300_sxm", "vllm", tp_size=8, moe_tp_size=8, moe_ep_size=1)
told = {"load_s": time.perf_counter() - began}


def ask(isl):
    start = time.perf_counter()
    handle.predict_prefill_latency(1, isl)
    return (time.perf_counter() - start) * 1000


told["first_ms"] = ask(4096)
warm = sorted(ask(1000 + n) for n in range(500))
told |= {"warm_median_ms": warm[250], "warm_max_ms": warm[-1], "wall_s": time.perf_counter() - began}
used = resource.getrusage(resource.RUSAGE_SELF)
told |= {"cpu_s": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024}
print("\\n" + json.dumps(told))
"""


def told(words: list[str]) -> dict[str, float]:
    """Run one process, and read what it says of itself in its last line."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603  (our own program)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def show(name: str, figures: dict[str, float]) -> None:
    """Print a stage in one line."""
    print(f"{name:<22} " + "  ".join(f"{key} {round(value, 3):.12g}" for key, value in figures.items()), flush=True)


def main() -> None:
    """Run all stages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("source", type=Path)
    parser.add_argument("--aic", type=Path)
    parser.add_argument("--in", dest="folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        database = Path(folder) / "db"
        for stage in ("import", "lint", "coverage", "query", "calibration"):
            show(f"dayzero {stage}", told([sys.executable, "-c", OURS, stage, str(given.source), str(database)]))
    if given.aic:
        show("aiconfigurator", told([str(given.aic / "bin" / "python"), "-W", "ignore", "-c", PEER]))


if __name__ == "__main__":
    main()
