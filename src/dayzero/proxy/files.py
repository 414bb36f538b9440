"""The small files that an engine asks for beside a configuration, made so that no byte depends on where they are made."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.core.errors import InputError
from dayzero.proxy.shrink import text_part

CONFIG: Final = "config.json"
_BYTES: Final = 256
_PRINTABLE: Final = (range(0x21, 0x7F), range(0xA1, 0xAD), range(0xAE, 0x100))
_SPECIAL: Final = "_token_id"
_MEDIA: Final = "media_placeholder"  # the name by which processors of such models look the token up
_MEDIA_WORD: Final = "<|media_pad|>"
_MOST_CONTEXT: Final = 1 << 20
_TEMPLATE: Final = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}<|assistant|>"
)
_MODULE: Final = "shape_only_processor"
_CLASS: Final = "ShapeOnlyImageProcessor"
_PROCESSOR: Final = '''"""Stands where the whole model's image processor is looked for: a shape takes text alone."""

from transformers.image_processing_utils import BaseImageProcessor


class ShapeOnlyImageProcessor(BaseImageProcessor):
    """Answers what is asked at the start, and refuses every image."""

    model_input_names = ["pixel_values", "grid_thws"]

    def __init__(self, media_proc_cfg=None, **settings):
        super().__init__(**settings)
        self.media_proc_cfg = media_proc_cfg or {}

    def media_tokens_calculator(self, media):
        return 1

    def preprocess(self, images, **settings):
        raise ValueError("a model of shape alone takes no images")
'''


def model_files(config: Mapping[str, object]) -> dict[str, bytes]:
    """Write the files of a model directory without weights; the same configuration gives the same bytes everywhere.

    The tokenizer takes a text byte by byte, one token each. Every other number of the vocabulary stands for a word of its own,
    so that whatever random weights answer is text.

    Args:
        config: The configuration to serve; it is written as :data:`CONFIG`.

    Raises:
        InputError: The configuration has no vocabulary that bytes and its special tokens fit into.
    """
    _, text = text_part(config)
    special = _special_tokens(config, text)
    files = {
        CONFIG: _json(config, indent=1),
        "tokenizer.json": _json(_tokenizer(_size(text), special)),
        "tokenizer_config.json": _json(_tokenizer_settings(text, special), indent=1),
        "generation_config.json": _json({"do_sample": False, **_ends(special)}, indent=1),
    }
    seen = config.get("vision_config")
    if isinstance(seen, dict):
        files["preprocessor_config.json"] = _json(_processor_settings(seen), indent=1)
        files[f"{_MODULE}.py"] = _PROCESSOR.encode()
    return files


def proxy_files(config: str) -> dict[str, bytes]:
    """Write the files of a model directory from the text of its configuration; see :func:`model_files`.

    Raises:
        InputError: The text is no JSON object, or no configuration of a language model.
    """
    try:
        document = json.loads(config)
    except (ValueError, RecursionError) as error:
        raise InputError(f"config.json is no JSON: {error}", hint="Write it with dayzero proxy.") from error
    if not isinstance(document, dict):
        raise InputError("config.json is no object", hint="Write it with dayzero proxy.")
    return model_files(document)


def _json(document: object, indent: int | None = None) -> bytes:
    separators = (",", ":") if indent is None else None
    return json.dumps(document, indent=indent, separators=separators, ensure_ascii=False).encode() + b"\n"


def _size(text: Mapping[str, object]) -> int:
    size = text.get("vocab_size")
    if not isinstance(size, int) or size < 2 * _BYTES:
        raise InputError(
            f"vocab_size is {size!r}", hint="Give a configuration whose vocabulary holds at least 512 tokens."
        )
    return size


def _special_tokens(config: Mapping[str, object], text: Mapping[str, object]) -> dict[str, int]:
    """Name the tokens to which the configuration gives numbers, by what it calls them; an end of its own where it names none."""
    size = _size(text)
    special: dict[str, int] = {}
    for table in (text, config):
        for key, value in table.items():
            if key.endswith(_SPECIAL) and isinstance(value, int) and _BYTES <= value < size:
                name = key.removesuffix(_SPECIAL)
                special[_MEDIA_WORD if name == _MEDIA else f"<|{name}|>"] = value
    taken = set(special.values())
    free = (number for number in range(size - 1, 0, -1) if number not in taken)
    for word in ("<|eos|>", *_placeholders(config)):
        special.setdefault(word, next(free))
    return special


def _placeholders(config: Mapping[str, object]) -> Iterator[str]:
    yield from (str(value) for key, value in sorted(config.items()) if key.endswith("_placeholder") and value)


def _tokenizer(size: int, special: Mapping[str, int]) -> Mapping[str, object]:
    named = {number: word for word, number in special.items()}
    letters = _byte_letters()
    words = (named.get(number) or (letters[number] if number < _BYTES else f"Ġw{number}") for number in range(size))
    added = [
        {
            "id": number,
            "content": word,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number, word in sorted(named.items())
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {word: number for number, word in enumerate(words)},
            "merges": [],
        },
    }


def _byte_letters() -> list[str]:
    """Give the letter by which a byte-level vocabulary writes each byte: itself where it is printable, else one from 256 on."""
    printable = {byte for span in _PRINTABLE for byte in span}
    others = iter(range(_BYTES, 2 * _BYTES))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(_BYTES)]


def _tokenizer_settings(text: Mapping[str, object], special: Mapping[str, int]) -> Mapping[str, object]:
    length = text.get("max_position_embeddings")
    named = {f"{name}_token": f"<|{name}|>" for name in ("bos", "eos", "pad") if f"<|{name}|>" in special}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **named,
        "model_max_length": length if isinstance(length, int) else _MOST_CONTEXT,
        "clean_up_tokenization_spaces": False,
        "chat_template": _TEMPLATE,
    }


def _ends(special: Mapping[str, int]) -> Mapping[str, int]:
    return {f"{name}_token_id": special[f"<|{name}|>"] for name in ("bos", "eos", "pad") if f"<|{name}|>" in special}


def _processor_settings(seen: Mapping[str, object]) -> Mapping[str, object]:
    patch, merge = seen.get("patch_size", 14), seen.get("merge_kernel_size", [2, 2])
    return {
        "image_processor_type": _CLASS,
        "auto_map": {"AutoImageProcessor": f"{_MODULE}.{_CLASS}"},
        "media_proc_cfg": {
            "patch_size": patch,
            "merge_kernel_size": merge[0] if isinstance(merge, list) else merge,
            "in_patch_limit": 16,
            "patch_limit_on_one_side": 4,
            "fixed_output_tokens": None,
        },
    }
