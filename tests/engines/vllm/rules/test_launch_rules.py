"""What vLLM's files say of flags and of the environment."""

import pytest
from tests.engines.vllm.test_settings import CONFIG_TEXT, ENGINE_TEXT, build
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Applies, NotChecked, Severity
from dayzero.audit.installed import Distribution
from dayzero.core.hardware import parse_system
from dayzero.engines.vllm.rules import allocator, environment, flags

ENVS = """
environment_variables: dict = {
    "VLLM_PRECISION": env_with_choices("VLLM_PRECISION", "high", ["high", "low"], case_sensitive=False),
    "VLLM_INVARIANT": lambda: bool(int(os.getenv("VLLM_INVARIANT", "0"))),
    "VLLM_ROOT": lambda: os.getenv("VLLM_ROOT", "x"),
}
"""


STRICT = "\ndef validate_environ(hard_fail: bool) -> None:\n    raise ValueError\n"


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("VLLM_PRECISION", "LOW", None),
        ("VLLM_PRECISION", "super", Severity.START),
        ("VLLM_INVARIANT", "1", None),
        ("VLLM_INVARIANT", "true", Severity.START),
        ("VLLM_ROOT", "anything", None),
        ("VLLM_USE_V1", "1", Severity.DOWNGRADE),
        ("HOME", "/root", None),
    ],
)
def test_a_variable_is_held_to_the_table_of_this_version(name, value, severity):
    found = found_by(environment.RULE, distribution("vllm", "0.27.0", {"vllm/envs.py": ENVS}), env={name: value})
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_a_version_without_the_table_is_not_checked():
    (one,) = found_by(environment.RULE, distribution("vllm", "0.27.0"), env={"VLLM_ROOT": "x"})
    assert isinstance(one, NotChecked)


@pytest.mark.parametrize(
    ("text", "flags", "severity"),
    [
        (STRICT, ("--fail-on-environ-validation",), Severity.START),
        (STRICT, (), Severity.DOWNGRADE),
        ("", ("--fail-on-environ-validation",), Severity.DOWNGRADE),
    ],
)
def test_a_variable_that_is_not_known_ends_a_start_that_is_told_to(text, flags, severity):
    engine = distribution("vllm", "0.27.0", {"vllm/envs.py": ENVS + text})
    (found,) = found_by(environment.RULE, engine, env={"VLLM_NEVER_HEARD_OF": "1"}, flags=flags)
    assert found.severity is severity
    assert not found_by(environment.RULE, engine, env={"OTHER": "1"}, flags=flags)


ALL_REDUCE = {"vllm/distributed/device_communicators/custom_all_reduce.py": "x = ops.get_graph_buffer_ipc_meta(p)\n"}
REFUSES = {"vllm/config/vllm.py": 'raise ValueError("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")\n'}
SEGMENTS = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,expandable_segments:True"}
CONNECTOR = ("--kv-transfer-config", '{"kv_connector": "NixlConnector"}')


@pytest.mark.parametrize(
    ("words", "env", "system", "found"),
    [
        (("-tp", "8"), SEGMENTS, "8xb300", [(Severity.PATH, Applies.YES)]),
        (("--tensor-parallel-size=2",), SEGMENTS, "", [(Severity.PATH, Applies.YES)]),
        (("-tp", "8"), {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "8xb300", [(Severity.PATH, Applies.YES)]),
        (("-tp", "4"), SEGMENTS, "4xl40s", [(Severity.PATH, Applies.UNKNOWN)]),
        (("-tp", "16"), SEGMENTS, "2x8xb300", [(Severity.PATH, Applies.UNKNOWN)]),
        (("-tp", "8", "--disable-custom-all-reduce"), SEGMENTS, "8xb300", []),
        (("-tp", "8", "--enforce-eager"), SEGMENTS, "8xb300", []),
        ((), SEGMENTS, "8xb300", []),
        (("-tp", "8"), {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"}, "8xb300", []),
        (CONNECTOR, SEGMENTS, "1xb300", [(Severity.START, Applies.YES)]),
        ((*CONNECTOR, "--enable-sleep-mode"), SEGMENTS, "1xb300", []),
        (CONNECTOR, {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, "1xb300", [(Severity.PATH, Applies.UNKNOWN)]),
        (("-tp", "many"), SEGMENTS, "8xb300", None),
    ],
)
def test_expandable_segments_are_refused_beside_what_cannot_use_them(words, env, system, found):
    engine = distribution("vllm", "0.27.0", {**ALL_REDUCE, **REFUSES})
    about = {"system": parse_system(system)} if system else {}
    said = found_by(allocator.RULE, engine, flags=words, env=env, **about)
    if found is None:
        assert isinstance(said[0], NotChecked)
    else:
        assert [(one.severity, one.holds) for one in said] == found


DTYPE = """
Kind = Literal["auto", "fp8"]
Limits: TypeAlias = dict[str, int]
class CacheConfig:
    dtype: Kind | None = "auto"
    name: str | Kind = "x"
    limits: Optional[Limits] = None
    either: dict | Callable = None
"""
CACHE = """
        cache = get_kwargs(CacheConfig)
        parser.add_argument("--kv-cache-dtype", **cache["dtype"])
        parser.add_argument("--kv-name", **cache["name"])
        parser.add_argument("--level", choices=["low", "high"])
        parser.add_argument("--limits", **cache["limits"])
        parser.add_argument("--either", **cache["either"])
        parser.add_argument("--more", type=optional_type(json.loads))
"""
_LAST = '        parser.add_argument("--max-model-len"'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--port 1", ""),
        ("--kv-cache-dtype fp8", ""),
        ("--kv-cache-dtype None", ""),
        ("--kv-cache-dtype fp9", "--kv-cache-dtype takes no 'fp9', but only auto, fp8"),
        ("--kv_cache_dtype=fp9", "takes no 'fp9'"),
        ("--kv-name fp9", ""),
        ("--level middle", "but only low, high"),
        ("--prt 1", "has no flag --prt"),
        ("--chat-tem x", ""),
        ("--port 1 --port=2", "--port is given twice"),
        ("--headless true", "--headless takes no value"),
        ("-O3", "has no flag --optimization-level"),
        ('--limits {"image":4}', ""),
        ("--limits.image 4", ""),
        ("--limits None", ""),
        ("--limits $LIMITS", ""),
        ("--limits image=4,audio=1", "--limits takes JSON, and 'image=4,audio=1' is none"),
        ("--either fn", ""),
        ("--more {a}", "--more takes JSON"),
    ],
)
def test_a_flag_is_held_to_the_parser_of_this_version(words, message):
    at = ENGINE_TEXT.index("        parser.add_argument(") if _LAST not in ENGINE_TEXT else ENGINE_TEXT.index(_LAST)
    files = build(engine=ENGINE_TEXT[:at] + CACHE.lstrip("\n") + ENGINE_TEXT[at:], config=CONFIG_TEXT + DTYPE)
    engine = Distribution(name="vllm", version="1.0", requires=(), files=files)
    found = found_by(flags.RULE, engine, flags=tuple(words.split()))
    assert [one.severity for one in found] == ([Severity.START] if message else []), found
    assert all(message in one.message for one in found)


@pytest.mark.parametrize("words", ["-O3", "-O 3", "-O.mode=3", "-O=3"])
def test_the_flag_of_the_compilation_level_is_taken_where_it_is_one_of_its_own(words):
    engine_text = ENGINE_TEXT.replace('"--max-model-len"', '"--compilation-config", "-O"')
    engine = Distribution(name="vllm", version="0.10.0", requires=(), files=build(engine=engine_text))
    assert not found_by(flags.RULE, engine, flags=tuple(words.split()))


def test_a_release_that_takes_pairs_for_json_is_not_held_to_json():
    engine_text = ENGINE_TEXT.replace('"--max-model-len", **model_kwargs["max_model_len"]', '"--more", type=json.loads')
    for text, found in ((engine_text, 1), (engine_text + "\n\ndef nullable_kvs(val): ...\n", 0)):
        engine = Distribution(name="vllm", version="0.8.5", requires=(), files=build(engine=text))
        assert len(found_by(flags.RULE, engine, flags=("--more", "image=4"))) == found
