"""Small answers for tests of what is done with one."""

from dayzero.triage.model import Fingerprint, Link, Log, NamedWall, Quantity, Resolution, Role, RootFound

LOG = Log(
    sha256="ab" * 32,
    size_bytes=400,
    lines=12,
    left_out=0,
    engine="vllm",
    version="0.32.0",
    attempts=1,
    exits=(),
    stages=(),
)


def root_found(
    *,
    text: str = "E unknown model architecture",
    wall: str = "model-unrecognized",
    rule: str = "unknown-architecture",
    numbers: tuple[tuple[str, str, str], ...] = (),
    confirmed_by: str = "a maintainer",
) -> RootFound:
    """Make a root at line 3; the numbers are (name, value, unit), all of line 3."""
    root = Link(role=Role.ROOT, line=3, text=text)
    fall = Link(role=Role.API_SERVER, line=9, text="RuntimeError: Engine core initialization failed.")
    return RootFound(
        root=root,
        same_as=(4, 5),
        chain=(root, fall),
        wall=NamedWall(
            wall=wall,
            category=wall,
            rule=rule,
            version=1,
            title="This build does not know the architecture.",
            resolution=Resolution(text="Re-pin.", confirmed_by=confirmed_by, reference="a page"),
            would_confirm="The build's table.",
        ),
        numbers=tuple(Quantity(name=name, value=value, unit=unit, line=3) for name, value, unit in numbers),
        fingerprint=Fingerprint(exception="ValueError", frame="vllm/config.py:verify"),
        frames=(),
        advice=(),
        log=LOG,
    )
