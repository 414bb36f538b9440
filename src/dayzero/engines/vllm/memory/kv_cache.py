"""The cache of one rank: what each layer's pages take, how vLLM groups layers, how many tokens that holds."""

from dataclasses import dataclass, replace

from dayzero.engines.vllm.memory.shape import Attention, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePlan:
    """What decides about the cache beside the model.

    Attributes:
        tp: Ranks that the heads are split over.
        value_bytes: Bytes of one cached number.
        model_bytes: Bytes of one number in the model's own type.
        packed_latent: Bytes of one token's latent in a packed layout, 0 for a plain one.
        block: Tokens of a block, before hybrid models enlarge it.
        block_multiple: What the enlarged block is a multiple of.
        in_flight: Tokens that a request may hold beside its window.
        speculative: Tokens that are drafted at once.
        checkpoints: Recurrent states that are kept of one request.
        hybrid_groups: Windows are freed as they slide; otherwise every layer keeps all tokens.
        chunk_groups: The same for attention in chunks.
        even_groups: How many times the fewest layers of a kind the most may be for groups of the most.
        context: Longest request in tokens.
    """

    tp: int
    value_bytes: int
    model_bytes: int
    packed_latent: int
    block: int
    block_multiple: int
    in_flight: int
    speculative: int
    checkpoints: int
    hybrid_groups: bool
    context: int
    chunk_groups: bool = True
    even_groups: float = 1.5


@dataclass(frozen=True, slots=True)
class _Pages:
    """One layer's pages: what it keeps, the bytes and tokens of a page."""

    kind: Attention
    size: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheLayout:
    """How the cache is cut.

    Attributes:
        block_bytes: Bytes of one block in all the pools together.
        request_blocks: Blocks that one request of the whole context takes.
        request_bytes: Bytes that vLLM asks for before it starts: one request of the whole context.
        block_tokens: Tokens of a block of full attention.
        groups: How many block tables a request has.
    """

    block_bytes: int
    request_blocks: int
    request_bytes: int
    block_tokens: int
    groups: int = 1

    def blocks(self, available: int) -> int:
        """Count the blocks that fit into so many bytes."""
        return max(available, 0) // self.block_bytes if self.block_bytes else 0

    def tokens(self, blocks: int) -> int:
        """Say how many tokens so many blocks hold, shared evenly by all groups (vllm 0.19.0, v1/core/kv_cache_utils.py:1302)."""
        return blocks // self.groups * self.block_tokens

    def concurrency(self, blocks: int) -> float:
        """Say how many requests of the whole context so many blocks hold (vllm 0.27.1, v1/core/kv_cache_utils.py:937)."""
        return blocks / self.request_blocks if self.request_blocks else 0.0


def cache_layout(shape: Shape, plan: CachePlan, first: int, last: int) -> CacheLayout:
    """Lay out the cache of a stage that holds the layers ``first`` up to ``last``; the groups are those of all layers.

    Follows vllm 0.27.1: pages v1/kv_cache_interface.py, hybrid blocks platforms/interface.py:800-948, groups
    v1/core/kv_cache_utils.py:1022-1280 and 1781-1850, memory of one request :1890-1950, stages :2052-2092.
    """
    block = _enlarged_block(shape, plan)
    pages: dict[_Pages, tuple[int, ...]] = {}
    for kind in dict.fromkeys(kind for kind in shape.kinds if kind is not Attention.NONE):
        page = _pages(kind, shape, plan, block)
        apart = plan.chunk_groups if kind is Attention.CHUNK else plan.hybrid_groups
        if not apart and not shape.hybrid and kind is not Attention.LATENT:
            page = replace(page, kind=Attention.FULL)
        layers = tuple(layer for layer, other in enumerate(shape.kinds) if other is kind)
        pages[page] = tuple(sorted(pages.get(page, ()) + layers))
    if not pages:
        return CacheLayout(block_bytes=0, request_blocks=0, request_bytes=0, block_tokens=plan.block)
    largest = max(page.size for page in pages)
    groups = _groups({_raised(page, largest): layers for page, layers in pages.items()}, plan.even_groups)
    held = max(sum(1 for layer in layers if first <= layer < last) for _, layers in groups)
    block_bytes = held * (largest + _indexer_bytes(shape) * block)
    blocks = sum(_request_blocks(page, shape, plan) for page, _ in groups)
    tokens = max((page.tokens for page, _ in groups if page.kind is not Attention.STATE), default=plan.block)
    return CacheLayout(
        block_bytes=block_bytes,
        request_blocks=blocks,
        request_bytes=blocks * block_bytes,
        block_tokens=tokens,
        groups=len(groups),
    )


def _groups(pages: dict[_Pages, tuple[int, ...]], even: float) -> list[tuple[_Pages, tuple[int, ...]]]:
    """Split layers of several kinds into groups of about one size, each with block tables of its own; one kind is one group."""
    fewest, most = min(map(len, pages.values())), max(map(len, pages.values()))
    size = most if most < fewest * even else fewest
    return [
        (page, layers[start :: -(-len(layers) // size)])
        for page, layers in pages.items()
        for start in range(-(-len(layers) // size))
    ]


def _raised(page: _Pages, largest: int) -> _Pages:
    """Bring a page to the size of the largest: more tokens in it, or padding (vllm 0.27.1, v1/core/kv_cache_utils.py:1070)."""
    times, rest = divmod(largest, page.size)
    if page.kind is Attention.STATE or rest:
        return replace(page, size=largest)
    return replace(page, size=largest, tokens=page.tokens * times)


def _token_bytes(kind: Attention, shape: Shape, plan: CachePlan) -> int:
    if kind is Attention.LATENT:
        return plan.packed_latent or shape.latent * plan.value_bytes
    return 2 * max(shape.kv_heads // plan.tp, 1) * shape.head_size * plan.value_bytes


def _indexer_bytes(shape: Shape) -> int:
    """Size the sparse indexer's key of one token: 8-bit numbers, and a float32 scale for each 128 of them."""
    return shape.indexer + shape.indexer // 128 * 4 if shape.latent else 0


def _state_bytes(shape: Shape, plan: CachePlan) -> int:
    state = shape.state
    if state is None:
        return 0
    conv = state.conv_channels // plan.tp * (state.conv_tokens + plan.speculative) * plan.model_bytes
    return conv + state.recurrent // plan.tp * (4 if state.float32 else plan.model_bytes)


def _enlarged_block(shape: Shape, plan: CachePlan) -> int:
    """Enlarge the block so that a page of attention is at least as large as a recurrent state."""
    if shape.state is None:
        return plan.block
    attention = next((kind for kind in shape.kinds if kind not in {Attention.STATE, Attention.NONE}), None)
    if attention is None:
        return plan.block
    step = max(plan.block_multiple, plan.block) if attention is Attention.LATENT else plan.block
    per_step = step * _token_bytes(attention, shape, plan)
    return max(plan.block, step * -(-_state_bytes(shape, plan) // per_step))


def _pages(kind: Attention, shape: Shape, plan: CachePlan, block: int) -> _Pages:
    if kind is Attention.STATE:
        attention = next((other for other in shape.kinds if other not in {Attention.STATE, Attention.NONE}), None)
        padded = block * _token_bytes(attention, shape, plan) if attention else 0
        return _Pages(kind, max(_state_bytes(shape, plan), padded), block)
    return _Pages(kind, block * _token_bytes(kind, shape, plan), block)


def _request_blocks(page: _Pages, shape: Shape, plan: CachePlan) -> int:
    """Count the blocks of one group that a request of the whole context holds."""
    match page.kind:
        case Attention.STATE:
            return plan.checkpoints + plan.speculative
        case Attention.WINDOW:
            return -(-min(shape.window - 1 + plan.in_flight, plan.context) // page.tokens) + 1
        case Attention.CHUNK:
            return -(-min(shape.chunk + plan.in_flight, plan.context) // page.tokens)
        case _:
            return -(-plan.context // page.tokens)
