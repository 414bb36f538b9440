import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from tests.targets.launches import h200_shape, hostile, k3, k3_two_nodes, launches, plain, source_build

from dayzero.core.errors import InputError
from dayzero.core.launch import LaunchSpec
from dayzero.kit.documents import launch_json
from dayzero.kit.launch_document import parse_launch

SPECS = (plain(), hostile(), h200_shape(), k3(), k3_two_nodes(), source_build())


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_launch_is_read_back_as_it_was_written(spec: LaunchSpec):
    assert parse_launch(launch_json(spec).encode(), spec.lock) == spec


@given(launches())
@settings(max_examples=50)
def test_every_launch_is_read_back_as_it_was_written(spec: LaunchSpec):
    assert parse_launch(launch_json(spec).encode(), spec.lock) == spec


def edited(edit: Callable[[dict[str, object]], object]) -> bytes:
    document = json.loads(launch_json(plain()))
    edit(document)
    return (json.dumps(document, indent=2) + "\n").encode()


FAULTS: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{", "not strict JSON"),
    "a member twice": (launch_json(plain()).replace('"name"', '"port": 1,\n  "name"', 1).encode(), "not strict JSON"),
    "a list": (b"[]\n", "is no launch"),
    "another schema": (edited(lambda d: d.update(schema="dayzero/launch/v1")), "has the schema"),
    "an unknown member": (edited(lambda d: d.update(extra=1)), "is no launch"),
    "a missing member": (edited(lambda d: d.pop("port")), "is no launch"),
    "a number as text": (edited(lambda d: d.update(port="8080")), "is no launch"),
    "a truth as a number": (edited(lambda d: d.update(port=True)), "is no launch"),
    "white space": (launch_json(plain()).encode() + b" \n", "one form"),
    "members in another order": (edited(lambda d: d.update(name=d.pop("name"))), "one form"),
    "an unknown placeholder": (
        edited(lambda d: d.update(nodes={"count": 2, "leader": [], "worker": [{"placeholder": "moon"}]})),
        "unknown placeholder",
    ),
    "a digest that is none": (
        edited(lambda d: d["wheels"][0].update(sha256="x")),  # type: ignore[index]
        "not a SHA-256",
    ),
    "other requirements": (edited(lambda d: d.update(lock="0" * 64)), "names other requirements"),
    "a newline in a word": (edited(lambda d: d.update(argv=["a\nb"])), "newline"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_not_a_launch_in_its_one_form_is_refused(name: str):
    content, why = FAULTS[name]
    with pytest.raises(InputError, match=why):
        parse_launch(content, "locked\n")
