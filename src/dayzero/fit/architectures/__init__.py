"""From a ``config.json`` alone to every tensor that the checkpoint stores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from dayzero.core.verdict import Place
from dayzero.fit.architectures import deepseek_v4, dense, kimi, mamba, mla, moe, older, qwen_next
from dayzero.fit.architectures.family import Family
from dayzero.fit.architectures.fields import Fields
from dayzero.fit.architectures.multimodal import SEEING, Seeing
from dayzero.fit.architectures.quantisation import Quantisation, UnknownForm, quantisation_of
from dayzero.fit.architectures.store import stored_tensors
from dayzero.fit.architectures.weights import Names, Weight
from dayzero.fit.checkpoint import Basis, Checkpoint, Unknown

__all__ = ["checkpoint_of", "known_architectures", "logical_parameters"]

_FAMILIES: tuple[Family, ...] = (
    *dense.FAMILIES,
    *older.FAMILIES,
    *moe.FAMILIES,
    *mla.FAMILIES,
    *deepseek_v4.FAMILIES,
    *kimi.FAMILIES,
    *qwen_next.FAMILIES,
    *mamba.FAMILIES,
)
_BY_ARCHITECTURE = {family.architecture: family for family in _FAMILIES}
_BY_TYPE = {kind: family for family in _FAMILIES for kind in family.model_types}
_SEEING_BY_ARCHITECTURE = {seeing.architecture: seeing for seeing in SEEING}
_SEEING_BY_TYPE = {seeing.model_type: seeing for seeing in SEEING if seeing.model_type}
_DTYPES = {
    "bfloat16": "BF16",
    "float16": "F16",
    "half": "F16",
    "float32": "F32",
    "float": "F32",
    "float8_e4m3fn": "F8_E4M3",
}


def known_architectures() -> tuple[str, ...]:
    """Name every architecture that is described here."""
    return tuple(sorted((*_BY_ARCHITECTURE, *_SEEING_BY_ARCHITECTURE)))


def checkpoint_of(config: Mapping[str, object], source: str = "config.json") -> Checkpoint | Unknown:
    """List the tensors of a model from its configuration alone.

    Args:
        config: ``config.json`` as it stands.
        source: Where it stands, for citing.

    Returns:
        The checkpoint, or why it cannot be told: the architecture, its vision tower or its quantisation is not described.

    Raises:
        InputError: A field that the architecture needs is missing or makes no sense; it names the field and the architecture.
    """
    found = _model(config)
    if isinstance(found, str):
        return Unknown(reason=found, place=Place(artifact="", file=source))
    try:
        quantisation = _quantisation(found)
    except UnknownForm as unknown:
        return Unknown(reason=str(unknown), place=Place(artifact="", file=source, position="/quantization_config"))
    dtype, note = _dtype(found)
    tensors = tuple(stored_tensors(found.weights(), quantisation, dtype))
    return Checkpoint(
        tensors=tensors, config=config, basis=Basis.CONFIG, source=source, shards=None, notes=(note,) if note else ()
    )


def logical_parameters(config: Mapping[str, object], source: str = "config.json") -> int | Unknown:
    """Count the parameters of a model before any quantisation; see :func:`checkpoint_of`."""
    found = _model(config)
    if isinstance(found, str):
        return Unknown(reason=found, place=Place(artifact="", file=source))
    return sum(prod(weight.shape) * weight.count for weight in found.weights())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A configuration whose architecture is described here.

    Attributes:
        top, text: The whole configuration, and the part that describes the language model.
        family: Lists the language model.
        names: Where it stands.
        seeing: The tower beside it, if there is one.
    """

    top: Fields
    text: Fields
    family: Family
    names: Names
    seeing: Seeing | None

    def weights(self) -> Iterator[Weight]:
        """List all parameters."""
        yield from self.family.text(self.text, replace(self.names, tied=self._tied()))
        if self.seeing:
            yield from (replace(weight, tower=True) for weight in self.seeing.tower(self.top, self.text))

    def _tied(self) -> bool | None:
        for part in (self.top, self.text):
            if "tie_word_embeddings" in part.values:
                return part.flag("tie_word_embeddings")
        return None


def _model(config: Mapping[str, object]) -> _Model | str:
    """Find who describes a configuration, or say what is not described."""
    plain = Fields(values=config, family="the model", where="", defaults={})
    named, kind = plain.words("architectures"), plain.word("model_type", "")
    if not named and not kind:
        raise plain.error("architectures", "is missing, and so is model_type")
    name = named[0] if named else kind
    top = replace(plain, family=name)
    seeing = _SEEING_BY_ARCHITECTURE.get(name) if named else _SEEING_BY_TYPE.get(kind)
    if seeing:
        return _seeing_model(top, seeing)
    family = _BY_ARCHITECTURE.get(name) if named else _BY_TYPE.get(kind)
    if family is None:
        return f"the architecture {name} is not described here"
    if top.has("vision_config", "audio_config"):
        return f"the tower of {name} is not described here"
    text = top.part("text_config", kind) if top.has("text_config") else top
    return _drafted(_Model(top=top, text=text, family=family, names=family.names, seeing=None))


def _seeing_model(top: Fields, seeing: Seeing) -> _Model | str:
    text = top.part("text_config", seeing.text) if top.has("text_config") else top
    kind = text.word("model_type", "") if text is not top else ""
    own = kind in {"", seeing.model_type, f"{seeing.model_type}_text"}
    family = _BY_TYPE.get(kind) or (_BY_TYPE[seeing.text] if own else None)
    if family is None:
        return f"the language model {kind} inside {top.family} is not described here"
    vision = top.part("vision_config").word("model_type", "")
    if seeing.vision and vision and vision not in seeing.vision:
        return f"the vision tower {vision} of {top.family} is not described here"
    return _drafted(_Model(top=top, text=text, family=family, names=seeing.names, seeing=seeing))


def _drafted(model: _Model) -> _Model | str:
    """Refuse layers for drafting that the family does not list: leaving them out would be too small."""
    drafts = model.text.whole("num_nextn_predict_layers", default=0, least=0)
    if drafts and not model.family.drafts:
        return f"the {drafts} drafting layers of {model.top.family} (num_nextn_predict_layers) are not described here"
    return model


def _quantisation(model: _Model) -> Quantisation:
    for part in (model.top, model.text):
        for name in ("quantization_config", "compression_config"):
            if part.has(name):
                return quantisation_of(part.part(name), model.text)
    return Quantisation()


def _dtype(model: _Model) -> tuple[str, str]:
    """Give the storage type, and what was taken for granted in doing so."""
    for part in (model.top, model.text):
        for name in ("dtype", "torch_dtype"):
            word = part.word(name, "")
            if word and word.removeprefix("torch.") not in _DTYPES:
                raise part.error(name, f"is no storage type of weights: {word:.60}")
            if word:
                return _DTYPES[word.removeprefix("torch.")], ""
    return "BF16", "config.json names no dtype; BF16 was taken"
