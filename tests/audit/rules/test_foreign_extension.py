"""An environment whose extension was put in from another release."""

import base64
import hashlib

import pytest
from tests.simulators.build_files import BuildInMemory

from dayzero.audit.finding import Finding, Severity
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.rules import Subject
from dayzero.audit.rules.foreign_extension import RULE

LISTED, OTHER = b"of this release", b"of another"
GUARDED = b"try:\n    from . import _C\nexcept ImportError:\n    _C = None\n"


class Folder(BuildInMemory):
    """Files that anybody may have changed since."""

    digest = "of what is there"


class FarArchive(BuildInMemory):
    """Files of which each that is read is fetched."""

    def read(self, name: str) -> bytes:
        assert not name.endswith(".so")
        return super().read(name)


def said(*, content=LISTED, start=b"", use=b"", record=True, runs="cp312", files_of=Folder):  # noqa: PLR0913  (parts of an environment)
    digest = base64.urlsafe_b64encode(hashlib.sha256(LISTED).digest()).rstrip(b"=")
    files = {"engine/__init__.py": start, "engine/use.py": use, "engine/_C.cpython-312-x86_64-linux-gnu.so": content}
    rows = b"".join(b"%s,sha256=%s,1\n" % (name.encode(), digest) for name in files)
    files |= {"engine-1.dist-info/RECORD": rows} if record else {}
    engine = Distribution(name="engine", version="1", requires=(), files=files_of(files))
    return list(RULE.check(Subject(installed=Installed(engine=engine, others=(), runs=runs), engine="engine")))


@pytest.mark.parametrize(
    ("parts", "severities"),
    [
        ({}, []),
        ({"content": OTHER, "record": False}, []),
        ({"content": OTHER, "runs": "cp313"}, []),
        ({"content": OTHER, "runs": ""}, [Severity.PATH]),
        ({"content": OTHER}, [Severity.PATH]),
        ({"content": OTHER, "use": GUARDED}, [Severity.PATH]),
        ({"content": OTHER, "start": b"from engine import use\n", "use": b"import engine._C\n"}, [Severity.START]),
    ],
)
def test_an_extension_whose_digest_is_not_the_one_of_its_release_is_named(parts, severities):
    found = said(**parts)
    assert [one.severity for one in found if isinstance(one, Finding)] == severities
    assert all("an extension not of this release" in one.message and "RECORD" in one.message for one in found)


def test_an_extension_in_an_archive_is_not_read_for_it():
    assert said(content=OTHER, files_of=FarArchive) == []
