"""Lines of vLLM's log: those that name a cause, and those that follow from one."""

import pytest

from dayzero.engines.vllm.engine import ENGINE

CAUSES = [
    "OSError: [Errno 98] Address already in use",
    "vllm: error: unrecognized arguments: --kv-block-align 128",
    "  Value error, Model architectures ['NewlabMoeForCausalLM'] are not supported for now. Supported architectures: [...]",
    (
        "(EngineCore pid=5057) ERROR 11-29 14:30:44 [core.py:1510] ValueError: To serve at least one request with the model's max"
        " seq len (65536), (2.0 GiB KV cache is needed, which is larger than the available KV cache memory (1.0 GiB)."
    ),
    (
        "\x1b[1;36m(EngineCore_0 pid=33978)\x1b[0;0m ERROR 09-06 15:45:50 [core.py:700] TypeError: __init__() got an unexpected"
        " keyword argument 'layer_idx'"
    ),
    "Aug 23 01:26:28 node vllm[33324]: (EngineCore_DP0 pid=33324) ERROR 08-23 01:26:27 [core.py:708] AssertionError: no nvcc",
    "importlib.metadata.PackageNotFoundError: No package metadata was found for vllm",
    "(EngineCore_DP0 pid=47509) ERROR 01-24 07:13:06 [core.py:1006] ptxas fatal   : Value 'sm_121a' is not defined",
    (
        "\x1b[0;36m(Worker_TP0 pid=23681)\x1b[0;0m \x1b[31mERROR\x1b[0m \x1b[90m11-29 14:50:18\x1b[0m"
        " \x1b[90m[multiproc_executor.py:953]\x1b[0m safetensors._safetensors_rust.SafetensorError: header too large"
    ),
    "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:164 'invalid argument'",
]
FALLS = [
    "(APIServer pid=26120) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    "(EngineCore pid=22997) ERROR 09-13 10:19:42 [core.py:1136] EngineCore failed to start.",
    (
        "(EngineCore pid=22997) ERROR 09-13 10:19:41 [multiproc_executor.py:314] Worker proc VllmWorker-0 died unexpectedly"
        " (exit code: None), shutting down executor."
    ),
    (
        "ERROR 09-13 10:19:42 [core.py:1136] Exception: WorkerProc initialization failed due to an exception in a background"
        " process. See stack trace for root cause."
    ),
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
    "(EngineCore pid=33762) torch.AcceleratorError: CUDA error: operation failed due to a previous error during capture",
    "    raise RuntimeError(",
    '  File "/opt/vllm/v1/engine/core.py", line 12, in raise_error',
    "Traceback (most recent call last):",
    "(APIServer pid=11829) INFO 11-29 16:30:16 [api_utils.py:347] ValueError: is only mentioned here",
    "asyncio.exceptions.CancelledError: cancelled",
    "",
]


@pytest.mark.parametrize("line", CAUSES)
def test_a_line_that_names_what_went_wrong_looks_like_a_cause(line: str):
    assert ENGINE.looks_like_cause(line)


@pytest.mark.parametrize("line", FALLS)
def test_a_line_that_reports_the_fall_does_not(line: str):
    assert not ENGINE.looks_like_cause(line)
