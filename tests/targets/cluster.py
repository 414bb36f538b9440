"""What a cluster makes of a file: other people's YAML readers and schemas, the kubelet's expansion, helm and kubectl."""

import io
import json
import os
import re
import shutil
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from referencing import Registry, Resource
from ruamel.yaml import YAML

from dayzero.wiring.settings import cache_folder

READERS = ("YAML 1.1", "YAML 1.2")
_VERSION = "1.37"
_OWN = Path(__file__).parent / "custom_resources"


def tools_folder() -> str:
    """Name the folder that ``tools/kubernetes_tools.sh`` installs helm and kubectl into."""
    return os.environ.get("DAYZERO_KUBERNETES_TOOLS") or str(cache_folder() / "kubernetes-tools")


def tool(name: str) -> str:
    """Find helm or kubectl there or on the PATH, or skip the test."""
    found = shutil.which(name, path=os.pathsep.join((tools_folder(), os.environ["PATH"])))
    if found is None:
        pytest.skip(f"{name} is not here: install it with tools/kubernetes_tools.sh, or name its folder")
    return found


def documents(text: str, reader: str = "YAML 1.1") -> list[dict[str, Any]]:
    """Read a file with PyYAML (1.1) or ruamel.yaml (1.2)."""
    if reader == "YAML 1.1":
        return list(yaml.safe_load_all(text))
    return list(YAML(typ="safe", pure=True).load_all(io.StringIO(text)))


def by_kind(text: str, reader: str = "YAML 1.1") -> dict[str, dict[str, Any]]:
    return {document["kind"]: document for document in documents(text, reader)}


def pods(text: str, reader: str = "YAML 1.1") -> list[dict[str, Any]]:
    """Give the pods of a file's workload, the first node's first, as its controller makes them."""
    workload = documents(text, reader)[-1]
    spec = workload["spec"]
    match workload["kind"]:
        case "Deployment":
            return [spec["template"]["spec"]]
        case "LeaderWorkerSet":
            group = spec["leaderWorkerTemplate"]
            return [group[kind]["spec"] for kind in ("leaderTemplate", "workerTemplate") if kind in group]
        case "LLMInferenceService":
            pod: dict[str, Any] = json.loads(_as_go_template(json.dumps(spec["template"])))
            return [pod]
    pytest.fail(f"an unknown workload: {workload['kind']}")


def _as_go_template(text: str) -> str:
    """Give what text/template gives for a text whose only actions are raw strings, as KServe runs it over a whole object."""
    assert "{{" not in re.sub(r"\{\{`[^`]*`\}\}", "", text)
    return re.sub(r"\{\{`([^`]*)`\}\}", r"\1", text)


def complaint(document: dict[str, Any]) -> str:
    """Say what the strict schema of an object's kind has against it, ``""`` for nothing."""
    own = _OWN / f"{document['kind']}.json"
    try:
        if own.exists():
            schema = json.loads(own.read_text()) | {"$id": "https://kubernetes.io/api/own"}
            jsonschema.Draft202012Validator(schema, registry=_kubernetes()).validate(document)
        else:
            kubernetes_validate.validate(document, _VERSION, strict=True)
    except (jsonschema.ValidationError, kubernetes_validate.ValidationError) as error:
        return str(error.message)
    return ""


@cache
def _kubernetes() -> Registry[Any]:
    folder = files("kubernetes_validate").joinpath("kubernetes-json-schema", f"v{_VERSION}.0-local-strict")
    definitions = Resource.from_contents(json.loads(folder.joinpath("_definitions.json").read_text()))
    return Registry().with_resource("https://kubernetes.io/api/_definitions.json", definitions)


def expanded(text: object, variables: Mapping[str, str] = {}) -> str:
    """Expand as the kubelet does (third_party/forked/golang/expansion): ``$$`` is a ``$``, ``$(NAME)`` a variable.

    A ``$`` before another letter would stay, but in a file of ours none may stand there.
    """
    assert isinstance(text, str)
    return re.sub(r"\$(\$|\(([^)]*)\)|)", lambda found: _meaning(found, text, variables), text)


def _meaning(found: re.Match[str], text: str, variables: Mapping[str, str]) -> str:
    if found[1] == "$":
        return "$"
    if found[2] is None or found[2] not in variables:
        pytest.fail(f"a $ that means something in {text!r}")
    return variables[found[2]]


def command_of(
    container: Mapping[str, Any],
    variables: Mapping[str, str] = {},
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Give what the kubelet runs in a container: words, and the variables that the file sets."""
    words = tuple(expanded(word, variables) for word in container["command"] + container["args"])
    return words, tuple((entry["name"], expanded(entry["value"])) for entry in container["env"])
