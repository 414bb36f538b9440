"""Write the winner of a study as a package: its flags, and nothing that was measured with other ones."""

from pathlib import Path

from dayzero.adapters.package_files.load import parse_package
from dayzero.adapters.package_files.rewrite import added, with_flags, with_text, without_tables
from dayzero.core.errors import InputError
from dayzero.optimize.model import Point, changed, in_words
from dayzero.optimize.space import flags_of
from dayzero.wiring import clock
from dayzero.wiring.laboratory import fresh_folder
from dayzero.wiring.optimize_files import put_definition
from dayzero.wiring.optimize_study import Opened

_A_DAY = 10


def write_winner(opened: Opened, point: Point) -> Path:
    """Write the definition of a combination under a name of its own, and give its folder.

    Raises:
        InputError: The definition cannot be changed as text.
        RemoteError: The disk refused.
    """
    package, space = opened.package, opened.study.space
    flags = flags_of(space, point)
    name = f"{package.name}-{opened.cell.name}"
    words = in_words(changed(point, space.stock))
    text = opened.folder.stock.read_text(encoding="utf-8")
    text = with_text(with_flags(text, flags), "name", name)
    text = with_text(text, "title", f"{package.title}, flags for {opened.cell.name}")
    text = without_tables(text, ("claims", "changes"))
    text = added(
        text,
        "not_measured",
        [
            {
                "topic": "numbers of the package that it came from",
                "why": f"{package.name} has other flags; none carries over.",
            }
        ],
    )
    change = {
        "version": package.version,
        "date": clock.now()[:_A_DAY],
        "kind": "changed",
        "text": f"Flags of {package.name} for its workload {opened.cell.name}, found by dayzero optimize: {words}.",
    }
    text = added(text, "changes", [change])
    folder = opened.folder.package / name
    file = put_definition(text, opened.folder.stock, fresh_folder(folder))
    written = parse_package(text, str(file), beside=lambda other: (folder / other).read_text(encoding="utf-8"))
    if written.recipe.flags != flags:
        raise InputError(f"{file} does not hold the flags that were measured", hint="Write the flags by hand.")
    return folder
