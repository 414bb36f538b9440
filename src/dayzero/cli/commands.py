"""Every command, in the order in which a newcomer meets them: its name, its home and the question it answers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command, loaded only when it is called.

    Attributes:
        name: What is typed after ``dayzero``.
        home: ``module:function`` of a command, ``module:APP`` of a group of commands.
        question: What it answers, for the help.
    """

    name: str
    home: str
    question: str


COMMANDS = (
    CommandEntry("demo", "dayzero.cli.demo:demo", "Show me the whole job on this machine"),
    CommandEntry("audit", "dayzero.cli.audit:audit", "Can this build serve this model, before it is started?"),
    CommandEntry("first", "dayzero.cli.first:first", "Which release serves it first, and what still fails on it?"),
    CommandEntry("repin", "dayzero.cli.repin:repin", "Are newer pins proven for this package, and what would change?"),
    CommandEntry("triage", "dayzero.cli.triage:triage", "What killed this start, and what resolves it?"),
    CommandEntry("fit", "dayzero.cli.fit:fit", "Does it fit, and with what headroom?"),
    CommandEntry("proxy", "dayzero.cli.proxy:proxy", "What of it can be rehearsed on a small node?"),
    CommandEntry("weights", "dayzero.cli.weights:weights", "Put a package's pinned weights into a folder, verified"),
    CommandEntry("serve", "dayzero.cli.serve:serve", "Start it and wait until it is healthy"),
    CommandEntry("bench", "dayzero.cli.bench:bench", "How fast, measured how?"),
    CommandEntry(
        "window", "dayzero.cli.window:window", "Does B beat A? Alternating pairs, with what they could have seen"
    ),
    CommandEntry(
        "optimize", "dayzero.cli.optimize:optimize", "Which flags serve this workload best? A confirmed winner, or none"
    ),
    CommandEntry("gate", "dayzero.cli.gate:APP", "Is it still the model, and can the instrument tell?"),
    CommandEntry(
        "perfdb", "dayzero.cli.perfdb:APP", "How fast is this operator on this system, and which rows say so?"
    ),
    CommandEntry("evidence", "dayzero.cli.evidence:APP", "What raw line stands under this number?"),
    CommandEntry("render", "dayzero.cli.render:render", "Write the deploy files, proven equal to the launch"),
    CommandEntry("kit", "dayzero.cli.kit:APP", "Can a stranger check it?"),
    CommandEntry("keys", "dayzero.cli.keys:APP", "Who signs it, until when, and what was taken back?"),
    CommandEntry("catalog", "dayzero.cli.catalog:APP", "What is on offer?"),
    CommandEntry("market", "dayzero.cli.market:APP", "Who may use it? Licences, orders, money, and their audit"),
)
