"""Layers that draft the next token (multi-token prediction), stored behind the last layer of the model."""

from collections.abc import Iterator

from dayzero.fit.architectures.decoder import Part, Style
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.weights import Names, Role, Weight, linear, norm


def next_layers(fields: Fields, names: Names, style: Style, *, mixer: Part, feed: Part) -> Iterator[Weight]:
    """Give the layers that ``num_nextn_predict_layers`` counts, as DeepSeek-V3 stores them.

    Each is a layer of the model with its own copy of the embedding and of the output head, two norms and the projection
    that joins a token with what came before. Source: vllm 0.32.0, model_executor/models/deepseek_mtp.py (the names it loads).
    """
    hidden, vocabulary, last = fields.whole("hidden_size"), fields.whole("vocab_size"), fields.layers()
    for layer in range(last, last + fields.whole("num_nextn_predict_layers", default=0, least=0)):
        stem = f"{names.root}{style.layers}.{layer}."
        yield Weight(f"{stem}embed_tokens.weight", (vocabulary, hidden))
        yield from norm(f"{stem}enorm", hidden)
        yield from norm(f"{stem}hnorm", hidden)
        yield from linear(f"{stem}eh_proj", hidden, 2 * hidden, role=Role.OTHER)
        yield from mixer(fields, style, stem, layer)
        yield from feed(fields, style, stem, layer)
        for name in style.norms:
            yield from norm(stem + name, hidden)
        yield from norm(f"{stem}shared_head.norm", hidden)
        yield from linear(f"{stem}shared_head.head", vocabulary, hidden, role=Role.HEAD)
