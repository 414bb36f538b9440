"""A survey whose outcome is kept looks only where something is lacking, and finds the same."""

import hashlib
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace

import pytest
from tests.audit.python.packages import Files, findings, pair

from dayzero.audit import installed as files_installed
from dayzero.audit.finding import Finding
from dayzero.audit.installed import Installed
from dayzero.audit.model import HalfSurvey, KeptSurvey
from dayzero.audit.python import kept_survey

ENGINE = {
    "eng/__init__.py": "",
    "eng/good.py": "import lib\ndef fine():\n    x = 1\n    return lib.there(x)\n",
    "eng/bad.py": "import lib\nclass Uses:\n    def use(self):\n        x = 1\n        return lib.gone(x)\n",
    "eng/call.py": "from lib import there\ndef use():\n    y = 2\n    return there(y, more=1)\n",
    "eng/probe.py": "import lib\ndef has_it():\n    return hasattr(lib, 'gone')\n",
    "eng/torn.py": "import lib\ndef (\n",
}
LIBRARY = {"lib/__init__.py": "def there(one):\n    two = one\n    return two\n"}


class Searched(Files):
    """Files that can be searched; those that are read are noted."""

    def __init__(self, files: Files) -> None:
        self.artifact = files.artifact
        self._texts = files._texts  # noqa: SLF001  (the same texts)
        self.seen: list[str] = []

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(sorted(self._texts.items())).encode()).hexdigest()

    def holding(self, word: bytes) -> AbstractSet[str]:
        return {name for name, content in self._texts.items() if word in content}

    def read(self, name: str) -> bytes:
        self.seen.append(name)
        return super().read(name)


class Kept(dict[str, KeptSurvey]):
    """Implements ``audit.ports.Surveys``."""

    def recall(self, key: str) -> KeptSurvey | None:
        return self.get(key)

    def keep(self, key: str, survey: KeptSurvey) -> None:
        self[key] = survey


def searched(kept: Kept, engine: dict[str, str] | None = None) -> Installed:
    made = pair(engine or ENGINE, LIBRARY)
    whole, *others = (replace(one, files=Searched(one.files)) for one in made.distributions)
    return Installed(engine=whole, others=tuple(others), surveys=kept)


def said(installed: Installed) -> tuple[list[Finding], list[str]]:
    found = findings(installed)
    return found, [one for one in installed.engine.files.seen if one.startswith("eng/")]


def test_the_second_survey_finds_the_same_and_parses_no_module_that_was_clean() -> None:
    kept = Kept()
    first, _ = said(searched(kept))
    again = searched(kept)
    second, _ = said(again)
    assert len(first) == 3
    assert second == first
    parsed = again.python._parsed  # noqa: SLF001  (what was parsed)
    assert "eng.bad" in parsed
    assert "eng.good" not in parsed
    assert next(one.lacking for one in kept.values() if one.found) == ("eng.bad", "eng.call")


def test_other_content_is_another_survey() -> None:
    kept = Kept()
    said(searched(kept))
    other, _ = said(searched(kept, {**ENGINE, "eng/good.py": "import lib\nlib.gone_too()\n"}))
    assert any("gone_too" in one.message for one in other)


@pytest.mark.parametrize(
    "kept_as",
    [{"lacking": ("eng.good",)}, {"probing": ()}, {"unread": ()}, {"found": "other"}, {"within": {"eng.bad": ()}}],
)
def test_what_is_kept_and_does_not_come_out_again_is_not_believed(kept_as: dict[str, object]) -> None:
    kept = Kept()
    first, _ = said(searched(kept))
    right = dict(kept)
    for key, survey in right.items():
        kept[key] = replace(survey, **kept_as) if survey.found else survey
    assert said(searched(kept))[0] == first
    assert kept == right


def test_files_whose_content_has_no_digest_are_surveyed_whole() -> None:
    kept = Kept()
    made = pair(ENGINE, LIBRARY)
    said_whole = findings(Installed(engine=made.engine, others=made.others, surveys=kept))
    assert said_whole == findings(made)
    assert not kept


def test_folding_every_tree_that_is_not_walked_changes_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = findings(pair(ENGINE, LIBRARY))
    monkeypatch.setattr(files_installed, "_MOST_WHOLE_BYTES", 0)
    assert findings(pair(ENGINE, LIBRARY)) == whole


class Beside:
    """Implements ``audit.ports.Aside``: what is begun is done when it is asked for, as if another had done it meanwhile."""

    def __init__(self, *, free: bool = True) -> None:
        self._free = free
        self.told: list[HalfSurvey] = []

    def begin(self, work: Callable[[], HalfSurvey]) -> Callable[[], HalfSurvey] | None:
        def waited() -> HalfSurvey:
            self.told.append(work())
            return self.told[-1]

        return waited if self._free else None


TORN_LIBRARY = {**LIBRARY, "lib/torn.py": "def (\n"}
LATE = {
    **ENGINE,
    "eng/z.py": "import lib.torn\nimport lib\ndef late():\n    from lib.torn import this\n    return lib.gone_late()\n",
}


@pytest.mark.parametrize("size", [1, 250, 1 << 20])
@pytest.mark.parametrize("free", [True, False])
def test_two_halves_find_what_the_whole_does(monkeypatch: pytest.MonkeyPatch, size: int, *, free: bool) -> None:
    monkeypatch.setattr(kept_survey, "_WORTH_BYTES", size)
    made, beside = pair(LATE, TORN_LIBRARY), Beside(free=free)
    whole, halves = Kept(), Kept()
    parts = [replace(one, files=Searched(one.files)) for one in made.distributions]
    first = Installed(engine=parts[0], others=(parts[1],), surveys=whole)
    second = Installed(engine=parts[0], others=(parts[1],), surveys=halves, aside=beside)
    assert findings(second) == findings(first)
    assert halves == whole
    assert len(beside.told) == (free and size < 1 << 20)
    assert all(set(one.found.lacking) < {"eng.bad", "eng.call", "eng.z"} for one in beside.told)


def test_what_the_other_half_does_not_tell_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_survey, "_WORTH_BYTES", 1)

    class Silent(Beside):
        def begin(self, _: Callable[[], HalfSurvey]) -> Callable[[], HalfSurvey] | None:
            nothing = KeptSurvey(lacking=(), probing=(), unread=(), found="")
            return lambda: HalfSurvey(found=nothing, outline=nothing)

    made = pair(LATE, TORN_LIBRARY)
    said = findings(Installed(engine=made.engine, others=made.others, aside=Silent()))
    assert not any("gone_late" in one.message for one in said)
    assert any("gone" in one.message for one in said)
