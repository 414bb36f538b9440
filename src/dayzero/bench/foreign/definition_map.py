"""Write the map of definitions for docs/reference/other-tools.md, out of what each reader declares."""

from collections.abc import Iterable

from dayzero.bench.foreign.model import Definition, Tool

_WORDS = {"same": "same", "differs": "differs", "none": "no equal"}


def definition_map(tools: Iterable[Tool]) -> str:
    """Write one section with a table a tool, in Markdown."""
    return "\n".join(_section(tool) for tool in tools)


def _section(tool: Tool) -> str:
    rows = "".join(_row(definition) for definition in tool.definitions)
    return (
        f"### {tool.name}\n\nRead from {tool.files}; written from version {tool.seen}.\n\n"
        f"| its figure | its definition | ours | | how it differs |\n|---|---|---|---|---|\n{rows}"
    )


def _row(definition: Definition) -> str:
    ours = f"`{definition.ours}`" if definition.ours else ""
    return f"| `{definition.printed}` | {definition.formula} | {ours} | {_WORDS[definition.agreement]} | {definition.why} |\n"
