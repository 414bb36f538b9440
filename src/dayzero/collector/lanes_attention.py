"""Attention over a prompt, or over a cache for one token: torch's own, and the FlashAttention 3 that vLLM brings."""

from dayzero.collector.work import Check, Columns, Torch, UnsupportedError, Work, compare

_CHECKED_QUERIES = 256
_LIMIT = 0.03


def sdpa(columns: Columns, options: Columns, torch: Torch) -> Work:
    """Attend with ``torch.nn.functional.scaled_dot_product_attention``; a single query where the table has a step."""
    device = str(options.get("device", "cuda"))
    q, k, v = _inputs(columns, torch, device)
    causal = q.shape[2] > 1
    attend = torch.nn.functional.scaled_dot_product_attention

    def call() -> Torch:
        return attend(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])

    return Work(call=call, check=lambda: _check(torch, call, q, k, v), device=device, package="torch")


def flash3(columns: Columns, options: Columns, torch: Torch) -> Work:  # noqa: ARG001  (as all lanes are called)
    """Attend with vLLM's ``flash_attn_varlen_func``, version 3, over keys and values that lie together."""
    try:
        from vllm.vllm_flash_attn.flash_attn_interface import FA3_AVAILABLE, flash_attn_varlen_func  # noqa: PLC0415
    except ImportError as error:
        raise UnsupportedError(f"vLLM's FlashAttention is not here: {error}") from error
    if not FA3_AVAILABLE:
        raise UnsupportedError("FlashAttention 3 of this build does not load on this torch")
    q, k, v = _inputs(columns, torch, "cuda")
    batch, _, asked, _ = q.shape
    held = k.shape[2]
    rows = [part.transpose(1, 2).reshape(-1, part.shape[1], part.shape[3]).contiguous() for part in (q, k, v)]
    starts = torch.arange(0, batch + 1, dtype=torch.int32, device="cuda")

    def call() -> Torch:
        return flash_attn_varlen_func(
            *rows,
            max_seqlen_q=asked,
            cu_seqlens_q=starts * asked,
            max_seqlen_k=held,
            cu_seqlens_k=starts * held,
            causal=True,
            fa_version=3,
        )

    def found() -> Torch:
        return call().view(batch, asked, q.shape[1], -1).transpose(1, 2)

    return Work(call=call, check=lambda: _check(torch, found, q, k, v), package="vllm")


def _inputs(columns: Columns, torch: Torch, device: str) -> tuple[Torch, Torch, Torch]:
    batch, heads, kept, dim = (
        int(columns[name]) for name in ("batch_size", "num_heads", "num_key_value_heads", "head_dim")
    )
    asked = int(columns["isl"])
    held = asked + int(columns["step"])

    def random(count: int, length: int) -> Torch:
        return torch.randn(batch, count, length, dim, device=device).to(torch.bfloat16)

    return random(heads, asked), random(kept, held), random(kept, held)


def _check(torch: Torch, call: Torch, q: Torch, k: Torch, v: Torch) -> Check:
    """Look at the last queries of the last head of the last sequence."""
    asked, held = q.shape[2], k.shape[2]
    last = min(asked, _CHECKED_QUERIES)
    keys, values = k[-1, -1].float(), v[-1, -1].float()
    scores = q[-1, -1, -last:].float() @ keys.T * q.shape[3] ** -0.5
    later = torch.ones(last, held, dtype=torch.bool, device=q.device).triu(held - last + 1)
    expected = scores.masked_fill(later, float("-inf")).softmax(-1) @ values
    return compare(
        torch, call()[-1, -1, -last:], expected, against="attention of the last queries, float32", limit=_LIMIT
    )
