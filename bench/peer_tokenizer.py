"""Train a small tokenizer on texts, for peers that ask for one, so that none is fetched: FOLDER TEXT..."""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers


def main(folder: Path, texts: list[str]) -> None:
    """Write the tokenizer, its settings and a config that names no weights."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train(texts, trainers.BpeTrainer(vocab_size=2000, special_tokens=["<|end|>"], initial_alphabet=alphabet))
    tokenizer.save(str(folder / "tokenizer.json"))
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "model_max_length": 131072}
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": template}))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": tokenizer.get_vocab_size()}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
