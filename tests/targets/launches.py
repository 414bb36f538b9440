"""Launches for the tests of deploy targets: a plain one, a hostile one, and every one that can be written."""

from dataclasses import replace

from hypothesis import strategies as st

from dayzero.core.launch import LaunchSpec
from dayzero.core.pins import FilePin, Sha256, WheelPin
from dayzero.core.quantities import Bytes

HOSTILE_WORDS = (
    "",
    " ",
    "  led and trailed  ",
    "tab\there\t",
    "a$HOME${B}$(id)$$c",
    "$",
    "$$",
    "100%h%%",
    "%",
    "it's",
    '"quoted"',
    "`id`",
    "back\\slash",
    "ends in \\",
    "\\n",
    "#;&|*?~",
    ";",
    "#",
    "~/cache",
    "!x",
    "-",
    "--",
    "@x",
    "1e3",
    "yes",
    "no",
    "null",
    "~",
    "0777",
    "0x1f",
    "1_000",
    "12:30:45",
    "2026-07-27",
    "é✓",
    "\u2028\u2029\ufeff\u00a0",
    "\U0001f600",
    "<<",
    "*a",
    "&a",
    "!!int 1",
    "{}",
    "[a, b]",
    "k: v",
    "A=B",
)

_ALPHABET = st.one_of(
    st.sampled_from("$%\\\"'`{}()#;&|*?~!=:-+ \t\u2028\ufeff\u00a0ab01"),
    st.characters(exclude_categories=("Cc", "Cs", "Cn")),
)
WORDS = st.one_of(st.sampled_from(HOSTILE_WORDS), st.text(_ALPHABET, max_size=12))
_NAMES = st.from_regex(r"\A(?!PATH|PWD|_\Z)[A-Z][A-Z0-9_]{0,8}X\Z")


def launch(
    *words: str, env: tuple[tuple[str, str], ...] = (), image: str = "", accelerators: int = 0, port: int = 8080
) -> LaunchSpec:
    """Give a launch of ``python3 serve.py`` with more words at its end."""
    return LaunchSpec(
        name="demo",
        argv=("python3", "serve.py", "--model", "model/tiny.gguf", "--host", "127.0.0.1", "--port", str(port), *words),
        env=env,
        wheels=(WheelPin(filename="engine-1.0-cp311-cp311-linux_x86_64.whl", sha256=Sha256("1" * 64)),),
        distribution="engine==1.0",
        image=image,
        model_files=(
            FilePin(path="tiny.gguf", sha256=Sha256("2" * 64), size=Bytes(17_000_000)),
            FilePin(path="more/second half.gguf", sha256=Sha256("3" * 64), size=Bytes(3)),
        ),
        port=port,
        health_path="/health",
        accelerators=accelerators,
        memory_bytes=512 * 1024**2,
        start_budget_s=95,
        stop_budget_s=20,
    )


def plain() -> LaunchSpec:
    """Give the launch of a small engine."""
    return launch("--ctx-size", "2048", "--no-warmup", env=(("OMP_NUM_THREADS", "2"), ("ENGINE_LOG", "info")))


def hostile() -> LaunchSpec:
    """Give a launch that holds every hostile word, as an argument and as a value."""
    env = tuple((f"HOSTILE_{index}", word) for index, word in enumerate(HOSTILE_WORDS))
    return launch(*HOSTILE_WORDS, env=env)


def marked() -> LaunchSpec:
    """Give a launch in which every word and every value stands nowhere else in any file."""
    words = tuple(f"wordmark{index}z" for index in range(6))
    return launch(*words, env=tuple((f"NAMEMARK{index}Z", f"valuemark{index}z") for index in range(4)))


@st.composite
def launches(draw: st.DrawFn) -> LaunchSpec:
    """Draw a launch that every target can carry."""
    words = draw(st.lists(WORDS.filter(lambda word: word != "--host"), max_size=6))
    names = draw(st.lists(_NAMES, max_size=4, unique=True))
    spec = launch(*words, accelerators=draw(st.sampled_from((0, 8))))
    return replace(spec, env=tuple((name, draw(WORDS)) for name in names))
