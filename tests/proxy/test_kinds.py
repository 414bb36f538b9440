from dayzero.proxy.kinds import kinds_of


def stack(layer: int, *names: str) -> list[tuple[str, str, int]]:
    return [(f"model.layers.{layer}.{name}", "BF16 (8, 8) 1", 128) for name in names]


def test_layers_that_store_the_same_are_one_kind_and_the_tensors_that_tell_are_named():
    tensors = [
        *stack(0, "attn.q.weight", "mlp.gate.weight"),
        *stack(1, "attn.q.weight", "experts.*.w1"),
        *stack(2, "attn.q.weight", "experts.*.w1"),
        ("model.embed.weight", "BF16 (8, 8) 1", 128),
    ]
    dense, experts = kinds_of(tensors)
    assert (dense.first, dense.count, dense.tells) == (0, 1, ("mlp.gate",))
    assert (experts.first, experts.count, experts.tells) == (1, 2, ("experts.*.w1",))


def test_another_shape_is_another_kind():
    tensors = [("h.0.w", "BF16 (8, 8) 1", 128), ("h.1.w", "BF16 (8, 4) 1", 64)]
    assert [kind.count for kind in kinds_of(tensors)] == [1, 1]


def test_a_tower_with_layers_of_its_own_is_left_out():
    tensors = [("tower.blocks.0.w", "BF16 (1, 1) 1", 2), *stack(0, "a"), *stack(1, "a")]
    assert [kind.count for kind in kinds_of(tensors)] == [2]


def test_nothing_is_no_kind():
    assert kinds_of([("embed", "BF16 (8, 8) 1", 128)]) == ()
