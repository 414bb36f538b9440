"""Answer requests, one JSON document a line: what this is, and what one case took. Whatever else is printed goes to stderr."""

import gc
import importlib
import json
import math
import os
import statistics
import sys
import traceback
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, TextIO

from dayzero.collector.machine import describe, loaded_files
from dayzero.collector.tactics import candidates
from dayzero.collector.timing import Method, Timed, measure
from dayzero.collector.trace import launched
from dayzero.collector.work import Torch, UnsupportedError, Work

KINDS = {
    "conv_context": "lanes_kda",
    "conv_update": "lanes_kda",
    "packed_decode": "lanes_kda",
    "recurrent_verify": "lanes_kda",
    "chunk_context": "lanes_kda",
    "linear": "lanes_gemm",
    "scaled_fp8": "lanes_gemm",
    "numpy_matmul": "lanes_gemm",
    "sdpa": "lanes_attention",
    "flash3": "lanes_attention",
    "marlin_mxfp4": "lanes_moe",
    "collective": "lanes_comm",
    "triton_candidate": "tactics",
    "blocked_matmul": "blocked",
}
_P90 = 0.9
_IMPORTING = 2  # requests: what this is, and the first case


def main() -> None:
    """Serve the requests on stdin until it ends; answers go to what stdout was."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, answers)


def serve(requests: Iterable[str], answers: TextIO) -> None:
    """Answer each request; after a failure that took the GPU's context with it, stop."""
    for number, line in enumerate(requests):
        request = json.loads(line)
        reply = {"do": request["do"], **_answer(request)}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()
        if reply.get("lost"):
            return
        if number < _IMPORTING:
            gc.freeze()  # what an engine's import made stays; to look through it after each case would take longer than the case
    _leave()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    if request["do"] == "describe":
        return {"machine": describe()}
    try:
        if request["do"] == "candidates":
            return {"candidates": candidates(request["kernel"])}
        return run_case(request)
    except UnsupportedError as error:
        return {"state": "unsupported", "error": _error(error)}
    except Exception as error:  # noqa: BLE001  (a case that failed is a row)
        traceback.print_exc()
        return {"state": "failed", "error": _error(error), **_lost()}
    finally:
        gc.collect()
        _emptied()


def run_case(request: dict[str, Any]) -> dict[str, Any]:
    """Make a case's inputs, check what it computes, time it, and see what it launches."""
    torch = None if request.get("no_torch") else _torch()
    if torch is not None:
        torch.manual_seed(int(request.get("seed", 0)))
    make = getattr(importlib.import_module(f"dayzero.collector.{KINDS[request['kind']]}"), request["kind"])
    with torch.inference_mode() if torch is not None else _Nothing():
        work: Work = make(request["columns"], request.get("options", {}), torch)
        check = asdict(work.check())
        timed = measure(torch, work, Method(**request.get("method", {})))
        trace = {} if torch is None or not request.get("trace", True) else launched(torch, work.call, work.device)
    wrong = check["state"] == "differs"
    reply = {
        "state": "failed" if wrong else "measured",
        "check": check,
        "latency_us": summary(timed.samples_us),
        "trace": trace,
        "note": "; ".join(filter(None, (work.note, timed.note))),
        "n_warmup": Method(**request.get("method", {})).warmup,
        **_timed(timed),
    }
    if work.package:
        reply["files"] = loaded_files(work.package)
    if wrong:
        text = f"the result differs from {check['against']} by {check['error']:.3g} of its largest value"
        reply["error"] = {"class": "WrongResult", "message": text}
    return reply


def summary(samples: list[float]) -> dict[str, float]:
    """Give mean, median, least, 90th percentile and standard deviation; a percentile is a sample."""
    ordered = sorted(samples)
    return {
        "mean": round(statistics.fmean(ordered), 4),
        "p50": ordered[math.ceil(len(ordered) / 2) - 1],
        "min": ordered[0],
        "p90": ordered[math.ceil(len(ordered) * _P90) - 1],
        "std": round(statistics.pstdev(ordered), 4),
    }


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _timed(timed: Timed) -> dict[str, Any]:
    told = asdict(timed)
    del told["note"]
    return {**told, "n_samples": len(timed.samples_us)}


def _torch() -> Torch | None:
    try:
        import torch  # noqa: PLC0415  (where there is one)
    except ImportError:
        return None
    return torch


def _error(error: BaseException) -> dict[str, str]:
    return {"class": type(error).__name__.removesuffix("Error") or "Error", "message": str(error)[:2000]}


def _lost() -> dict[str, bool]:
    """Whether the GPU's context is gone, so that nothing after this can be measured in this process."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return {}
    try:
        torch.cuda.synchronize()
    except Exception:  # noqa: BLE001  (any error says so)
        return {"lost": True}
    return {}


def _leave() -> None:
    """Take leave of the other ranks, so that none waits for this one while it ends."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _emptied() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        try:
            torch.cuda.empty_cache()
        except Exception:  # noqa: BLE001  (the context is gone; the answer has said so)
            traceback.print_exc()
