"""Experts with 4-bit weights and 16-bit activations, as vLLM's Marlin kernels run them."""

from types import SimpleNamespace

from dayzero.collector.work import Columns, Torch, UnsupportedError, Work, unchecked

_SCALE = 120  # an exponent, for a factor of 2^-7
_SITU_BETA = 1.0  # of the gate; it changes no shape and no kernel


def marlin_mxfp4(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Run all experts of one layer on one rank: ``fused_marlin_moe``, on weights that are in Marlin's layout already."""
    vllm = _parts()
    tokens, hidden, inner, topk, experts = (
        int(columns[name]) for name in ("num_tokens", "hidden_size", "inter_size", "topk", "num_experts")
    )
    inner //= int(columns["moe_tp_size"])
    if int(columns["moe_ep_size"]) != 1:
        raise UnsupportedError("one rank of several is not written")

    def packed(rows: int, width: int) -> Torch:
        return torch.randint(-(2**31), 2**31 - 1, (experts, rows // 16, width * 2), dtype=torch.int32, device="cuda")

    def scales(rows: int, width: int) -> Torch:
        raw = torch.full((experts, rows // 32, width), _SCALE, dtype=torch.uint8, device="cuda")
        return raw.view(torch.float8_e8m0fnu)

    x = torch.randn(tokens, hidden, dtype=torch.bfloat16, device="cuda")
    w1, w2 = packed(hidden, 2 * inner), packed(inner, hidden)
    s1, s2 = scales(hidden, 2 * inner), scales(inner, hidden)
    chosen = (torch.arange(tokens * topk, device="cuda") % experts).view(tokens, topk).to(torch.int32)
    share = torch.full((tokens, topk), 1 / topk, dtype=torch.float32, device="cuda")
    activation = str(options.get("activation", "situ"))
    more = {
        "quant_type_id": vllm.kind,
        "global_num_experts": experts,
        "activation": vllm.activation(activation),
        "workspace": vllm.workspace(torch.device("cuda"), 4),
        **({"activation_situ_beta": _SITU_BETA} if activation == "situ" else {}),
    }

    def call() -> Torch:
        return vllm.run(x, w1, w2, None, None, s1, s2, share, chosen, **more)

    return Work(call=call, check=unchecked("random 4-bit weights have no reference here"), package="vllm")


def _parts() -> SimpleNamespace:
    try:
        from vllm.model_executor.layers.fused_moe.activation import MoEActivation  # noqa: PLC0415  (with the lane)
        from vllm.model_executor.layers.fused_moe.experts.marlin_moe import fused_marlin_moe  # noqa: PLC0415
        from vllm.model_executor.layers.quantization.utils.marlin_utils import (  # noqa: PLC0415
            marlin_make_workspace_new,
        )
        from vllm.scalar_type import scalar_types  # noqa: PLC0415
    except ImportError as error:
        raise UnsupportedError(f"vLLM's Marlin experts are not here: {error}") from error
    return SimpleNamespace(
        run=fused_marlin_moe,
        activation=MoEActivation.from_str,
        kind=scalar_types.float4_e2m1f.id,
        workspace=marlin_make_workspace_new,
    )
