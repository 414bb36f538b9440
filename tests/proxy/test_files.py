import ast
import json
import subprocess

import pytest

from dayzero.core.errors import InputError
from dayzero.proxy.files import model_files, proxy_files

CONFIG = {
    "num_hidden_layers": 2,
    "vocab_size": 1024,
    "eos_token_id": 1000,
    "bos_token_id": 999,
    "max_position_embeddings": 40960,
}
SEEING = {
    "text_config": CONFIG,
    "vision_config": {"patch_size": 14, "merge_kernel_size": [2, 2]},
    "media_placeholder_token_id": 1001,
    "image_placeholder": "<|acme_image|>",
}


def vocabulary(config):
    return json.loads(model_files(config)["tokenizer.json"])["model"]["vocab"]


def test_the_same_configuration_gives_the_same_bytes_again_from_what_was_written():
    files = model_files(SEEING)
    assert proxy_files(files["config.json"].decode()) == files


def test_every_number_of_the_vocabulary_has_a_word_of_its_own():
    words = vocabulary(SEEING)
    assert sorted(words.values()) == list(range(1024))


def test_special_tokens_keep_their_numbers_and_placeholders_get_free_ones():
    words = vocabulary(SEEING)
    assert (words["<|eos|>"], words["<|bos|>"], words["<|media_pad|>"]) == (1000, 999, 1001)
    assert words["<|acme_image|>"] not in {999, 1000, 1001, *range(256)}
    added = {one["content"] for one in json.loads(model_files(SEEING)["tokenizer.json"])["added_tokens"]}
    assert added == {"<|eos|>", "<|bos|>", "<|media_pad|>", "<|acme_image|>"}


READ = """
import json, sys
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
said = tokenizer.encode(sys.argv[2]).ids
print(json.dumps([len(said), tokenizer.decode(said, skip_special_tokens=False), tokenizer.decode([300, 700])]))
"""


@pytest.mark.vllm
def test_the_real_library_reads_bytes_in_and_words_out(tmp_path, vllm_environment):
    text = "Grüße,\n  <|eos|>"
    (tmp_path / "tokenizer.json").write_bytes(model_files(CONFIG)["tokenizer.json"])
    command = [str(vllm_environment / "bin" / "python"), "-c", READ, str(tmp_path / "tokenizer.json"), text]
    count, again, words = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert count == len("Grüße,\n  ".encode()) + 1
    assert (again, words) == (text, " w300 w700")


def test_a_model_that_sees_gets_a_processor_that_refuses_images_and_is_python():
    files = model_files(SEEING)
    named = json.loads(files["preprocessor_config.json"])["auto_map"]["AutoImageProcessor"]
    module, _, cls = named.partition(".")
    (found,) = [one for one in ast.parse(files[f"{module}.py"]).body if isinstance(one, ast.ClassDef)]
    assert found.name == cls
    assert not any(name.endswith(".py") for name in model_files(CONFIG))


@pytest.mark.parametrize("size", [None, 511, "1024"])
def test_a_vocabulary_that_bytes_do_not_fit_into_is_refused(size):
    with pytest.raises(InputError, match="vocab_size"):
        model_files({**CONFIG, "vocab_size": size})


@pytest.mark.parametrize(("text", "complaint"), [("{", "is no JSON"), ("[]", "is no object")])
def test_a_broken_configuration_is_refused(text, complaint):
    with pytest.raises(InputError, match=complaint):
        proxy_files(text)
