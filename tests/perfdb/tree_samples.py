"""Small trees of real Parquet files, laid out as the anchor lays them out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

ENGINE_NAMES = {"vllm": "VLLM", "sglang": "SGLang", "trtllm": "TRTLLM"}
KINDS = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}
KDA = "data/{system}/kda/{engine}/{version}/kda_perf.parquet"
GEMM = "data/{system}/gemm/{engine}/{version}/gemm_perf.parquet"
NCCL = "data/{system}/comm/{engine}/{version}/nccl_perf.parquet"
DEVICES = {"b300_sxm": "NVIDIA B300 SXM6 AC", "h200_sxm": "NVIDIA H200"}


def gemm(latency_ms: float, m: int = 128, **more: object) -> dict[str, object]:
    """Give one row of gemm_perf on an H200."""
    row: dict[str, object] = {
        "framework": "VLLM",
        "version": "0.24.0",
        "device": "NVIDIA H200",
        "op_name": "gemm",
        "kernel_source": "cutlass",
        "gemm_dtype": "bfloat16",
        "m": m,
        "n": 4096,
        "k": 4096,
        "latency": latency_ms,
    }
    return row | more


def kda(latency_ms: float, seq_len: int = 128, **more: object) -> dict[str, object]:
    """Give one row of kda_perf on an H200."""
    row: dict[str, object] = {
        "framework": "VLLM",
        "version": "0.24.0",
        "device": "NVIDIA H200",
        "op_name": "kda",
        "kernel_source": "causal_conv1d_fn_qkv3",
        "phase": "context",
        "batch_size": 1,
        "seq_len": seq_len,
        "num_tokens": seq_len,
        "d_model": 7168,
        "d_conv": 4,
        "num_k_heads": 12,
        "head_k_dim": 128,
        "num_v_heads": 12,
        "head_v_dim": 128,
        "model_name": "Kimi-K3",
        "latency": latency_ms,
    }
    return row | more


def nccl(latency_ms: float, message_size: int = 2**28, **more: object) -> dict[str, object]:
    """Give one row of nccl_perf on two H200."""
    row: dict[str, object] = {
        "framework": "TRTLLM",
        "version": "0.24.0",
        "device": "NVIDIA H200",
        "op_name": "all_reduce",
    }
    row |= {"kernel_source": "NCCL", "nccl_dtype": "half", "num_gpus": 2, "message_size": message_size}
    return row | {"latency": latency_ms} | more


def place(pattern: str, system: str = "h200_sxm", engine: str = "vllm", version: str = "0.24.0") -> str:
    """Name the file of a table."""
    return pattern.format(system=system, engine=engine, version=version)


def write_parquet(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows; a column's type is that of its first value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds = {name: next((type(r[name]) for r in rows if r[name] is not None), str) for name in rows[0]}
    with duckdb.connect() as connection:
        listed = ", ".join(f'"{name}" {KINDS[kind]}' for name, kind in kinds.items())
        connection.execute(f"CREATE TABLE t ({listed})")
        zipped = ", ".join(f"unnest(?::{KINDS[kind]}[])" for kind in kinds.values())
        connection.execute(f"INSERT INTO t SELECT {zipped}", [[row[name] for row in rows] for name in kinds])
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet, COMPRESSION snappy)")


def write_tree(
    root: Path, tables: Mapping[str, Sequence[Mapping[str, object]]], texts: Mapping[str, str] | None = None
) -> Path:
    """Write a systems folder: tables, and further files by their text."""
    for path, rows in tables.items():
        write_parquet(root / path, rows)
    for path, text in (texts or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root
