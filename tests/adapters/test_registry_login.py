import json
from pathlib import Path

import pytest

from dayzero.adapters.registry_login import Login, login_for
from dayzero.core.errors import InputError

ME = Login(user="me", password="se:cret")  # noqa: S106
AUTH = "bWU6c2U6Y3JldA=="


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return tmp_path / "config.json"


@pytest.mark.parametrize(
    ("document", "host", "login"),
    [
        ({}, "example.org", Login()),
        ({"auths": {"example.org": {"auth": AUTH}}}, "example.org", ME),
        ({"auths": {"https://example.org": {"auth": AUTH}}}, "example.org", ME),
        ({"auths": {"example.org:5000": {"auth": AUTH}}}, "example.org:5000", ME),
        ({"auths": {"example.org:5000": {"auth": AUTH}}}, "example.org", Login()),
        ({"auths": {"example.org": {"username": "me", "password": "se:cret"}}}, "example.org", ME),
        ({"auths": {"https://index.docker.io/v1/": {"auth": AUTH}}}, "docker.io", ME),
        ({"auths": {"a": {"auth": "bWU6", "identitytoken": "t"}}}, "a", Login(user="me", identity_token="t")),  # noqa: S106
    ],
)
def test_the_log_in_of_a_host_and_of_no_other(config, document, host, login):
    config.write_text(json.dumps(document))
    assert login_for(host) == login


def test_without_a_file_the_user_is_anonymous(config):
    assert login_for("example.org") == Login()
    assert login_for("example.org").basic == ""
    assert not config.exists()


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "[]",
        '{"auths": 3}',
        '{"auths": {"a": {"auth": "%%%"}}}',
        '{"credsStore": "../x", "auths": {"a": {}}}',
    ],
)
def test_a_file_that_cannot_be_used_is_named(config, text):
    config.write_text(text)
    with pytest.raises(InputError, match=r"config\.json") as caught:
        login_for("a")
    assert caught.value.hint == "Mend it: docker login a"


def helper(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "docker-credential-mine"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize("document", [{"credsStore": "mine", "auths": {"a": {}}}, {"credHelpers": {"a": "mine"}}])
def test_a_credential_helper_is_asked_as_docker_asks_it(config, monkeypatch, document):
    config.write_text(json.dumps(document))
    helper(
        config.parent,
        'test "$1" = get; read -r server; echo "{\\"Username\\":\\"me\\",\\"Secret\\":\\"$server\\"}"',
        monkeypatch,
    )
    assert login_for("a") == Login(user="me", password="a")  # noqa: S106
    helper(config.parent, 'echo "{\\"Username\\":\\"<token>\\",\\"Secret\\":\\"t\\"}"', monkeypatch)
    assert login_for("a") == Login(identity_token="t")  # noqa: S106


def test_a_helper_that_knows_nothing_means_anonymous_and_one_that_fails_is_an_error(config, monkeypatch):
    config.write_text(json.dumps({"credHelpers": {"a": "mine"}}))
    helper(config.parent, "echo credentials not found in native keychain; exit 1", monkeypatch)
    assert login_for("a") == Login()
    helper(config.parent, "exit 1", monkeypatch)
    with pytest.raises(InputError, match="docker-credential-mine failed"):
        login_for("a")


def test_secrets_are_not_shown():
    assert "cret" not in repr(ME)
