"""The program inside a container that asks the engine whether it is well; an image need not hold curl."""

from dayzero.core.launch import LaunchSpec

# A proxy from the environment must not come between. Free of what a shell gives a meaning inside double quotes.
_CODE = "import sys, urllib.request as u; u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=5)"


def health_probe(spec: LaunchSpec) -> tuple[str, ...]:
    """Give the words of a command that ends with 0 while the engine's health path answers 200."""
    return ("python3", "-c", _CODE, f"http://127.0.0.1:{spec.port}{spec.health_path}")


def health_probe_line(spec: LaunchSpec) -> str:
    """Give the same command as one line for a POSIX shell."""
    python, option, code, url = health_probe(spec)
    return f'{python} {option} "{code}" {url}'
