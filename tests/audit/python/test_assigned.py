"""Which attributes code gives to objects that it did not make."""

import pytest
from tests.simulators.build_files import BuildInMemory

from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.python.assigned import Assigned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app.state = 1", True),
        ("app[0].state =1", True),
        ("self.app.state = 1", True),
        ("self.state = app.state = 1", True),
        ("    torch.backends.state\t= 1", True),
        ("setattr(app, 'state', 1)", True),
        ("self.state = 1", False),
        ("cls.state = 1", False),
        ("app.state == 1", False),
        ("app.stateful = 1", False),
        ("print(app.state)", False),
    ],
)
def test_what_is_given_to_another_object_is_told_from_what_is_asked_of_it(text, expected):
    files = BuildInMemory({"eng/__init__.py": b"", "eng/app.py": text.encode()})
    engine = Distribution(name="eng", version="1", requires=(), files=files)
    assert Assigned(Installed(engine=engine, others=()).python, frozenset({"eng"})).holds("state") is expected
