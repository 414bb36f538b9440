"""Weights on this disk: headers, indices, configurations, and every way in which they can be torn."""

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.adapters.checkpoint_files import read_checkpoint, read_pinned_checkpoint
from dayzero.adapters.safetensors_header import read_safetensors_header
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import FilePin, Sha256
from dayzero.core.quantities import Bytes
from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.checkpoint import Basis, Checkpoint, Tensor, Unknown
from dayzero_verify.safetensors import DTYPE_BITS

_TINY = {
    "architectures": ["MixtralForCausalLM"],
    "model_type": "mixtral",
    "vocab_size": 8,
    "hidden_size": 4,
    "intermediate_size": 6,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "num_local_experts": 3,
    "torch_dtype": "bfloat16",
}


def _file(header: bytes, data: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + data


def _safetensors(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> bytes:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, (dtype, shape) in tensors.items():
        end = at + prod(shape) * DTYPE_BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, end]}
        at = end
    return _file(json.dumps(header).encode(), bytes(at))


def _tiny_tensors() -> dict[str, tuple[str, tuple[int, ...]]]:
    told = checkpoint_of(_TINY)
    assert isinstance(told, Checkpoint)
    return {
        tensor.name.replace(".*.", f".{expert}."): (tensor.dtype, tensor.shape)
        for tensor in told.tensors
        for expert in range(tensor.count)
    }


def _sharded(folder: Path, *, total: object = None) -> Path:
    tensors = _tiny_tensors()
    weight_map = {name: f"model-0000{1 + index % 2}-of-00002.safetensors" for index, name in enumerate(tensors)}
    for shard in sorted(set(weight_map.values())):
        own = {name: tensor for name, tensor in tensors.items() if weight_map[name] == shard}
        (folder / shard).write_bytes(_safetensors(own))
    index = folder / "model.safetensors.index.json"
    metadata = {} if total is None else {"total_size": total}
    index.write_text(json.dumps({"metadata": metadata, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps(_TINY))
    return index


def _told(path: Path) -> Checkpoint:
    told = read_checkpoint(path)
    assert isinstance(told, Checkpoint), told
    return told


def test_headers_of_all_shards_and_the_configuration_agree(tmp_path: Path) -> None:
    _sharded(tmp_path)
    told, computed = _told(tmp_path), checkpoint_of(_TINY)
    assert isinstance(computed, Checkpoint)
    assert set(told.tensors) == set(computed.tensors)
    assert (told.basis, told.shards, told.config) == (Basis.HEADERS, 2, _TINY)
    assert told.size == computed.size


def test_the_experts_of_a_layer_are_counted_together(tmp_path: Path) -> None:
    _sharded(tmp_path)
    name = "model.layers.1.block_sparse_moe.experts.*.w2.weight"
    assert [tensor for tensor in _told(tmp_path).tensors if tensor.name == name] == [
        Tensor(name=name, shape=(4, 6), dtype="BF16", stored=Bytes(3 * 4 * 6 * 2), count=3)
    ]


def test_an_index_that_names_a_missing_shard_names_it(tmp_path: Path) -> None:
    _sharded(tmp_path)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match=r"names the shard model-00002-of-00002\.safetensors, which is not there"):
        read_checkpoint(tmp_path)


def test_an_index_alone_gives_names_and_total(tmp_path: Path) -> None:
    index = _sharded(tmp_path, total=1000)
    for shard in tmp_path.glob("*.safetensors"):
        shard.unlink()
    told = _told(index)
    assert (told.basis, told.shards, told.stated) == (Basis.INDEX, 2, Bytes(1000))
    assert told.notes == (f"model.safetensors.index.json states 1000 B; the tensors have {told.size}",)


def test_an_index_that_the_configuration_does_not_explain_is_unknown(tmp_path: Path) -> None:
    index = _sharded(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**_TINY, "num_hidden_layers": 3}))
    told = read_checkpoint(index)
    assert isinstance(told, Unknown)
    assert "is in the configuration alone" in told.reason


def test_files_that_the_index_does_not_name_are_not_counted(tmp_path: Path) -> None:
    _sharded(tmp_path)
    before = _told(tmp_path).size
    (tmp_path / "consolidated.safetensors").write_bytes(_safetensors({"other": ("F32", (9,))}))
    assert _told(tmp_path).size == before


@pytest.mark.parametrize("shard", ["../secret.safetensors", "/etc/passwd", "sub/a.safetensors", 7, "weights.bin"])
def test_an_index_cannot_lead_out_of_its_folder(tmp_path: Path, shard: object) -> None:
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))
    with pytest.raises(InputError, match="no file beside it"):
        read_checkpoint(tmp_path)


def test_a_name_in_two_files_names_both(tmp_path: Path) -> None:
    for name in ("a.safetensors", "b.safetensors"):
        (tmp_path / name).write_bytes(_safetensors({"w": ("F32", (2,))}))
    with pytest.raises(InputError, match=r"w is in a\.safetensors and in b\.safetensors"):
        read_checkpoint(tmp_path)


def test_a_shard_that_lacks_what_the_index_places_in_it_is_told(tmp_path: Path) -> None:
    _sharded(tmp_path)
    (tmp_path / "model-00001-of-00002.safetensors").write_bytes(_safetensors({"w": ("F32", (2,))}))
    with pytest.raises(InputError, match=r"places model\.embed_tokens\.weight in model-00001"):
        read_checkpoint(tmp_path)


_W = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
_TORN: list[tuple[str, bytes, str]] = [
    ("empty", b"", "byte 0: the file ends after 0 bytes"),
    ("no length", b"\x01\x02", "byte 2: the file ends after 2 bytes"),
    ("header too long", (10**12).to_bytes(8, "little"), "byte 0: the header would have 1000000000000 bytes"),
    ("ends inside the header", _file(_W)[:20], "byte 20: the file ends inside its header"),
    ("no json", _file(b"{nope"), "byte 8: not a JSON object"),
    ("a list", _file(b"[]"), "byte 8: not a JSON object"),
    ("no utf-8", _file(b'{"\xff":1}'), "byte 8: "),
    ("truncated", _file(_W, bytes(5)), "the file ends 3 bytes before its tensors do"),
    ("bytes behind", _file(_W, bytes(9)), "1 bytes stand behind the last tensor"),
    ("unknown type", _file(_W.replace(b"F32", b"Q9"), bytes(8)), "byte 9: 'w' is no tensor of a known type"),
    ("size", _file(_W.replace(b"[2]", b"[3]"), bytes(8)), "'w' is no tensor of a known type that fills its bytes"),
    ("negative shape", _file(_W.replace(b"[2]", b"[-1,-2]"), bytes(8)), "not a whole number from 0"),
    ("no offsets", _file(b'{"w":{"dtype":"F32","shape":[2]}}'), "'w' is no tensor"),
    ("no number", _file(_W.replace(b"[2]", b'["2"]'), bytes(8)), "byte 9: 'w' has a shape"),
    ("twice", _file(_W[:-1] + b"," + _W[1:], bytes(8)), "the key 'w' occurs twice"),
    ("overlap", _file(_W[:-1] + b',"v":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}', bytes(12)), "'v' overlaps"),
    (
        "gap",
        _file(_W[:-1] + b',"v":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}}', bytes(20)),
        "a hole of 4 bytes",
    ),
    ("huge shape", _file(_W.replace(b"[2]", b"[99999999999999999999]"), bytes(8)), "'w'"),
]


@pytest.mark.parametrize(("content", "says"), [row[1:] for row in _TORN], ids=[row[0] for row in _TORN])
def test_a_torn_file_is_told_with_its_name_and_byte(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "torn.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        read_safetensors_header(path)
    assert "torn.safetensors" in raised.value.message
    assert says in raised.value.message


def test_a_tensor_may_be_called_as_a_field_is(tmp_path: Path) -> None:
    path = tmp_path / "odd.safetensors"
    path.write_bytes(_safetensors({"data_offsets": ("F32", (2,)), "scalar": ("F32", ()), "empty": ("F32", (0, 4))}))
    assert set(read_safetensors_header(path)) == {"data_offsets", "scalar", "empty"}


@given(at=st.integers(0, 400), byte=st.integers(0, 255))
def test_a_changed_byte_ends_in_tensors_or_in_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int
) -> None:
    content = bytearray(_safetensors({"a.experts.0.w": ("BF16", (2, 3)), "a.experts.1.w": ("BF16", (2, 3))}))
    content[at % len(content)] = byte
    path = tmp_path_factory.mktemp("torn") / "m.safetensors"
    path.write_bytes(content)
    try:
        read_safetensors_header(path)
    except InputError as error:
        assert path.name in error.message  # noqa: PT017  (either outcome is right)


@pytest.mark.parametrize("content", ["", "[]", "{", '"x"', "[" * 100_000])
def test_a_configuration_that_is_no_object_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(InputError, match=r"config\.json is no JSON"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["nothing", "weights.bin"])
def test_what_says_nothing_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "weights.bin").write_bytes(b"x")
    with pytest.raises(InputError):
        read_checkpoint(tmp_path / name)
    with pytest.raises(InputError, match="holds neither weights nor"):
        read_checkpoint(tmp_path)


def test_a_configuration_alone_is_read_by_any_name(tmp_path: Path) -> None:
    path = tmp_path / "my-model.json"
    path.write_text(json.dumps(_TINY))
    assert _told(path).basis is Basis.CONFIG


def test_modelopts_own_file_counts_as_the_quantisation(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(_TINY))
    plain = _told(tmp_path).size
    quantisation = {"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(quantisation))
    assert _told(tmp_path).size != plain
    assert {tensor.dtype for tensor in _told(tmp_path).tensors} == {"BF16", "F8_E4M3", "F32"}


def test_gguf_is_read_by_whoever_can_and_unknown_otherwise(tmp_path: Path) -> None:
    tensor = Tensor(name="blk.3.ffn_up.weight", shape=(2,), dtype="Q4_K", stored=Bytes(9))
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    assert isinstance(read_checkpoint(tmp_path), Unknown)
    told = read_checkpoint(tmp_path, lambda path: (tensor,) if path.name == "m.gguf" else ())
    assert isinstance(told, Checkpoint)
    assert (told.tensors, told.basis, tensor.layer) == ((tensor,), Basis.HEADERS, 3)


def test_pins_choose_the_files_and_hold_them_to_their_size(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(_safetensors({"w": ("F32", (2,))}))
    (tmp_path / "b.safetensors").write_bytes(_safetensors({"v": ("F32", (2,))}))
    size = (tmp_path / "a.safetensors").stat().st_size
    pin = FilePin(path="a.safetensors", sha256=Sha256.of(b""), size=Bytes(size))
    told = read_pinned_checkpoint((pin,), tmp_path)
    assert isinstance(told, Checkpoint)
    assert [tensor.name for tensor in told.tensors] == ["w"]
    (tmp_path / "a.safetensors").write_bytes(b"short")
    with pytest.raises(IntegrityError, match="instead of the pinned"):
        read_pinned_checkpoint((pin,), tmp_path)
    (tmp_path / "a.safetensors").unlink()
    with pytest.raises(InputError, match="is pinned and not there"):
        read_pinned_checkpoint((pin,), tmp_path)


def test_an_adapter_is_told_from_a_model(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "org/base"}))
    (tmp_path / "adapter_model.safetensors").write_bytes(_safetensors({"w": ("F32", (2,))}))
    with pytest.raises(InputError, match="holds an adapter") as raised:
        read_checkpoint(tmp_path)
    assert "org/base" in raised.value.hint


def test_a_pointer_to_large_files_is_told_from_torn_weights(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n")
    with pytest.raises(InputError, match="Git LFS pointer"):
        read_checkpoint(path)
