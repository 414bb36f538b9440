"""A flag that is set twice, a switch with a value: told by the build's own parser where it can be read."""

import re

import pytest
from tests.engines.vllm.builds import WrittenBuild
from tests.engines.vllm.test_settings import ENGINE_TEXT, FRONTEND_TEXT, build

from dayzero.engines.vllm.misuse import misused

APPENDS = FRONTEND_TEXT.replace(
    "        for key, value", '        frontend_kwargs["chat_template"]["action"] = "append"\n        for key, value'
)
BUILD = build()


@pytest.mark.parametrize(
    ("words", "problems"),
    [
        ("vllm serve model --max-model-len 8 --headless --port 1", ()),
        ("vllm serve model --enforce-eager --no-eager", ()),
        ("--max-model-len 8 --max_model_len=8", ("--max-model-len and --max_model_len set the same thing",)),
        ("-asc 1 --api-server-count 2", ("-asc and --api-server-count set the same thing",)),
        ("--enforce-eager --no-enforce-eager", ("--enforce-eager and --no-enforce-eager set the same thing",)),
        ("--port 1 --port 2 --port 3", ("--port is given twice", "--port is given twice")),
        ("--logging-config.a 1 --logging-config.b 2", ()),
        ("--logging-config.a 1 --logging-config.a 2", ("--logging-config.a is given twice",)),
        ("--logging-config.a 1 --logging-config {}", ("--logging-config.a and --logging-config set the same thing",)),
        ("--logging-config {} --logging-config.a 1", ("--logging-config and --logging-config.a set the same thing",)),
        ("-O3 --optimization-level 2", ("-O3 and --optimization-level set the same thing",)),
        ("--unknown 1 --unknown 2", ("--unknown is given twice",)),
    ],
)
def test_two_spellings_of_one_setting_are_told(words, problems):
    assert misused(tuple(words.split()), BUILD) == problems


@pytest.mark.parametrize(
    "words",
    [
        "--headless true",
        "--headless=1",
        "--enforce-eager False",
        "--no-enforce-eager x",
        "--enable-auto-tool-choice on",
    ],
)
def test_a_switch_with_a_value_is_told_with_the_place_where_the_parser_adds_it(words):
    (problem,) = misused(tuple(words.split()), BUILD)
    assert " takes no value, and " in problem
    assert re.search(r"\.py:\d+\)$", problem)


def test_a_flag_that_takes_an_optional_value_is_no_switch():
    assert misused(("--logging-config", "file.json"), BUILD) == ()


def test_a_flag_that_the_build_appends_may_be_repeated():
    words = ("--chat-template", "a", "--chat-template", "b")
    assert misused(words, BUILD) == ("--chat-template is given twice",)
    assert misused(words, build(frontend=APPENDS)) == ()


@pytest.mark.parametrize(
    "files", [None, WrittenBuild({}), build(engine=ENGINE_TEXT.replace('"--max-model-len"', "NAME"))]
)
def test_without_a_parser_that_can_be_read_the_text_alone_decides(files):
    words = ("--a", "1", "-asc", "1", "--api-server-count", "2", "--headless", "true", "--a", "2")
    assert misused(words, files) == ("--a is given twice",)
    assert misused(("--middleware", "a", "--middleware", "b"), files) == ()
