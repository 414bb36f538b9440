"""Which kernel does the prefill of Kimi's linear attention take? vLLM's own choice is asked."""

from collections.abc import Mapping

from dayzero.engines.vllm.capabilities.situation import Situation, dtype
from dayzero.engines.vllm.capabilities.values import Function, RaisedError

TRITON = "triton"
FLASHKDA = "vllm._flashkda_C"
_KDA = "vllm.models.kimi_k3.nvidia.kda"


def prefill(made: Situation, linear: Mapping[str, object]) -> str | None:
    """Ask the build for its choice (``flashkda``, ``triton``); builds and models without one take Triton's.

    Args:
        made: The subject.
        linear: The configuration's ``linear_attn_config``.

    Returns:
        The choice, ``None`` where it cannot be told.
    """
    asked = made.flags.text("kda-prefill-backend", "auto")
    machine = made.machine
    if made.subject.model is None or str(made.subject.model.get("model_type")) != "kimi_k3":
        return TRITON
    try:
        resolve = machine.from_module(_KDA, "resolve_kda_prefill_backend")
        if not isinstance(resolve, Function):
            return None
        given = {"backend": asked, "head_dim": linear.get("head_dim"), "dtype": dtype(made), "input_dtype": dtype(made)}
        given |= {"lower_bound": linear.get("gate_lower_bound")}
        answer = machine.call(resolve, (), given)
    except RaisedError:
        return None
    return answer if isinstance(answer, str) else None
