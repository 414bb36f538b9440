"""``dayzero catalog``: what is on offer?"""

import cyclopts

APP = cyclopts.App(
    name="catalog", help="What is on offer? Packages in all their versions, every number read from the evidence ledger."
)
APP.command("dayzero.cli.catalog_build:build_site", name="build")
APP.command("dayzero.cli.catalog_serve:serve_site", name="serve")
APP.command("dayzero.cli.catalog_verify:verify_built", name="verify")
APP.command("dayzero.cli.catalog_release:publish_version", name="publish")
APP.command("dayzero.cli.catalog_release:yank_version", name="yank")
