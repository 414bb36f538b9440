"""One row a shape: what a name stands for where it is read, by the statements that bind it."""

import pytest
from tests.audit.python.packages import pair, seen

from dayzero.audit.python.study import engine_study
from dayzero.audit.python.values import FunctionValue

F = "def f(a, *, b=1): ..."
LOOP = "def asked(names):\n    ok = True\n    for name in {}:\n        {}\n    return ok"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("def asked():\n    return hasattr(lib, 'f')", True),
        ("def asked():\n    ok: bool = hasattr(lib, 'gone')\n    return ok", False),
        ("def asked():\n    ok = other = hasattr(lib, 'gone')\n    return other", False),
        ("def asked():\n    ok, other = hasattr(lib, 'f'), hasattr(lib, 'gone')\n    return other", False),
        ("def asked():\n    ok, other = other_module.both()\n    return ok", None),
        ("def asked():\n    ok = True\n    ok &= other()\n    return ok", None),
        ("def asked():\n    ok = True\n    if other():\n        ok = False\n    return ok", None),
        ("def asked():\n    ok = True\n    with other() as ok: ...\n    return ok", None),
        ("def asked():\n    ok = False\n    try:\n        ok = other()\n    finally: ...\n    return ok", None),
        ("def asked():\n    ok = True\n    while other():\n        ok = False\n    return ok", None),
        ("def asked():\n    while other():\n        return True\n    return False", None),
        ("def asked():\n    match other():\n        case 1:\n            return True\n    return False", None),
        ("def asked():\n    match other():\n        case 1:\n            x = 1\n    return False", False),
        (LOOP.format("names", "ok = False"), None),
        (LOOP.format("('f', 'gone')", "ok = hasattr(lib, name)"), None),
        ("def asked():\n    for one in ('f', 'gone'):\n        if not hasattr(lib, one):\n            return False\n    return True", False),
        ("def asked():\n    for one, two in [('f', 'gone')]:\n        if not hasattr(lib, two):\n            return False\n    return True", False),
        ("def asked(names):\n    for one in names: ...\n    else:\n        return True\n    return False", None),
        ("flag = False\ndef asked(flag):\n    return flag", None),
        ("flag = False\ndef asked():\n    return flag", False),
        ("flag: bool = False\ndef asked():\n    return flag", False),
        ("flag: bool\nflag = False\ndef asked():\n    return flag", False),
        ("class K:\n    flag = False\n    def asked(self):\n        return flag", None),
        ("def asked(it=None):\n    if it is None:\n        it = lib.gone\n    return it is None", None),
        ("def asked():\n    it: object = None\n    return it is None", None),
        ("def asked():\n    ok = hasattr(lib, 'f')\n    old = ok\n    ok = hasattr(lib, 'gone')\n    return old", True),
        (
            "def asked():\n    ok = True\n    for one in ('f', 'gone'):\n        if not ok:\n            return False\n"
            "        ok = hasattr(lib, one)\n    return True",
            None,
        ),
        ("if other():\n    flag = True\ndef asked():\n    return flag", None),
    ],
)  # fmt: skip
def test_a_probe_is_answered_by_what_its_names_stand_for_when_they_are_read(text, answer):
    study = engine_study(pair("import lib\nimport other_module\nfrom other_module import other\n" + text, F))
    scope = study.world.scope("eng.run")
    owner = next((one.statement for one in scope.names.found.get("K", ())), None)
    scope = scope.inner(owner) if owner else scope
    (bound,) = scope.names.found["asked"]
    assert study.gates.function(FunctionValue(scope.inner(bound.statement).definition())) is answer


TWO = F + "\ndef g(c): ..."
CHOSEN = "import lib\ndef go(x{}):\n    {}\n    if x:\n        h = lib.f\n    else:\n        h = lib.g\n    h(1, d=2)"


@pytest.mark.parametrize(
    ("engine", "library", "found"),
    [
        ("import lib\ndef go():\n    h = k = lib.f\n    k(1, c=2)", F, 1),
        ("import lib\ndef go():\n    h, k = lib.g, lib.f\n    k(1, c=2)", TWO, 1),
        ("import lib\ndef go():\n    h, k = lib.f, lib.g\n    k(1)", TWO, 0),
        (CHOSEN.format("", "pass"), TWO, 1),
        (CHOSEN.format("", "h: object"), TWO, 1),
        (CHOSEN.format(", h", "pass").replace("    else:", "    elif x is None:"), TWO, 0),
        ("import lib\ndef go():\n    kw: dict\n    kw = {'c': 1}\n    lib.f(1, **kw)", F, 1),
        ("import lib\ndef go(kw=None):\n    if kw is None:\n        kw = {}\n    lib.f(**kw)", F, 0),
        ("import lib\ndef go():\n    kw = {}\n    kw['a'] = kw['b'] = 1\n    lib.f(**kw)", F, 0),
        ("import lib\ndef go():\n    kw = {}\n    kw['b'] = kw['c'] = 1\n    lib.f(1, **kw)", F, 1),
        ("import lib\ndef go():\n    kw = {'c': 1}\n    del kw['c']\n    lib.f(1, **kw)", F, 0),
        ("import lib\ndef go():\n    kw = {'c': 1}\n    kw.clear()\n    lib.f(1, **kw)", F, 0),
        ("import lib\ndef go(t):\n    match t:\n        case lib:\n            lib.gone", F, 0),
        ("import lib\ndef go(t):\n    try: t()\n    except OSError as lib:\n        lib.gone", F, 0),
        ("import lib\ndef go(t):\n    if t(lib := t):\n        lib.gone", F, 0),
        ("import lib\ndef go(t):\n    with t, t as (lib, x):\n        lib.gone", F, 0),
        ("from lib import K as A\ndef go(a: A):\n    A = print\n    a.gone", "class K: ...", 1),
        ("from lib import K\ndef go():\n    K().tag", "class K:\n    def f(self):\n        self.tag: int", 0),
        (
            "from lib import K\ndef go():\n    K().tag",
            "class K:\n    def f(self, x):\n        with x as self.tag: ...",
            0,
        ),
        ("from lib import K\ndef go():\n    K().tag", "class K:\n    def f(self, x):\n        x.tag = 1", 1),
        ("from lib import gone", "def fill():\n    global gone\n    gone = 1", 0),
        ("from lib import made", "global made\nmade = 1", 0),
    ],
)
def test_a_name_stands_for_what_python_lets_it_stand_for(engine, library, found):
    assert len(seen(pair(engine, library))) == found


def test_a_parameter_that_is_bound_anew_at_the_end_is_what_the_caller_gave_before():
    text = "import lib\ndef go(it):\n    if it is not None:\n        lib.f(1, c=2)\n    it = lib.gone"
    assert "python-signature path eng/run.py:4" in seen(pair(text, F))


ALIAS = (
    "from typing import Union\nclass A: ...\nclass B: ...\nclass K:\n    Either = Union[A, B]\n    def {}\n        {}"
)


@pytest.mark.parametrize(
    ("library", "found"),
    [
        (ALIAS.format("make(self) -> Either:", "..."), 1),
        (ALIAS.format("make(self) -> A:", "A = other()"), 1),
        (ALIAS.format("make(self):", "..."), 0),
        (
            ALIAS.replace("class K:\n    Either", "Either")
            .replace("    def", "class K:\n    def")
            .format("make(self) -> Either:", "..."),
            1,
        ),
    ],
)
def test_an_annotation_is_read_where_the_function_is_defined(library, found):
    assert len(seen(pair("from lib import K\ndef go(k: K):\n    k.make().gone", library))) == found
