"""The pools of one rank: bytes of one token over all layers, of one recurrent state, and what a budget holds of them."""

from dataclasses import dataclass

from dayzero.engines.sglang.memory.settings import Settings
from dayzero.engines.vllm.memory.shape import Attention, Shape

_KEEPS_TOKENS = {Attention.FULL, Attention.WINDOW, Attention.CHUNK, Attention.LATENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """How the memory beside the weights is cut.

    Attributes:
        token_bytes: Of one token in all layers; a sliding window's layers count by their share of tokens.
        state_bytes: Of one request's recurrent states in all layers.
        words: How ``token_bytes`` comes about, with numbers.
    """

    token_bytes: float
    state_bytes: int
    words: str


@dataclass(frozen=True, slots=True)
class Held:
    """What a budget holds: tokens, and recurrent states."""

    tokens: int
    states: int


def pool_of(shape: Shape, settings: Settings, tp: int, first: int, last: int) -> Pool:
    """Size a token and a state on a rank that holds the layers ``first`` up to ``last``.

    Source: sglang 0.5.18, srt/model_executor/pool_configurator.py:216-330 and 437-560; 0.5.10,
    srt/model_executor/model_runner_kv_cache_mixin.py:70-140.
    """
    kinds = shape.kinds[first:last]
    heads, size = max(shape.kv_heads // tp, 1), shape.head_size
    windows = sum(kind in {Attention.WINDOW, Attention.CHUNK} for kind in kinds) if settings.own_windows else 0
    full = sum(kind in _KEEPS_TOKENS for kind in kinds) - windows
    drafts = settings.draft_layers * full // max(sum(kind in _KEEPS_TOKENS for kind in shape.kinds), 1)
    if shape.latent:
        indexer = shape.indexer + shape.indexer // 128 * 4
        each = (settings.packed_latent or shape.latent * settings.value_bytes) + indexer
        packed = (
            f"{settings.packed_latent} B" if settings.packed_latent else f"{shape.latent} x {settings.value_bytes} B"
        )
        words = f"{full + drafts} layers x ({packed}{f' + indexer {indexer} B' if indexer else ''})"
    else:
        each = 2 * heads * size * settings.value_bytes
        held = f"{shape.kv_heads} heads / {tp} ranks" if tp > 1 else f"{shape.kv_heads} heads"
        held = held if tp <= shape.kv_heads else "1 repeated head"
        words = f"2 x {full + drafts} layers x {held} x {size} x {settings.value_bytes} B"
    ratio = settings.window_ratio if full else 1.0
    if windows:
        words = f"{words} + {ratio:g} of a token x {windows} window layers x {each} B"
    return Pool(
        token_bytes=(full + drafts) * each + windows * each * ratio,
        state_bytes=_state_bytes(shape, settings, tp) * sum(kind is Attention.STATE for kind in kinds),
        words=words,
    )


def _state_bytes(shape: Shape, settings: Settings, tp: int) -> int:
    """Size one layer's state: the convolution in 16 bits, the recurrence in its own type (srt/configs/mamba_utils.py)."""
    if shape.state is None:
        return 0
    conv = shape.state.conv_channels // tp * shape.state.conv_tokens * 2
    return conv + shape.state.recurrent // tp * settings.states.value_bytes


def held_by(rest: int, pool: Pool, settings: Settings) -> Held:
    """Say what so many bytes beside the weights hold; less than one token is nothing.

    Source: sglang 0.5.10, srt/model_executor/model_runner_kv_cache_mixin.py:176-238; 0.5.18,
    srt/mem_cache/kv_cache_configurator.py:1970-2136.
    """
    states = 0
    if pool.state_bytes and rest > 0:
        for_states = int(rest * settings.states.ratio / (1 + settings.states.ratio))
        states = settings.states.stated or for_states // pool.state_bytes - settings.states.padding
        rest -= (states + settings.states.padding) * pool.state_bytes
    tokens = int(max(rest, 0) // pool.token_bytes) if pool.token_bytes else settings.context
    if settings.most_tokens:
        tokens = min(tokens, settings.most_tokens)
    return Held(tokens=tokens // settings.page * settings.page, states=max(states, 0))


def taken_by(held: Held, pool: Pool, settings: Settings) -> int:
    """Size what is allocated for so much, with the page and the states that pad it."""
    states = (held.states + settings.states.padding) * pool.state_bytes if pool.state_bytes else 0
    return int(held.tokens * pool.token_bytes) + states


def asked_by(tokens: int, pool: Pool, settings: Settings) -> int:
    """Size what must be left beside the weights so that the pools hold a request of so many tokens.

    Where the memory is split between tokens and states by a ratio, the one that is short decides.
    """
    whole = -(-tokens // settings.page) * settings.page
    cache = -int(-whole * pool.token_bytes // 1)
    if not pool.state_bytes:
        return cache
    if settings.states.stated:
        return cache + (settings.states.stated + settings.states.padding) * pool.state_bytes
    states = (settings.states.of_request + settings.states.padding) * pool.state_bytes
    ratio = settings.states.ratio
    return int(max(cache * (1 + ratio), states * (1 + ratio) / ratio))
