"""Where an asker's text can ask others is found out once: with any other version of them it is looked at there alone, and finds the same."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import permutations

import pytest
from tests.audit.python.packages import distribution, findings, pair
from tests.audit.python.test_kept_survey import Beside, Kept, Searched

from dayzero.audit.installed import Installed
from dayzero.audit.model import KeptSurvey
from dayzero.audit.python import kept_survey
from dayzero.audit.python.rests import Rests
from dayzero.audit.python.world import World
from dayzero.core.verdict import Place

# Each way in which a function of an engine comes to ask a library, one a module; the library's name stands in all of them.
ENGINE = {
    "eng/__init__.py": "",
    "eng/quiet.py": "# lib\ndef fine(x):\n    x = x.real\n    return x.imag\n",
    "eng/mixed.py": """\
        # lib
        import lib
        def quiet(x):
            y = {"lib": x}
            return y
        def asks(x):
            y = lib.helper(x)
            return y
        """,
    "eng/imported.py": "# lib\ndef asks():\n    from lib.sub import Deep\n    return Deep\n",
    "eng/again.py": "# lib\nfrom eng.mixed import lib as other\ndef asks(x):\n    y = x\n    return other.helper(y)\n",
    "eng/everything.py": "# lib\nfrom lib import *\ndef asks(x):\n    y = x\n    return helper(y, more=y)\n",
    "eng/heir.py": """\
        import lib
        class Heir(lib.Base):
            def asks(self, x):
                y = self.method(x)
                return y
            def quiet(self, x):
                y = x
                return y
        """,
    "eng/user.py": "# lib\nfrom eng.heir import Heir\ndef asks(x):\n    y = Heir()\n    return y.method(x, x)\n",
    "eng/promised.py": "import lib\ndef asks(x: lib.Base):\n    y = x\n    return x.field\n",
    "eng/returned.py": "import lib\ndef asks(x):\n    y = lib.make()\n    return y.method(y)\n",
    "eng/default.py": "import lib\ndef asks(\n    x=lib.helper,\n    y=1,\n):\n    return 1\n",
    "eng/decorated.py": "import lib\n@lib.helper\ndef asks(x):\n    y = x\n    return y\n",
    "eng/lazy.py": "# lib\nimport importlib\ndef asks(x):\n    y = importlib.import_module('lib.sub')\n    return y.Deep(x)\n",
    "eng/nested.py": "import lib\ndef outer(x):\n    def asks(y):\n        return lib.helper(y)\n    return asks\n",
    "eng/outside.py": "import lib\nVALUE = lib.VALUE\n",
    "eng/circle.py": "# lib\nfrom eng.circus import b\na = b\ndef asks(x):\n    y = x\n    return a.helper(y)\n",
    "eng/circus.py": "import lib\nfrom eng.circle import a\nb = a or lib\ndef asks(x):\n    y = x\n    return b.helper(y)\n",
    "eng/probe.py": "import lib\ndef has_it():\n    return hasattr(lib, 'VALUE')\ndef is_quiet(x):\n    return bool(x)\n",
    "eng/torn.py": "import lib\ndef (\n",
}
WHOLE = {
    "lib/__init__.py": """\
        VALUE = 1
        class Base:
            field = 1
            def method(self, x):
                return x
        def helper(x, more=1):
            return x
        class Made:
            def method(self, x):
                return x
        def make() -> Made:
            return Made()
        """,
    "lib/sub.py": "class Deep:\n    def __init__(self, x):\n        self.x = x\n",
}


def without(name: str, by: str = "") -> Mapping[str, str]:
    return {**WHOLE, "lib/__init__.py": WHOLE["lib/__init__.py"].replace(name, by or "moved")}


LIBRARIES: dict[str, Mapping[str, str]] = {
    "whole": WHOLE,
    "no value": without("VALUE"),
    "no helper": without("helper"),
    "another helper": without("helper(x, more=1)", "helper(x, y, z)"),
    "no method": without("method"),
    "no field": without("field"),
    "no class": without("Base"),
    "no module": {"lib/__init__.py": WHOLE["lib/__init__.py"]},
    "another module": {**WHOLE, "lib/sub.py": "class Deeper:\n    pass\n"},
    "a torn one": {**WHOLE, "lib/sub.py": "def (\n"},
    "empty": {"lib/__init__.py": ""},
    "one that fills itself": {"lib/__init__.py": "globals().update(x=1)\n"},
}


def installed(library: Mapping[str, str], kept: Kept | None, engine: Mapping[str, str] = ENGINE) -> Installed:
    made = pair(engine, library)
    asker, *others = (replace(one, files=Searched(one.files)) for one in made.distributions)
    return Installed(engine=asker, others=tuple(others), surveys=kept)


def outlines(kept: Kept) -> Mapping[str, KeptSurvey]:
    """Give the engine's outlines among what is kept, by their keys."""
    return {key: one for key, one in kept.items() if not one.found and "eng.mixed" in one.lacking}


@pytest.mark.parametrize(("first", "then"), list(permutations(LIBRARIES, 2)))
def test_what_was_found_out_beside_one_version_finds_the_same_of_another(first: str, then: str) -> None:
    kept = Kept()
    findings(installed(LIBRARIES[first], kept))
    (known,) = outlines(kept).values()
    made = installed(LIBRARIES[then], kept)
    assert findings(made) == findings(installed(LIBRARIES[then], None))
    assert "eng.quiet" not in made.python._parsed  # noqa: SLF001  (what was parsed)
    assert list(outlines(kept).values()) == [known]


def test_an_outline_names_the_functions_that_rest_on_others_and_every_probe() -> None:
    kept = Kept()
    findings(installed(WHOLE, kept))
    (known,) = outlines(kept).values()
    assert set(ENGINE) - {"eng/" + one.removeprefix("eng.") + ".py" for one in known.lacking} == {
        "eng/__init__.py", "eng/quiet.py", "eng/torn.py",
    }  # fmt: skip
    assert known.within["eng.mixed"] == (6,)
    assert known.within["eng.heir"] == (3,)
    assert (known.probing, known.unread) == (("eng.probe",), ("eng.torn",))


def test_every_library_lacks_something_or_the_law_is_not_tested() -> None:
    said = {name: len(findings(installed(library, None))) for name, library in LIBRARIES.items()}
    assert not [name for name, count in said.items() if not count and name not in {"whole", "one that fills itself"}]


@pytest.mark.parametrize("change", ["asker", "names of the others", "shared"])
def test_an_outline_is_of_these_files_and_of_the_names_of_the_others(change: str) -> None:
    kept = Kept()
    findings(installed(WHOLE, kept))
    before = set(outlines(kept))
    engine = {**ENGINE, "eng/quiet.py": "import lib\nlib.gone_too()\n"} if change == "asker" else ENGINE
    more = {"names of the others": {"more/__init__.py": ""}, "shared": {"eng/extra.py": "import lib\n"}}.get(change, {})
    made = installed({**WHOLE, **more}, kept, engine)
    assert findings(made) == findings(installed({**WHOLE, **more}, None, engine))
    assert bool(set(outlines(kept)) - before) == (change != "shared")


def test_the_outline_of_a_library_that_asks_the_engine_is_of_the_names_of_other_libraries_too() -> None:
    asking = {"lib/__init__.py": "import more\nimport eng\ndef asks(x):\n    y = more.of(x)\n    return eng.gone(y)\n"}
    kept, made = Kept(), pair({"eng/__init__.py": ""}, asking)
    asker, library = (replace(one, files=Searched(one.files)) for one in made.distributions)
    more = distribution("more", "1.0", {"more/__init__.py": "def of(x):\n    return x\n"})
    findings(Installed(engine=asker, others=(library,), surveys=kept))
    before = {key for key, one in kept.items() if not one.found and one.lacking}
    beside = Installed(engine=asker, others=(library, replace(more, files=Searched(more.files))), surveys=kept)
    assert findings(beside) == findings(Installed(engine=asker, others=beside.others))
    assert len({key for key, one in kept.items() if not one.found and "lib" in one.lacking}) == 2
    assert len(before) == 1


@pytest.mark.parametrize(
    "door",
    [
        lambda world: world.scope("lib.sub"),
        lambda world: world.spelled("lib.sub", "Deep"),
        lambda world: world.name("lib", "helper"),
        lambda world: world.module_value("lib.sub", Place(artifact="", file="")),
    ],
    ids=["scope", "spelled", "name", "module_value"],
)
def test_whoever_looks_into_another_distribution_rests_on_it(door: Callable[[World], object]) -> None:
    world = World(installed(WHOLE, None).python, frozenset({"eng"}), frozenset())
    assert world.rests.tried(lambda: door(world))
    assert world.rests.tried(lambda: door(world))
    assert not world.rests.tried(lambda: world.scope("eng"))


@pytest.mark.parametrize("then", list(LIBRARIES))
def test_two_halves_of_an_outline_find_what_the_whole_does(monkeypatch: pytest.MonkeyPatch, then: str) -> None:
    monkeypatch.setattr(kept_survey, "_WORTH_BYTES", 1)
    whole, halves = Kept(), Kept()
    findings(installed(WHOLE, whole))
    first, beside = installed(WHOLE, halves), Beside()
    findings(Installed(engine=first.engine, others=first.others, surveys=halves, aside=beside))
    assert halves == whole
    second = installed(LIBRARIES[then], halves)
    again = Installed(engine=second.engine, others=second.others, surveys=halves, aside=beside)
    assert findings(again) == findings(installed(LIBRARIES[then], None))
    assert len(beside.told) > (then != "whole")


def test_an_answer_that_is_given_again_rests_on_what_it_rested_on() -> None:
    rests, kept = Rests({"lib"}), dict[str, tuple[int, bool]]()

    def asking() -> int:
        rests.asks("lib.sub")
        return 1

    assert rests.tried(lambda: rests.keep(kept, "asks", 0, asking))
    assert rests.tried(lambda: rests.keep(kept, "asks", 0, asking))
    assert rests.tried(lambda: rests.keep(kept, "outer", 0, lambda: rests.keep(kept, "asks", 0, asking)))
    assert not rests.tried(lambda: rests.keep(kept, "own", 0, lambda: 2))
    assert kept == {"asks": (1, True), "outer": (1, True), "own": (2, False)}
    assert rests.on_others


def test_what_depends_on_who_asked_first_counts_as_resting_on_others() -> None:
    rests, kept = Rests(set()), dict[str, tuple[int, bool]]()
    itself = rests.tried(lambda: rests.keep(kept, "itself", 0, lambda: rests.keep(kept, "itself", 0, int)))
    ring = rests.tried(
        lambda: rests.keep(kept, "one", 0, lambda: rests.keep(kept, "two", 0, lambda: rests.keep(kept, "one", 0, int)))
    )
    assert (itself, ring) == (False, True)
    assert {key for key, (_, on_others) in kept.items() if on_others} == {"one", "two"}
