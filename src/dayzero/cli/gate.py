"""``dayzero gate``: is it still the model, and can the instrument tell?"""

import cyclopts

APP = cyclopts.App(
    name="gate",
    help=(
        "Is it still the model? Each gate certifies itself on a control before it says anything.\n\n"
        "Exit 0: the same. 1: different. 3: inconclusive, unsound (the instrument cannot tell) or undecided."
    ),
)

APP.command("dayzero.cli.gate_distribution:distribution", name="distribution")
APP.command("dayzero.cli.gate_numbers:numbers", name="numbers")
APP.command("dayzero.cli.gate_contract:contract", name="contract")
APP.command("dayzero.cli.gate_task:task", name="task")
APP.command("dayzero.cli.gate_construction:construction", name="construction")
