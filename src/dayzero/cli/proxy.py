"""``dayzero proxy``: what of this model can be rehearsed on a small node?"""

from pathlib import Path
from typing import Annotated, Final

import cyclopts

from dayzero.cli.main import PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.quantities import Bytes
from dayzero.proxy.kinds import Kind
from dayzero.wiring.proxy import Made, make_proxy

SCHEMA: Final = "dayzero/proxy/v1"
CARRIES: Final = (
    "which build serves the architecture, and which does not",
    "which kernels its layers dispatch to on these GPUs, and whether they start, capture and answer",
    "the shapes of one rank at the same tensor and expert parallel degrees",
    "the time of one more layer of a kind, from rehearsals with different --layers",
)
DOES_NOT: Final = (
    "what it says: the numbers are made up, and so is the routing of its experts",
    "memory, start time and latency of the whole: there are fewer layers",
    "what lies between more GPUs than the rehearsal has",
    "the repository's own code, its tokenizer, and layers that predict further tokens",
)


def proxy(
    model: str,
    *,
    layers: int,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])],
    offline: Annotated[bool, cyclopts.Parameter(negative="")] = False,
    output_format: OutputFormat = "text",
) -> int:
    """Write a rehearsal model: the real widths, quantisation and kinds of layer, fewer layers, and no weights.

    An engine that makes up numbers serves it (vLLM's and SGLang's --load-format dummy). The same configuration gives the same
    bytes everywhere. Exit code 0: every kind of layer is in it. 3: one is not, or the kinds cannot be told.

    Args:
        model: The whole model's config.json, its folder or its name on the hub.
        layers: Layers to keep, the first ones.
        output: A new folder for the model.
        offline: Do not ask the hub.
        output_format: How the result is written to stdout.
    """
    made = make_proxy(model, layers, output, offline=offline)
    if output_format == "json":
        print_json(_document(made))
    else:
        print("\n".join(_lines(made)))
    return PROVEN if made.kinds and not made.missing else UNDECIDED


def _lines(made: Made) -> list[str]:
    shrunk = made.shrunk
    files = ", ".join(f"{name} ({size})" for name, size in made.files)
    lines = [f"{made.folder}: {shrunk.layers} of {shrunk.of_layers} layers, no weights", f"  files    {files}"]
    if made.size is not None and made.of_size is not None:
        lines.append(f"  weights  {made.size} that the engine makes up, of the {made.of_size} of the whole model")
    lines += [f"  changed  {line}" for line in shrunk.changed]
    lines += [f"  {_kind(kind, there=kind not in made.missing)}" for kind in made.kinds]
    if made.unknown:
        lines.append(f"  kinds    not known: {made.unknown}")
    if made.missing:
        fewest = max(kind.first for kind in made.kinds) + 1
        lines.append(f"Not every kind of layer is in it; --layers {fewest} is the fewest with all of them.")
    lines += ["", "Carries over to the whole model:", *(f"  - {line}" for line in CARRIES)]
    lines += ["Does not:", *(f"  - {line}" for line in DOES_NOT)]
    lines += ["", f"Next: dayzero audit {made.folder} --engine NAME==VERSION --system GPUS"]
    lines.append(f"      dayzero fit {made.folder}/config.json --engine NAME==VERSION --system GPUS")
    return lines


def _kind(kind: Kind, *, there: bool) -> str:
    word = "kind    " if there else "MISSING "
    tells = f": {', '.join(kind.tells)}" if kind.tells else ""
    return f"{word} layer {kind.first}, {kind.count} of them in the whole{tells}"


def _document(made: Made) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "folder": str(made.folder),
        "layers": made.shrunk.layers,
        "of_layers": made.shrunk.of_layers,
        "files": [{"path": name, "size_bytes": size.count} for name, size in made.files],
        "weights_bytes": _count(made.size),
        "of_weights_bytes": _count(made.of_size),
        "changed": list(made.shrunk.changed),
        "kinds": [
            {"first": kind.first, "count": kind.count, "in": kind not in made.missing, "tells": list(kind.tells)}
            for kind in made.kinds
        ],
        "unknown": made.unknown,
        "carries_over": list(CARRIES),
        "does_not": list(DOES_NOT),
    }


def _count(size: Bytes | None) -> int | None:
    return None if size is None else size.count
