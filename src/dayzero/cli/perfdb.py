"""``dayzero perfdb``: how fast is this operator on this system, and what is known of the rows that say so?"""

import cyclopts

APP = cyclopts.App(
    name="perfdb",
    help=(
        "How fast is this operator on this system? Rows that others measured, what they cover, what is wrong with them, "
        "and the tree without what was taken back."
    ),
)

APP.command("dayzero.cli.perfdb_import:import_rows", name="import")
APP.command("dayzero.cli.perfdb_collect:collect_rows", name="collect")
APP.command("dayzero.cli.perfdb_coverage:show_coverage", name="coverage")
APP.command("dayzero.cli.perfdb_lint:lint_rows", name="lint")
APP.command("dayzero.cli.perfdb_explain:explain_point", name="explain")
APP.command("dayzero.cli.perfdb_diff:diff_rows", name="diff")
APP.command("dayzero.cli.perfdb_rebase:rebase_rows", name="rebase")
APP.command("dayzero.cli.perfdb_page:page_rows", name="page")
APP.command("dayzero.cli.perfdb_retract:retract", name="retract")
APP.command("dayzero.cli.perfdb_retract:reinstate", name="reinstate")
APP.command("dayzero.cli.perfdb_retract:retractions", name="retractions")
APP.command("dayzero.cli.perfdb_export:export_rows", name="export")
