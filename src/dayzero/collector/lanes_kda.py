"""Kimi Delta Attention as vLLM serves it: the causal convolutions, the recurrences of decoding and verifying, the chunked prefill.

Inputs are laid out as vLLM's ``KimiK3DeltaAttention._forward`` lays them out (vllm 0.27.1, models/kimi_k3/nvidia/kda.py): query,
key and value lie in one row, the convolution's state has its channels next to each other, weights and gates are 32-bit. Slot 0 of a
state is vLLM's null block, which its kernels skip; so the first sequence has slot 1, unless ``first_slot`` says otherwise.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

from dayzero.collector.work import Check, Columns, Torch, UnsupportedError, Work, compare

_GATE_BOUND = -5.0  # config.json of moonshotai/Kimi-K3, linear_attn_config.gate_lower_bound
_CHECKED_TOKENS = (
    2048  # of the first and of the last sequence; what is computed of a token depends on those before it only
)
_CHECKED_STEPS = 64
_LIMIT = 0.03  # of the largest value, for sums in bfloat16
_CONV = "conv1d of torch, float32"
_PACKAGE = "vllm"
MODEL = "vllm.models.kimi_k3"


def conv_context(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Convolve query, key and value of a batch of prompts: three calls of ``causal_conv1d_fn``."""
    fn = _vllm("vllm.model_executor.layers.mamba.ops.causal_conv1d", "causal_conv1d_fn")
    device = str(options.get("device", "cuda"))
    batch, length, width, size = _shape(columns)
    tokens, first = batch * length, int(options.get("first_slot", 1))
    mixed = torch.randn(tokens, 3 * size, dtype=torch.bfloat16, device=device)
    weight = torch.randn(3 * size, width, dtype=torch.float32, device=device)
    state = _conv_state(torch, device, slots=batch + first, length=width - 1, size=size)
    starts = torch.arange(0, tokens + 1, length, dtype=torch.int32)
    metadata = None if options.get("host_metadata") else _conv_metadata(torch, device, starts)
    shared = {
        "query_start_loc": starts.to(device),
        "cache_indices": torch.arange(first, first + batch, dtype=torch.int32, device=device),
        "has_initial_state": torch.zeros(batch, dtype=torch.bool, device=device),
        "activation": "silu",
        "metadata": metadata,
    }
    parts = [
        (
            mixed[:, i * size : (i + 1) * size].transpose(0, 1),
            weight[i * size : (i + 1) * size],
            state[:, i * size : (i + 1) * size],
        )
        for i in range(3)
    ]

    def call() -> list[Torch]:
        return [fn(x, w, None, conv_states=s, **shared).transpose(0, 1) for x, w, s in parts]

    def check() -> Check:
        steps = min(length, _CHECKED_TOKENS)
        found = torch.cat([_ends(part, batch, steps) for part in call()], dim=-1)
        return compare(
            torch, found, _conv_reference(torch, _ends(mixed, batch, steps), weight), against=_CONV, limit=_LIMIT
        )

    return Work(call=call, check=check, graph=metadata is not None, device=device, package=_PACKAGE)


def conv_update(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Convolve the next token of each sequence: one call of ``causal_conv1d_update``."""
    fn = _vllm("vllm.model_executor.layers.mamba.ops.causal_conv1d", "causal_conv1d_update")
    device = str(options.get("device", "cuda"))
    batch, drafts, width, size = _shape(columns)
    first, verify = int(options.get("first_slot", 1)), columns["phase"] == "verify"
    tokens = batch * drafts
    x = torch.randn(tokens, 3 * size, dtype=torch.bfloat16, device=device)
    weight = torch.randn(3 * size, width, dtype=torch.float32, device=device)
    state = _conv_state(torch, device, slots=batch + first, length=width - 1 + (drafts if verify else 0), size=size)
    out = torch.empty_like(x)
    more: dict[str, Torch] = {"validate_data": not verify}
    if verify:
        more |= {
            "num_accepted_tokens": torch.ones(batch, dtype=torch.int32, device=device),
            "query_start_loc": torch.arange(0, tokens + 1, drafts, dtype=torch.int32, device=device),
            "max_query_len": drafts,
        }
    slots = torch.arange(first, first + batch, dtype=torch.int32, device=device)

    def call() -> Torch:
        return fn(x, state, weight, None, activation="silu", conv_state_indices=slots, out=out, **more)

    def check() -> Check:
        state.zero_()
        out.fill_(float("nan"))
        found = call().view(batch, drafts, 3 * size)
        return compare(
            torch, found, _conv_reference(torch, x.view(batch, drafts, 3 * size), weight), against=_CONV, limit=_LIMIT
        )

    return Work(call=call, check=check, device=device, package=_PACKAGE)


def packed_decode(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Advance the recurrence by one token: ``fused_recurrent_kda_packed_decode``."""
    fn = _vllm("vllm.models.kimi_k3.nvidia.ops.third_party.kda", "fused_recurrent_kda_packed_decode")
    made = _recurrence(columns, options, torch)
    packed = torch.cat([part.reshape(made.batch, made.size) for part in (made.q, made.k, made.v)], dim=1)

    def call() -> Torch:
        return fn(
            mixed_qkv=packed,
            raw_g=made.gate,
            raw_beta=made.beta,
            A_log=made.a_log,
            dt_bias=made.bias,
            lower_bound=_GATE_BOUND,
            initial_state=made.state,
            state_indices=made.slots,
        )[0]

    return Work(call=call, check=_recurrence_check(torch, made, call), device=made.device, package=_PACKAGE)


def recurrent_verify(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Verify drafts: ``fused_recurrent_kda``, with a slot for the state after each draft."""
    fn = _vllm("vllm.models.kimi_k3.nvidia.ops.third_party.kda", "fused_recurrent_kda")
    made = _recurrence(columns, options, torch)
    out = torch.empty_like(made.v)
    accepted = torch.ones(made.batch, dtype=torch.int32, device=made.device)

    def call() -> Torch:
        return fn(
            **_tokens(made),
            dt_bias=made.bias,
            initial_state=made.state,
            cu_seqlens=made.starts,
            ssm_state_indices=made.slots.view(made.batch, made.length),
            num_accepted_tokens=accepted,
            out=out,
        )[0]

    return Work(call=call, check=_recurrence_check(torch, made, call), device=made.device, package=_PACKAGE)


def chunk_context(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Prefill in chunks: ``chunk_kda_with_fused_gate``, which serving takes where FlashKDA does not load."""
    fn = _vllm("vllm.models.kimi_k3.nvidia.ops.third_party.kda", "chunk_kda_with_fused_gate")
    made = _recurrence(columns, options, torch)
    initial = torch.zeros(made.batch, made.heads, made.dim, made.dim, dtype=torch.float32, device=made.device)

    def call() -> Torch:
        return fn(
            **_tokens(made),
            g_bias=made.bias,
            initial_state=initial,
            output_final_state=True,
            use_qk_l2norm_in_kernel=True,
            cu_seqlens=made.starts,
        )[0]

    # it reads the lengths of sequences back to the host and keeps them by the tensor: the calls before a graph have done so
    return Work(call=call, check=_recurrence_check(torch, made, call), device=made.device, package=_PACKAGE)


def _vllm(module: str, name: str) -> Callable[..., Torch]:
    try:
        if module.startswith(MODEL):
            bare_packages()
        found: Callable[..., Torch] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UnsupportedError(f"{module}.{name} is not here: {error}") from error
    return found


def bare_packages() -> None:
    """Let the model's kernels be imported without the model: its packages import all of it, and every library that it may take."""
    parent = importlib.import_module("vllm.models")
    path = parent.__path__[0]
    for name in (MODEL, f"{MODEL}.nvidia", f"{MODEL}.nvidia.ops"):
        path = f"{path}/{name.rpartition('.')[2]}"
        if name not in sys.modules:
            bare = ModuleType(name)
            bare.__path__ = [path]
            sys.modules[name] = bare


def _shape(columns: Columns) -> tuple[int, int, int, int]:
    size = int(columns["num_v_heads"]) * int(columns["head_v_dim"])
    return int(columns["batch_size"]), int(columns["seq_len"]), int(columns.get("d_conv", 4)), size


def _conv_state(torch: Torch, device: str, *, slots: int, length: int, size: int) -> Torch:
    state = torch.zeros(slots, length, 3 * size, dtype=torch.bfloat16, device=device)
    return state.transpose(1, 2)


def _conv_metadata(torch: Torch, device: str, starts: Torch) -> SimpleNamespace:
    compute = _vllm("vllm.v1.attention.backends.utils", "compute_causal_conv1d_metadata")
    numbers, batch, offsets = compute(starts, device=torch.device(device))
    return SimpleNamespace(nums_dict=numbers, batch_ptr=batch, token_chunk_offset_ptr=offsets)


def _ends(rows: Torch, batch: int, steps: int) -> Torch:
    """Take the first steps of the first and of the last sequence."""
    return rows.unflatten(0, (batch, -1))[[0, batch - 1], :steps]


def _conv_reference(torch: Torch, x: Torch, weight: Torch) -> Torch:
    """Convolve sequences of tokens from an empty state, and apply SiLU."""
    channels, width = weight.shape
    padded = torch.nn.functional.pad(x.float().transpose(1, 2), (width - 1, 0))
    done = torch.nn.functional.conv1d(padded, weight.unsqueeze(1), groups=channels)
    return torch.nn.functional.silu(done).transpose(1, 2)


def _tokens(made: SimpleNamespace) -> dict[str, Torch]:
    """Name what both recurrences over q, k and v take."""
    named = {"q": made.q, "k": made.k, "v": made.v, "raw_g": made.gate, "raw_beta": made.beta}
    return {**named, "A_log": made.a_log, "lower_bound": _GATE_BOUND}


def _recurrence(columns: Columns, options: Columns, torch: Torch) -> SimpleNamespace:
    device = str(options.get("device", "cuda"))
    batch, length, _, size = _shape(columns)
    heads, dim = int(columns["num_v_heads"]), int(columns["head_v_dim"])
    tokens, first = batch * length, int(options.get("first_slot", 1))
    states = tokens if columns["phase"] != "context" else 0

    def random(*shape: int) -> Torch:
        return torch.randn(*shape, dtype=torch.bfloat16, device=device)

    return SimpleNamespace(
        device=device,
        batch=batch,
        length=length,
        heads=heads,
        dim=dim,
        size=size,
        q=random(1, tokens, heads, dim),
        k=random(1, tokens, heads, dim),
        v=random(1, tokens, heads, dim),
        gate=random(1, tokens, heads, dim),
        beta=random(1, tokens, heads),
        a_log=torch.zeros(heads, dtype=torch.float32, device=device),
        bias=0.1 * torch.randn(size, dtype=torch.float32, device=device),
        state=torch.zeros(states + first, heads, dim, dim, dtype=torch.float32, device=device),
        slots=torch.arange(first, first + tokens, dtype=torch.int32, device=device),
        starts=torch.arange(0, tokens + 1, length, dtype=torch.int32, device=device),
    )


def _recurrence_check(torch: Torch, made: SimpleNamespace, call: Callable[[], Torch]) -> Callable[[], Check]:
    steps = min(made.length, _CHECKED_STEPS)

    def part(tensor: Torch) -> Torch:
        return _ends(tensor[0], made.batch, steps).float()

    def check() -> Check:
        made.state.zero_()
        expected = _recurrence_reference(torch, made, part)
        return compare(torch, part(call()), expected, against="the recurrence, float32", limit=_LIMIT)

    return check


def _recurrence_reference(torch: Torch, made: SimpleNamespace, part: Callable[[Torch], Torch]) -> Torch:
    """Run the gated delta rule step by step from an empty state."""
    q, k, v = part(made.q), part(made.k), part(made.v)
    q, k = (one / (one.square().sum(-1, keepdim=True) + 1e-6).sqrt() for one in (q, k))
    biased = part(made.gate) + made.bias.view(made.heads, made.dim)
    decay = (_GATE_BOUND * torch.sigmoid(made.a_log.exp().view(-1, 1) * biased)).exp()
    beta = torch.sigmoid(part(made.beta)).unsqueeze(-1)
    state = torch.zeros(q.shape[0], made.heads, made.dim, made.dim, device=q.device)
    out = []
    for step in range(q.shape[1]):
        key = k[:, step].unsqueeze(-2)
        state = state * decay[:, step].unsqueeze(-2)
        change = beta[:, step] * (v[:, step] - (state * key).sum(-1))
        state = state + change.unsqueeze(-1) * key
        out.append((state * (q[:, step] * made.dim**-0.5).unsqueeze(-2)).sum(-1))
    return torch.stack(out, dim=1)
