"""The flags of ``vllm serve`` are read wholly or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.vllm.builds import WrittenBuild

from dayzero.audit.model import FactTable, Unread
from dayzero.engines.vllm.settings import ENGINE_ARGS, read_settings, settings_in

FRONTEND = "vllm/entrypoints/openai/cli_args.py"

FRONTEND_TEXT = """\
class BaseFrontendArgs:
    chat_template: str | None = None
    enable_auto_tool_choice: bool = False
    known: ClassVar[bool] = True

    @classmethod
    def add_cli_args(cls, parser):
        frontend_kwargs = get_kwargs(cls)
        group = parser.add_argument_group(title="Frontend")
        for key, value in frontend_kwargs.items():
            extra_flags = value.pop("flags", [])
            group.add_argument(*extra_flags, f"--{key.replace('_', '-')}", **value)
        return parser


class FrontendArgs(BaseFrontendArgs):
    port: int = 8000


def make_arg_parser(parser):
    parser.add_argument("model_tag", type=str, nargs="?")
    parser.add_argument("--headless", action="store_true")
    parser.add_argument("--api-server-count", "-asc", type=int)
    parser = FrontendArgs.add_cli_args(parser)
    parser = AsyncEngineArgs.add_cli_args(parser)
    return parser
"""
ENGINE_TEXT = """\
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        model_kwargs = get_kwargs(ModelConfig)
        group = parser.add_argument_group(title="ModelConfig")
        group.add_argument("--max-model-len", **model_kwargs["max_model_len"])
        group.add_argument("--enforce-eager", **model_kwargs["enforce_eager"])
        eager_kwargs = model_kwargs["enforce_eager"]
        group.add_argument("--eager", **{**eager_kwargs, "default": None})
        logging_kwargs = get_kwargs(ModelConfig)["logging_config"]
        group.add_argument("--logging-config", **logging_kwargs)
        return parser


class AsyncEngineArgs(EngineArgs):
    @staticmethod
    def add_cli_args(parser):
        parser = EngineArgs.add_cli_args(parser)
        parser.add_argument("--enable-log-requests", action=argparse.BooleanOptionalAction)
        current_platform.pre_register_and_update(parser)
        return parser
"""
CONFIG_TEXT = """\
class CommonConfig:
    enforce_eager: SkipValidation[bool | None] = None


class ModelConfig(CommonConfig):
    max_model_len: int = 0
    logging_config: bool | str | None = None
"""


def build(frontend: str = FRONTEND_TEXT, engine: str = ENGINE_TEXT, config: str = CONFIG_TEXT) -> WrittenBuild:
    return WrittenBuild({FRONTEND: frontend, ENGINE_ARGS: engine, "vllm/config/model.py": config})


def test_literal_flags_fields_aliases_and_negations_are_all_read():
    facts = read_settings(build())
    assert isinstance(facts, FactTable)
    assert {name: f"{place.file.rsplit('/', 1)[1]}:{place.position}" for name, place in facts.entries} == {
        "--headless": "cli_args.py:line 22",
        "--api-server-count": "cli_args.py:line 23",
        "-asc": "cli_args.py:line 23",
        "--chat-template": "cli_args.py:line 2",
        "--enable-auto-tool-choice": "cli_args.py:line 3",
        "--no-enable-auto-tool-choice": "cli_args.py:line 3",
        "--port": "cli_args.py:line 17",
        "--max-model-len": "arg_utils.py:line 6",
        "--enforce-eager": "arg_utils.py:line 7",
        "--no-enforce-eager": "arg_utils.py:line 7",
        "--eager": "arg_utils.py:line 9",
        "--no-eager": "arg_utils.py:line 9",
        "--logging-config": "arg_utils.py:line 11",
        "--enable-log-requests": "arg_utils.py:line 19",
        "--no-enable-log-requests": "arg_utils.py:line 19",
    }
    assert facts.place.quote == "def make_arg_parser(parser):"


def test_the_parser_of_older_releases_is_read_too():
    frontend = FRONTEND_TEXT.replace("get_kwargs(cls)", "get_kwargs(FrontendArgs)")
    loop = 'for flag, kind in [("--old-a", str), ("--old-b", bool)]:\n            parser.add_argument(flag, type=kind)\n        '
    engine = ENGINE_TEXT.replace("current_platform.pre", loop + "current_platform.pre")
    files = {FRONTEND: frontend, ENGINE_ARGS: engine, "vllm/config.py": CONFIG_TEXT}
    facts = read_settings(WrittenBuild(files))
    assert isinstance(facts, FactTable), facts
    assert set(facts.names()) == {*read_settings(build()).names(), "--old-a", "--old-b"}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (build(engine=ENGINE_TEXT.replace('"--max-model-len"', "NAME")), "arg_utils.py:6: the name of this argument"),
        (build(engine=ENGINE_TEXT.replace('**model_kwargs["max_model_len"]', "**more")), "not certain which field"),
        (build(engine=ENGINE_TEXT.replace('"default": None', '"action": "store_true"')), "not certain which field"),
        (build(engine=ENGINE_TEXT.replace("current_platform.pre_register_and_update", "add_more")), "add_more may add"),
        (build(engine=ENGINE_TEXT.replace("class EngineArgs", "class Args")), "no class EngineArgs"),
        (build(config=CONFIG_TEXT.replace("enforce_eager", "eager")), "has no field enforce_eager"),
        (build(config=""), "0 files under vllm/config/ define ModelConfig"),
        (build(frontend=FRONTEND_TEXT.replace("get_kwargs(cls)", "known()")), "the name of this argument"),
        (build(frontend=FRONTEND_TEXT.replace("get_kwargs(cls)", "get_kwargs(Other)")), "the name of this argument"),
        (build(frontend=FRONTEND_TEXT.replace("'_', '-'", "'_', '+'")), "the name of this argument"),
        (
            build(
                frontend=FRONTEND_TEXT.replace(
                    "    port: int", "    def f(k): k['port']['flags'] = ['-p']\n    port: int"
                )
            ),
            "further names are added",
        ),
        (build(frontend="def other(): ..."), "0 files under vllm/entrypoints/ define make_arg_parser: none"),
        (WrittenBuild({}), "has no file vllm/engine/arg_utils.py"),
    ],
)
def test_one_argument_that_cannot_be_read_for_certain_leaves_the_whole_table_unread(broken: WrittenBuild, reason: str):
    facts = read_settings(broken)
    assert isinstance(facts, Unread)
    assert reason in facts.reason


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--max-model-len", "8192"), ("--max-model-len",)),
        (("--max_model_len=8192",), ("--max-model-len",)),
        (("--compilation-config.pass_config.fuse=true",), ("--compilation-config",)),
        (("--kv_transfer_config", '{"a_b": "--c"}'), ("--kv-transfer-config",)),
        (("-tp", "8", "-tp=8", "-q", "fp8"), ("-tp", "-q")),
        (("-O3",), ("--optimization-level",)),
        (("--temperature", "-1", "--", "-0.5"), ("--temperature",)),
        (("--no-enable-prefix-caching",), ("--no-enable-prefix-caching",)),
        ((), ()),
    ],
)
def test_a_command_line_names_its_settings_as_the_parser_spells_them(flags: tuple[str, ...], named: tuple[str, ...]):
    assert settings_in(flags) == named


@given(
    st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=4),
    st.from_regex(r"[0-9a-z]{0,5}", fullmatch=True),
)
def test_spelling_and_the_way_a_value_is_attached_do_not_change_the_name(words: list[str], value: str):
    value = value.strip()
    dashed = "--" + "-".join(words)
    assert settings_in((dashed, value)) == (dashed,)
    assert settings_in(("--" + "_".join(words) + "=" + value,)) == (dashed,)
    assert settings_in((f"{dashed}.key_a", value)) == (dashed,)
