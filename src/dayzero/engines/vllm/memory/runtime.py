"""What a rank takes beside weights and cache: activations, graphs, workspaces, and what is not torch's."""

from dataclasses import dataclass

from dayzero.engines.vllm.memory.facts import measured
from dayzero.engines.vllm.memory.shape import Attention, Shape

MIB = 1024**2
_LATENT_ROWS = 64 * 1024
_SPLIT_WORK = 512
_SPLITS_PER_UNIT = 2
_LARGEST_IMAGE = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What decides about the work of one step.

    Attributes:
        tokens: Tokens of one step, at most.
        seqs: Requests of one step, at most.
        context: Longest request in tokens.
        block: Tokens of a block of the cache.
        tp: Ranks of a tensor-parallel group.
        ep: Experts are spread whole.
        dp: Replicas whose tokens meet in the experts.
        model_bytes: Bytes of one number.
        compute_units: Multiprocessors of the GPU.
        split_decode: The decode kernel keeps partial results of each split of the context.
        last_stage: The stage that turns hidden states into tokens.
        sampler_bytes: Bytes that sampling takes of each logit.
        hidden_copies: Hidden states alive beside the widest part of a layer.
    """

    tokens: int
    seqs: int
    context: int
    block: int
    tp: int
    ep: bool
    dp: int
    model_bytes: int
    compute_units: int
    split_decode: bool
    last_stage: bool
    sampler_bytes: int = 8
    hidden_copies: int = 1


def activation_peak(shape: Shape, batch: Batch) -> tuple[int, str]:
    """Size what is alive at once while a full batch is profiled, and say which part of the model that is."""
    hidden = batch.tokens * shape.hidden * batch.model_bytes
    beside = batch.hidden_copies * hidden
    widths = {
        "the MLP": 3 * shape.mlp // batch.tp if shape.mlp else 0,
        "the shared experts": 3 * shape.shared_mlp // batch.tp,
        "the attention": (shape.heads + 2 * shape.kv_heads) * shape.head_size * 2 // batch.tp,
    }
    if shape.state is not None:
        widths["the recurrent layers"] = 2 * shape.state.conv_channels // batch.tp
    if shape.experts and shape.expert_mlp == shape.mlp and not shape.shared_mlp:
        widths["the MLP"] = 0
    widest = max(widths, key=lambda name: widths[name])
    forward = batch.tokens * widths[widest] * batch.model_bytes + beside
    rows = min(batch.seqs, batch.tokens)
    sampler = rows * shape.vocabulary * batch.sampler_bytes + 2 * hidden if batch.last_stage else 0
    return (sampler, "the sampler") if sampler > forward else (forward, widest)


def encoder_peak(shape: Shape, batch: Batch) -> int:
    """Size the most that a vision tower holds while it is profiled: an image of the largest size, or a whole batch of them.

    Source: vllm 0.10.1, v1/worker/gpu_model_runner.py (profile_run); 16,384 tokens are the largest image of Qwen2-VL's processor.
    """
    return max(batch.tokens, _LARGEST_IMAGE) * shape.vision * batch.model_bytes


def expert_workspace(shape: Shape, batch: Batch) -> int:
    """Size the two buffers of the experts' intermediate results, which stay allocated.

    Source: vllm 0.27.1, model_executor/layers/fused_moe/experts/marlin_moe.py:735-765.
    """
    if not shape.experts:
        return 0
    rows = batch.tokens * batch.dp * shape.top_k
    inner = shape.expert_mlp if batch.ep else -(-shape.expert_mlp // (batch.tp * batch.dp))
    return rows * (max(inner, shape.expert_hidden) + max(2 * inner, shape.expert_hidden)) * batch.model_bytes


def sampler_counts(shape: Shape, batch: Batch) -> int:
    """Size the second model runner's counts of tokens: 4 bytes and 1 bit a token of the vocabulary and request slot.

    Source: vllm 0.27.1, v1/worker/gpu/sample/penalties.py:32-45.
    """
    return batch.seqs * (shape.vocabulary * 4 + -(-shape.vocabulary // 32) * 4) if batch.last_stage else 0


def latent_workspace(shape: Shape, batch: Batch) -> int:
    """Size the buffer for gathering latents of earlier chunks, which is allocated after the cache was sized.

    At least a block for every request slot, so that hybrid models with their large blocks take gigabytes.
    Source: vllm 0.27.1, model_executor/layers/attention/mla_attention.py:1803-1831 and 1945-1951.
    """
    if Attention.LATENT not in shape.kinds:
        return 0
    return latent_rows(batch) * shape.latent * batch.model_bytes


def latent_rows(batch: Batch) -> int:
    """Count the latents that the buffer holds."""
    rows = min(max(8 * batch.context, 4 * batch.seqs * batch.block), _LATENT_ROWS)
    return max(rows, batch.seqs * batch.block)


def split_workspace(shape: Shape, batch: Batch) -> int:
    """Size the partial results of the Triton decode kernel, which are reserved after the cache was sized.

    Source: vllm 0.27.1, v1/attention/backends/mla/triton_mla.py:41-47 and 67-92.
    """
    if not batch.split_decode or Attention.LATENT not in shape.kinds:
        return 0
    return batch.seqs * (shape.heads // batch.tp) * splits_of(batch) * (shape.latent_rank + 1) * 4


def splits_of(batch: Batch) -> int:
    """Count the parts that the context is split into."""
    ideal = 1 << (max(batch.context // _SPLIT_WORK, 1) - 1).bit_length()
    return min(ideal, batch.compute_units * _SPLITS_PER_UNIT)


def capture_sizes(seqs: int, tokens: int) -> int:
    """Count the batch sizes that graphs are captured for (vllm 0.27.1, config/vllm.py:1778-1800)."""
    largest = min(2 * seqs, 512, tokens)
    return sum(1 for size in (1, 2, 4) if size <= largest) + sum(
        1 for size in (*range(8, 256, 8), *range(256, largest + 1, 16)) if size <= largest
    )


def graph_memory(layers: int, seqs: int, tokens: int) -> int:
    """Estimate the graphs of a stage: one piecewise of each size, and a full one of each size that a decode batch can have."""
    fitted = measured("graphs")
    each: float = fitted["fixed_mib"] + fitted["layer_mib"] * layers
    return round(captured_graphs(seqs, tokens) * each * MIB)


def captured_graphs(seqs: int, tokens: int) -> int:
    """Count the graphs."""
    return capture_sizes(seqs, tokens) + capture_sizes(max(seqs // 2, 1), seqs)


def state_workspace(shape: Shape, batch: Batch) -> int:
    """Size the recurrent states of a full batch before and after a prefill, which profiling does not see: it leaves attention out.

    Source: vllm 0.27.1, models/kimi_k3/nvidia/kda.py:193-195; v1/worker/gpu/model_runner.py:719-721.
    """
    if shape.state is None:
        return 0
    return 2 * min(batch.seqs, batch.tokens) * (shape.state.recurrent // batch.tp) * 4
