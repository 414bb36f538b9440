"""Open a verified kit once more, as dayzero reads it: definition, launch and builder."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

from dayzero import __version__
from dayzero.adapters.package_files import parse_package
from dayzero.core.package import Package
from dayzero_verify.kit import Content
from dayzero_verify.report import ExitCode, Outcome, Row, Status
from dayzero_verify.strict_json import Json

DEFINITION = "package.toml"
_SHOWN = 60  # letters of a line that differs


@dataclass(frozen=True, slots=True)
class OpenKit:
    """A verified kit's files, and what its signed statement says of how it was built.

    Attributes:
        files: Contents by path.
        predicate: The kit statement's predicate.
    """

    files: Mapping[str, bytes]
    predicate: Mapping[str, Json]

    @property
    def builder(self) -> str:
        """Version of the dayzero that built it, ``""`` where the statement does not say."""
        said = self.predicate.get("builder")
        version = said.get("version") if isinstance(said, dict) and said.get("name") == "dayzero" else None
        return version if isinstance(version, str) else ""

    @property
    def ours(self) -> bool:
        """Whether this very version built it, so that everything comes out byte for byte."""
        return self.builder == __version__

    @property
    def other_builder(self) -> str:
        """Say who built it, for a row that says why bytes are not compared."""
        return f"built by dayzero {self.builder or 'of a version that is not stated'}, this is {__version__}"

    def targets(self, member: str) -> tuple[str, ...]:
        """Give a list of deploy targets that the statement names, empty where it names none."""
        said = self.predicate.get("targets")
        names = said.get(member) if isinstance(said, dict) else None
        return tuple(str(name) for name in names) if isinstance(names, list) else ()

    def text(self, path: str) -> str:
        """Read a file as text; bytes that are no UTF-8 stay visible."""
        return self.files.get(path, b"").decode("utf-8", "backslashreplace")

    def package(self) -> Package:
        """Read the package definition.

        Raises:
            InputError: It is not valid.
        """
        return parse_package(self.text(DEFINITION), DEFINITION, beside=self.text)


def opened(content: Content) -> OpenKit:
    """Open a verified kit."""
    return OpenKit({file.path: file.content for file in content.files}, content.lines[0].statement.predicate)


def passed(check: str, reason: str) -> Outcome:
    """Say that a check was made and holds."""
    return Outcome(Row(check, Status.PASS, reason), ExitCode.VERIFIED)


def failed(check: str, reason: str, code: ExitCode) -> Outcome:
    """Say that a check was made and does not hold."""
    return Outcome(Row(check, Status.FAIL, reason), code)


def unmade(check: str, reason: str) -> Outcome:
    """Say why a check was not made."""
    return Outcome(Row(check, Status.NOT_CHECKED, reason), ExitCode.VERIFIED)


def difference(path: str, wanted: str, found: str) -> str:
    """Name the first line in which a file differs from what it has to be, ``""`` where none does."""
    for number, (left, right) in enumerate(zip_longest(wanted.split("\n"), found.split("\n")), start=1):
        if left != right:
            return f"{path} line {number} differs: made again it is {_shown(left, right)}, the kit has {_shown(right, left)}"
    return ""


def _shown(line: str | None, other: str | None) -> str:
    """Quote a line from a few letters before the first that differs: one line may hold a whole launch."""
    if line is None:
        return "nothing"
    apart = next((at for at, (a, b) in enumerate(zip(line, other or "", strict=False)) if a != b), 0)
    start = max(apart - _SHOWN // 2, 0)
    return repr(line[start : start + _SHOWN])
