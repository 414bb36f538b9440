"""One row a shape: what an engine writes, what its library has, and what must be said of it."""

import textwrap

import pytest
from tests.audit.python.packages import RULES, distribution, findings, pair, seen

from dayzero.audit.finding import Applies, NotChecked, Severity
from dayzero.audit.installed import Installed
from dayzero.audit.report import audited
from dayzero.audit.rules import Subject
from dayzero.core.verdict import verdict_word

F = "def f(a, *, b=1): ..."
K = "class K:\n    def __init__(self, size): ...\n    def go(self, *, fast=False): ..."

HARMFUL = {
    "a missing attribute of an object that is made here, whatever the type checker is told": (
        "from lib import K\ndef g():\n    return K(1).tag  # type: ignore",
        K,
        "python-member path eng/run.py:3",
    ),
    "a missing attribute that a class of the engine's own has": (
        {
            "eng/own.py": "class Own:\n    def put(self):\n        self.tag = 1\n        return other.tag == 2",
            "eng/run.py": "from lib import K\ndef g():\n    return K(1).tag",
        },
        K,
        "python-member path eng/run.py:3",
    ),
    "a missing name in a class that says of itself what is so on every build": (
        "import lib\nclass T:\n    @property\n    def is_fast(self):\n        return False\n    def g(self):\n        lib.gone()",
        F,
        "python-name path eng/run.py:7",
    ),
    "a missing attribute of a module, whatever the type checker is told": (
        "import lib\ndef g():\n    return lib.gone  # type: ignore",
        F,
        "python-name path eng/run.py:3",
    ),
    "a missing name": ("def g():\n    from lib import gone", F, "python-name path eng/run.py:2"),
    "a missing module of a folder of tests that a wheel installs": (
        "def g():\n    from tests.kernels import cast",
        {"lib/__init__.py": "", "tests/__init__.py": "", "lib-2.0.dist-info/RECORD": ""},
        "python-name path eng/run.py:2",
    ),
    "an import that stands in for one that fails": (
        "try:\n    from lib import moved\nexcept ImportError:\n    from lib.old import moved",
        F,
        "python-name path eng/run.py:4",
    ),
    "an import that stands in for one of which nothing is known": (
        "try:\n    from elsewhere import f\nexcept ImportError:\n    from lib.old import f",
        F,
        "python-name path eng/run.py:4",
    ),
    "a missing module": ("def g():\n    import lib.gone", F, "python-name path eng/run.py:2"),
    "a missing attribute of a module": ("import lib\ndef g():\n    lib.gone()", F, "python-name path eng/run.py:3"),
    "an unexpected keyword": ("import lib\ndef g():\n    lib.f(1, c=2)", F, "python-signature path eng/run.py:3"),
    "a required argument that is not given": (
        "import lib\ndef g():\n    lib.f()",
        F,
        "python-signature path eng/run.py:3",
    ),
    "too many arguments": ("import lib\ndef g():\n    lib.f(1, 2)", F, "python-signature path eng/run.py:3"),
    "a constructor": ("from lib import K\ndef g():\n    K(1, wide=2)", K, "python-signature path eng/run.py:3"),
    "a method of an object held in self": (
        "from lib import K\nclass E:\n    def __init__(self):\n        self.k = K(1)\n    def g(self):\n        self.k.go(slow=1)",
        K,
        "python-signature path eng/run.py:6",
    ),
    "an attribute of a class that the engine derives": (
        "import lib\nclass Own(lib.K):\n    pass\ndef g():\n    lib.K.stop()",
        K,
        "python-member path eng/run.py:5",
    ),
    "an object of a class that nobody derives": (
        "import lib\ndef g(k: lib.K):\n    k.stop()",
        K,
        "python-member path eng/run.py:3",
    ),
    "a version that is this one": (
        "import lib\ndef g():\n    if is_lib_equal_or_newer('2.0'):\n        lib.gone()",
        F,
        "python-name path eng/run.py:4",
    ),
    "a method that is gone": ("from lib import K\ndef g():\n    K(1).stop()", K, "python-member path eng/run.py:3"),
    "a partial": (
        "from functools import partial\nimport lib\ndef g():\n    partial(lib.f, 1)(c=2)",
        F,
        "python-signature path eng/run.py:4",
    ),
    "keywords in a dictionary that is built here": (
        "import lib\ndef g():\n    kw = {'b': 1}\n    kw['c'] = 2\n    lib.f(1, **kw)",
        F,
        "python-signature path eng/run.py:5",
    ),
    "an enum member in a dictionary literal": (
        "from lib import A\ndef g(x):\n    return {'silu': A.Silu, 'situ': A.Situ}[x]",
        "from enum import IntEnum\nclass A(IntEnum):\n    Silu = 1",
        "python-member path eng/run.py:3",
    ),
    "a name asked for through a wrapper that imports by name": (
        {
            "eng/lazy.py": "def lazy(m, n): ...\nf = lazy('lib', 'f')",
            "eng/run.py": "from eng.lazy import f  # lib\ndef g():\n    f(1, c=2)",
        },
        F,
        "python-signature path eng/run.py:3",
    ),
    "a gate that checks the name and not the keyword": (
        "import lib\ndef has_f():\n    return hasattr(lib, 'f')\ndef g():\n    if has_f():\n        lib.f(1, c=2)",
        F,
        "python-signature path eng/run.py:6",
    ),
    "an attribute of a parameter whose every type in the library lacks it": (
        "from typing import Union\nfrom lib import K, L\nT = Union[K, L]\ndef g(t: T):\n    return t.gone",
        "class K: ...\nclass L: ...",
        "python-member path eng/run.py:5",
    ),
    "an error that is raised again in other words": (
        "def g():\n    try:\n        from lib import gone\n    except ImportError as e:\n        raise RuntimeError('no') from e",
        F,
        "python-name opt-in eng/run.py:3",
    ),
    "what only a setting leads to": (
        "import lib\ndef g(self):\n    if self.use_gone:\n        lib.gone()",
        F,
        "python-name opt-in eng/run.py:4",
    ),
    "a module that every start imports": (
        {"eng/__init__.py": "from eng import run", "eng/run.py": "from lib import gone"},
        F,
        "python-name start eng/run.py:1",
    ),
    "a re-export that is gone": (
        "def g():\n    from lib import x",
        {"lib/__init__.py": "from lib.sub import *", "lib/sub.py": "y = 1"},
        "python-name path eng/run.py:2",
    ),
}

HARMFUL |= {
    "a keyword that only an overload promises": (
        "import lib\ndef g():\n    lib.f(1, c=2)",
        "from typing import overload\n@overload\ndef f(a, c): ...\ndef f(a): ...",
        "python-signature path eng/run.py:3",
    ),
    "an error of another kind that is caught": (
        "def g():\n    try:\n        from lib import gone\n    except TypeError:\n        pass",
        F,
        "python-name path eng/run.py:3",
    ),
    "a name that falls back on another one": (
        "try:\n    from lib import gone as x\nexcept ImportError:\n    from lib import f as x\ndef g():\n    x(1, c=2)",
        F,
        "python-signature path eng/run.py:6",
    ),
    "a flag that a function sets while it runs": (
        "import lib\nready = True\ndef stop():\n    global ready\n    ready = False\ndef g():\n    if ready:\n        return\n    lib.gone()",
        F,
        "python-name path eng/run.py:9",
    ),
    "a dictionary inside a dictionary": (
        "import lib\ndef g():\n    lib.f(1, **{**{'c': 1}})",
        F,
        "python-signature path eng/run.py:3",
    ),
}

CLOSED = "from importlib.util import find_spec\nimport lib\ndef ok():\n    return find_spec('lib.sub') is not None\ndef g():\n"

HARMLESS = {
    "an import that stands in for one that is there": (
        "try:\n    from lib import f\nexcept ImportError:\n    from lib.old import f",
        F,
    ),
    "an import that stands in for one that is asked for": (
        "try:\n    from core_lib.fsm import f\nexcept ImportError:\n    from lib.old import f",
        F,
        ["core-lib>=1"],
    ),
    "a gate that is closed, and a return": (CLOSED + "    if not ok():\n        return\n    lib.f(c=1)", F),
    "a gate that is closed, and a return in the other branch": (
        CLOSED + "    if ok():\n        pass\n    else:\n        return\n    lib.f(c=1)",
        F,
    ),
    "an import error that is caught": ("try:\n    from lib import gone\nexcept ImportError:\n    gone = None", F),
    "an attribute error that is caught": ("import lib\ntry:\n    lib.gone\nexcept AttributeError:\n    pass", F),
    "contextlib.suppress": (
        "from contextlib import suppress\nwith suppress(ImportError):\n    from lib import gone",
        F,
    ),
    "TYPE_CHECKING": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lib import gone", F),
    "hasattr": ("import lib\nif hasattr(lib, 'gone'):\n    lib.gone()", F),
    "a version that is not this one": (
        "import lib\ndef g():\n    if is_lib_equal_or_newer('2.1'):\n        lib.gone()",
        F,
    ),
    "a version that is exactly another": ("import lib\nif is_lib_equal('1.9'):\n    lib.gone()", F),
    "hasattr and return": ("import lib\ndef g():\n    if not hasattr(lib, 'gone'):\n        return\n    lib.gone()", F),
    "getattr with a default": ("import lib\ngone = getattr(lib, 'gone', None)", F),
    "find_spec in another function": (
        "from importlib.util import find_spec\ndef ok():\n    return find_spec('lib.gone') is not None\nif ok():\n    import lib.gone",
        F,
    ),
    "a keyword that a flag of another method stands for": (
        "from lib import K\nclass E:\n    def __init__(self):\n        self.k = K(1)\n        self.ok = supports_kw(self.k.go, 'out')\n"
        "    def g(self):\n        if self.ok:\n            self.k.go(out=1)",
        K,
    ),
    "a keyword that a signature was asked for": (
        "import lib, inspect\ndef g():\n    kw = {}\n    if 'c' in inspect.signature(lib.f).parameters:\n        kw['c'] = 1\n    lib.f(1, **kw)",
        F,
    ),
    "a keyword added by its value, with the error caught": (
        "import lib\ndef g(x):\n    try:\n        kw = {}\n        if x:\n            kw['c'] = x\n        lib.f(1, **kw)\n    except Exception:\n        pass",
        F,
    ),
}

SILENT = {
    "an object of an annotated class, where the type checker is told not to look": (
        "import lib\nclass P:\n    def __init__(self, k: lib.K):\n        self.k = k\n    def g(self):\n        return self.k.tag  # type: ignore",
        K,
    ),
    "the same of one of two annotated classes": (
        "from typing import Union\nfrom lib import K, L\nT = Union[K, L]\ndef g(t: T):\n    return t.tag  # type: ignore[attr-defined]",
        "class K: ...\nclass L: ...",
    ),
    "an implicit module attribute": ("import lib\nlib.__file__\nlib.__path__", F),
    "a method that is bound anew": (
        "from lib import K\nk = K(1)\nk.go = None\ndef g():\n    k.go(anything=1)",
        K,
    ),
    "a local of two types": (
        "from lib import K\ndef g(x, y):\n    k = x\n    if y:\n        k = K(1)\n    k.stop()",
        K,
    ),
    "isinstance of another class": (
        "from lib import K\nfrom eng.own import Own\ndef g():\n    k = K(1)\n    assert isinstance(k, Own)\n    k.stop()",
        K,
    ),
    "a decorator that takes a keyword out": (
        "import lib\nlib.f(1, skip=True)",
        "import functools\ndef d(f):\n    @functools.wraps(f)\n    def w(*a, **k):\n        k.pop('skip', None)\n        return f(*a, **k)\n    return w\n@d\ndef f(a): ...",
    ),
    "a decorator that is not shown": ("import lib\nlib.f(1, c=2)", "from other import d\n@d\ndef f(a): ..."),
    "overloads": (
        "import lib\nlib.f(1, c=2)",
        "from typing import overload\n@overload\ndef f(a): ...\ndef f(a, c=1): ...",
    ),
    "a module that answers for its names": (
        "from lib import anything",
        "import importlib\ndef __getattr__(name):\n    return importlib.import_module('.' + name, __name__)",
    ),
    "a star import from outside": ("from lib import anything", "from elsewhere import *"),
    "a keyword that **kwargs takes": ("import lib\nlib.f(c=1)", "def f(**k): ..."),
    "keywords of two branches that exclude each other": (
        "import lib\ndef g(x):\n    if x:\n        kw = {'a': 1}\n        lib.f(**kw)\n    else:\n        kw = {'c': 1}\n        lib.h(**kw)",
        F + "\ndef h(c): ...",
    ),
    "dictionaries that come from outside": ("import lib\ndef g(kw):\n    lib.f(1, **kw)", F),
    "an attribute that a derived class has": (
        "from lib import K\ndef g(k: K):\n    k.stop()",
        "class K: ...\nclass L(K):\n    def stop(self): ...",
    ),
    "an object whose class the engine may have derived": (
        "import lib\nclass Own(lib.K):\n    pass\ndef g(k: lib.K):\n    k.stop()",
        "class K:\n    def __getattr__(self, name):\n        raise AttributeError(name)",
    ),
    "an object whose class the engine may have derived from one between": (
        "import lib\nclass Own(lib.Between):\n    pass\ndef g(k: lib.K):\n    k.stop()",
        "class K: ...\nclass Between(K): ...",
    ),
    "an attribute that the engine gives an object which answers for what it is given": (
        {
            "eng/app.py": "def put(app):\n    app.state.client = 1",
            "eng/run.py": "from lib import K\ndef g(k: K):\n    return k.client",
        },
        "class K:\n    def __getattr__(self, name):\n        raise AttributeError(name)",
    ),
    "an attribute that the engine gives a plain object": (
        {
            "eng/app.py": "def put(k):\n    setattr(k, 'client', 1)",
            "eng/run.py": "from lib import K\ndef g(k: K):\n    return k.client",
        },
        "class K: ...",
    ),
    "a module beside the packages of sources, which no installation has": (
        "def g():\n    from tests.kernels import cast",
        {"lib/__init__.py": "", "tests/__init__.py": "", "lib-2.0.dist-info/METADATA": ""},
    ),
    "a dataclass": (
        "from lib import D\nD(a=1, b=2)",
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    a: int\n    b: int = 1",
    ),
    "a stub of a compiled module": (
        "from lib.native import x",
        {"lib/__init__.py": "", "lib/native.cpython-311.so": ""},
    ),
}


@pytest.mark.parametrize("shape", HARMFUL)
def test_what_is_asked_in_vain_is_found_where_it_is_asked(shape: str) -> None:
    engine, library, expected = HARMFUL[shape]
    assert expected in seen(pair(engine, library))


@pytest.mark.parametrize("shape", HARMLESS)
def test_what_is_guarded_is_said_to_be_and_no_more(shape: str) -> None:
    found = [one for one in findings(pair(*HARMLESS[shape])) if one.rule != "python-lane"]
    assert all(one.severity is Severity.GUARDED for one in found), found


@pytest.mark.parametrize("shape", SILENT)
def test_what_the_text_does_not_show_to_be_missing_is_not_reported(shape: str) -> None:
    assert seen(pair(*SILENT[shape])) == []


SITU = "from enum import IntEnum\nclass A(IntEnum):\n    Silu = 1\n"
PROBE = (
    "def has_situ():\n    try:\n        from lib import A\n    except ImportError:\n        return False\n    return hasattr(A, 'Situ')\n"
    "class Experts:\n    def supports(self):\n        return has_situ()\n"
)


def test_a_probe_that_is_false_off_the_engines_pin_is_a_lost_lane_that_names_what_is_lost_and_who_asks() -> None:
    (one,) = findings(pair(PROBE, SITU, ["lib==3.0"]))
    assert (one.severity, "Situ" in one.message, "Experts.supports" in one.message) == (Severity.DOWNGRADE, True, True)
    assert one.resolution == "Install lib==3.0, which eng==1.0 asks for."


def test_a_probe_that_is_false_at_the_engines_own_pin_loses_nothing() -> None:
    (one,) = findings(pair(PROBE, SITU, ["lib==2.0"]))
    assert one.severity is Severity.GUARDED


def test_a_probe_that_holds_is_not_reported() -> None:
    assert seen(pair(PROBE, SITU + "    Situ = 2\n")) == []


def test_a_missing_member_that_the_models_config_asks_for_stops_the_start() -> None:
    installed = pair("from lib import A\ndef g():\n    return A.Situ", SITU)
    (one,) = findings(installed, model={"text_config": {"hidden_act": "situ"}})
    assert (one.severity, one.applies) == (Severity.START, Applies.YES)


REGISTRY = {
    "eng/registry.py": (
        "from enum import Enum\nclass B(Enum):\n    FAST = 'eng.run.Fast'\n    def get_class(self):\n        return import_module(self.value)"
    ),
    "eng/run.py": "from lib import gone\nclass Fast: ...",
}


def test_a_backend_whose_import_error_is_taken_as_an_answer_is_passed_over() -> None:
    chooser = "from eng.registry import B\ndef choose(b: B):\n    try:\n        return b.get_class()\n    except ImportError:\n        return None"
    assert seen(pair({**REGISTRY, "eng/choose.py": chooser}, F)) == ["python-name downgrade eng/run.py:1"]


def test_a_backend_that_nobody_catches_fails_where_it_is_chosen() -> None:
    assert seen(pair(REGISTRY, F)) == ["python-name path eng/run.py:1"]


@pytest.mark.parametrize(
    ("capability", "applies"), [((12, 0), Applies.YES), ((10, 3), Applies.NO), (None, Applies.UNKNOWN)]
)
def test_a_file_for_one_gpu_and_one_model_applies_to_those(capability, applies) -> None:
    installed = pair({"eng/models/deep_v4/attn_sm120.py": "import lib\ndef g():\n    lib.f(1, c=2)"}, F)
    (one,) = findings(installed, capability=capability, model={"model_type": "deep_v4"})
    assert (one.severity, one.applies) == (Severity.PATH, applies)


def test_a_plugin_that_imports_what_the_engine_no_longer_has_matters_where_it_is_used() -> None:
    installed = pair("", {"lib/__init__.py": "", "lib/integrations/eng.py": "from eng.old import Tokenizer"})
    assert seen(installed) == ["python-plugin opt-in lib/integrations/eng.py:1"]


@pytest.mark.parametrize(
    ("asks", "found"),
    [
        ("from eng.old import Tokenizer", 1),
        ("import eng.old", 1),
        ("def f():\n    from eng import gone", 1),
        ("from importlib import import_module\nold = import_module('eng.old')", 0),
        ("x = 1  # as eng.old does it", 0),
    ],
)
def test_a_plugin_is_looked_into_where_it_imports_the_engine_and_not_for_what_it_says_of_it(
    asks: str, found: int
) -> None:
    installed = pair("", {"lib/__init__.py": "", "lib/integrations/eng.py": asks})
    assert len(seen(installed)) == found


def test_a_file_that_cannot_be_parsed_is_said_not_to_be_checked() -> None:
    asked = Subject(installed=pair("import lib\ndef (", F), engine="eng")
    (one,) = [one for rule in RULES for one in rule.check(asked)]
    assert isinstance(one, NotChecked)


@pytest.mark.parametrize(
    ("start", "file", "needed"),
    [
        ("from eng import run", "eng/run.py", True),
        ("x = 1", "eng/run.py", True),
        ("x = 1", "eng/attention/backend_sm120.py", False),
        ("x = 1", "eng/models/other.py", False),
        ("x = 1", "eng/models/mine.py", True),
        ("from eng.models import other", "eng/models/other.py", True),
    ],
)
def test_a_file_that_cannot_be_parsed_leaves_the_answer_open_unless_it_is_shown_to_be_for_others(start, file, needed):
    texts = {"eng/__init__.py": start, file: "import lib\ndef ("}
    subject = Subject(installed=pair(texts, F), engine="eng", model={"model_type": "mine"}, capability=(10, 3))
    (one,) = [one for rule in RULES for one in rule.check(subject)]
    assert isinstance(one, NotChecked)
    assert (one.what, one.needed) == (f"what {file} asks of the libraries", needed)
    assert verdict_word(audited(RULES, subject).verdict) == ("undecided" if needed else "proven")


def test_a_file_of_a_library_that_is_asked_and_cannot_be_parsed_leaves_the_answer_open():
    library = {"lib/__init__.py": "", "lib/torn.py": "def (", "lib/unasked.py": "def ("}
    subject = Subject(installed=pair("from lib.torn import gone", library), engine="eng")
    (one,) = [one for rule in RULES for one in rule.check(subject)]
    assert isinstance(one, NotChecked)
    assert one.what == "what is asked of lib 2.0: lib/torn.py"
    assert verdict_word(audited(RULES, subject).verdict) == "undecided"


def test_a_library_that_is_not_installed_is_not_asked() -> None:
    assert seen(pair("from elsewhere import gone", F)) == []


def test_what_a_start_calls_stops_it_only_on_the_gpus_that_it_is_for() -> None:
    text = (
        "import lib\nfrom eng.platform import current\ndef warm():\n    from lib import gone\n"
        "def compile_or_warm_up_model():\n    if current.has_device_capability(90):\n        warm()\n"
    )
    installed = pair({"vllm/__init__.py": "", "vllm/run.py": text}, F)
    vllm = distribution("vllm", "1.0", {"vllm/__init__.py": "", "vllm/run.py": text})
    engine = type(installed)(engine=vllm, others=installed.others)
    assert seen(engine, capability=(10, 3)) == ["python-name start vllm/run.py:4"]
    assert seen(engine, capability=(8, 0)) == ["python-name path vllm/run.py:4"]


WARMED = """
    import lib
    from eng.platform import current
    def run(config, skipped):
        {before}
        {call}
    def compile_or_warm_up_model(config):
        {way}
            run(config, current.skipped())
"""


@pytest.mark.parametrize(
    ("before", "call", "way", "severity"),
    [
        ("kw = {}", "lib.f(1, c=2)", "if True:", "start"),
        ("kw = {'c': 1}", "lib.f(1, **kw)", "if True:", "start"),
        ("kw = {}; kw['c'] = 1", "lib.f(1, **kw)", "if True:", "start"),
        ("kw = {}\n    if skipped: kw['c'] = 1", "lib.f(1, **kw)", "if True:", "path"),
        ("kw = {'d': 1}\n    if skipped: kw['c'] = 1", "lib.f(1, **kw)", "if True:", "start"),
        ("kw = {}\n    if skipped: kw['c'] = 1", "lib.f(**kw)", "if True:", "start"),
        ("kw = {}", "lib.f(1, c=2)", "if config.backend == 'fast':", "path"),
        ("kw = {}", "lib.f(1, c=2)", "if config.backend == 'fast' and config.size > 2:", "path"),
        ("kw = {}", "lib.f(1, c=2)", "if config.size > 2:", "start"),
        ("kw = {}", "lib.f(1, c=2)", "if config.backend != 'fast':", "start"),
        ("kw = {}", "lib.f(1, c=2)", "if config.device == 'cuda':", "start"),
        ("kw = {}", "lib.f(1, c=2)", "if not (config.backend != 'fast' or config.size > 2):", "path"),
        (
            "kw = {}",
            "lib.f(1, c=2)",
            "if config.backend != 'fast' or config.size > 2: return\n    if True:",
            "path",
        ),
    ],
)
def test_what_only_some_starts_give_or_get_to_stops_none_for_certain(
    before: str, call: str, way: str, severity: str
) -> None:
    text = textwrap.dedent(WARMED).format(before=before, call=call, way=way)
    vllm = distribution("vllm", "1.0", {"vllm/__init__.py": "", "vllm/run.py": text})
    engine = Installed(engine=vllm, others=pair("", F).others)
    assert [one.severity.value for one in findings(engine)] == [severity]


def test_the_words_of_a_name_that_is_made_of_itself_are_gathered_once() -> None:
    steps = "\n".join(f"    x = (x + {n}) * x - x" for n in range(40))
    text = f"import lib\ndef g(x):\n{steps}\n    if x:\n        lib.gone()\n"
    assert seen(pair(text, F)) == ["python-name path eng/run.py:44"]


CHOSEN = """
    import lib
    def g(x):
        if x:
            call = lib.f
            kw = dict(a=1, b=2)
        else:
            call = lib.h
            kw = dict(c=1)
        return call(**kw)
"""
ON_REQUEST = {
    "eng/config/parallel.py": "class C:\n    way: str = 'plain'\n    auto: str | None = None\n",
    "eng/make.py": "from eng.run import E\ndef m(c):\n    if c.way == 'plain':\n        return None\n    return E()\n",
    "eng/run.py": "import lib\nclass E:\n    def g(self):\n        lib.gone()\n",
}


def test_a_callee_and_its_keywords_that_one_branch_chose_belong_together():
    assert seen(pair(CHOSEN, "def f(a, b): ...\ndef h(*, c): ...")) == []
    assert seen(pair(CHOSEN, "def f(a): ...\ndef h(*, d): ...")) == ["python-signature path eng/run.py:9"]


def test_a_probe_before_every_call_of_the_function_guards_what_is_in_it():
    gate = "import lib\ndef has_f():\n    return hasattr(lib, 'gone')\n"
    run = "import lib\nfrom eng.gate import has_f\ndef g():\n    lib.gone()\ndef h():\n    if has_f():\n        g()\n"
    assert "python-name guarded eng/run.py:4" in seen(pair({"eng/gate.py": gate, "eng/run.py": run}, F))
    run += "def i():\n    g()\n"
    assert "python-name guarded eng/run.py:4" not in seen(pair({"eng/gate.py": gate, "eng/run.py": run}, F))


def test_what_only_a_changed_setting_leads_to_is_opt_in_and_one_that_the_engine_resolves_is_no_default():
    assert seen(pair(ON_REQUEST, F)) == ["python-name opt-in eng/run.py:4"]
    resolved = ON_REQUEST["eng/make.py"].replace("c.way == 'plain'", "c.auto is None")
    assert seen(pair({**ON_REQUEST, "eng/make.py": resolved}, F)) == ["python-name path eng/run.py:4"]


def test_what_the_models_own_file_imports_in_vain_stops_the_start_of_that_model():
    engine = {"eng/models/k3.py": "from lib import gone\nclass K3Model(Base): ...\n"}
    (one,) = findings(pair(engine, F), model={"architectures": ["K3Model"]})
    (other,) = findings(pair(engine, F), model={"architectures": ["Other"]})
    assert (one.severity, other.severity) == (Severity.START, Severity.PATH)


LAUNCHED = {
    "eng/probe.py": "import lib\ndef has_gone():\n    return hasattr(lib, 'gone')",
    "eng/run.py": """
        from eng.probe import has_gone
        def launch_it():
            from lib import gone
        def go():
            if has_gone():
                launch_it()
        """,
}
MANY = {
    f"eng/m{n}.py": "from eng.probe import has_gone  # lib\nfrom eng.run import launch_it\nif has_gone():\n    launch_it()"
    for n in range(9)
}


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ({}, "guarded"),
        ({"eng/table.py": "from eng.run import launch_it\nTABLE = [launch_it]"}, "opt-in"),
        ({"eng/table.py": "TABLE = ['eng.run:launch_it']"}, "opt-in"),
        (MANY, "opt-in"),
    ],
    ids=["called under a probe", "handed on", "spelled in a string", "held by too many files to be one function"],
)
def test_a_probe_before_every_call_guards_what_is_called_nowhere_else(more, severity):
    found = [one for one in seen(pair({**LAUNCHED, **more}, F)) if one.startswith("python-name")]
    assert found == [f"python-name {severity} eng/run.py:3"]


@pytest.mark.parametrize(("file", "severity"), [("eng/config.py", "opt-in"), ("eng/layers/deep.py", "path")])
def test_a_default_counts_where_settings_are_declared(file, severity):
    texts = {
        "eng/run.py": "def g(state):\n    if state.turbo:\n        from lib import gone",
        file: "class C:\n    turbo: bool = False",
    }
    assert seen(pair(texts, F)) == [f"python-name {severity} eng/run.py:3"]


@pytest.mark.parametrize(("others", "severity"), [(0, "start"), (17, "path")])
def test_a_name_that_many_files_call_is_not_one_function(others, severity):
    texts = {
        "vllm/__init__.py": "",
        "vllm/worker.py": "from vllm.run import load_it\ndef init_device():\n    load_it()",
        "vllm/run.py": "def load_it():\n    from lib import gone",
        **{f"vllm/m{n}.py": "def g(x):\n    x.load_it()" for n in range(others)},
    }
    installed = Installed(
        engine=distribution("vllm", "0.27.0", texts), others=(distribution("lib", "2.0", {"lib/__init__.py": F}),)
    )
    assert seen(installed) == [f"python-name {severity} vllm/run.py:2"]


@pytest.mark.parametrize(
    "statement",
    [
        "try:\n            pass\n        finally:\n            self.k = K(1)",
        "try:\n            pass\n        except ValueError:\n            self.k = K(1)",
        "match 1:\n            case 1:\n                self.k = K(1)",
        "if True:\n            pass\n        else:\n            self.k = K(1)",
    ],
)
def test_what_is_held_in_self_is_found_in_every_kind_of_block(statement):
    text = f"from lib import K\nclass E:\n    def __init__(self):\n        {statement}\n    def g(self):\n        self.k.go(slow=1)"
    assert [one.split()[:2] for one in seen(pair(text, K))] == [["python-signature", "path"]]


def test_what_isinstance_says_of_another_name_says_nothing_of_this_one():
    text = "from lib import K, L\ndef g(a: K, b):\n    if isinstance(b, L):\n        a.go(slow=1)"
    assert seen(pair(text, f"{K}\nclass L:\n    def go(self, **kw): ...")) == ["python-signature path eng/run.py:4"]


@pytest.mark.parametrize(
    ("written", "severity"),
    [
        ("import eng.run", "start"),
        ("import os, eng.run as r", "start"),
        ("from eng import run", "start"),
        ("from . import run", "start"),
        ("from .run import x", "start"),
        ("from eng import (  # all (of them)\n    other,\n    run,\n)", "start"),
        ("from eng import \\\n    run", "start"),
        ("if True:\n    import eng.run", "path"),
        ("def f():\n    import eng.run", "path"),
        ("try:\n    import eng.run\nexcept ImportError:\n    pass", "path"),
        ("import eng.other", "path"),
    ],
)
def test_what_a_start_imports_is_found_however_the_import_is_written(written, severity):
    texts = {"eng/__init__.py": written, "eng/other.py": "", "eng/run.py": "from lib import gone  # and x\nx = 1"}
    assert seen(pair(texts, F)) == [f"python-name {severity} eng/run.py:1"]


def test_many_files_that_no_start_imports_do_not_hide_the_one_that_it_does():
    texts = {f"eng/a{n}.py": "from eng import run" for n in range(500)}
    texts |= {
        "eng/__init__.py": "from eng import z",
        "eng/z.py": "from eng import run",
        "eng/run.py": "import lib.gone",
    }
    assert seen(pair(texts, F)) == ["python-name start eng/run.py:1"]


def test_what_the_package_above_an_imported_module_imports_is_imported_too():
    texts = {"eng/__init__.py": "import eng.sub.a", "eng/sub/a.py": "", "eng/sub/__init__.py": "import eng.run"}
    assert seen(pair({**texts, "eng/run.py": "import lib.gone"}, F)) == ["python-name start eng/run.py:1"]
