"""Print what the catalog costs: building it as files, the search index, and how fast a live server answers.

    python -m bench.catalog [--build 100,1000] [--live 100,1000,10000] [--asked 500]
                            [--work FOLDER] [--peers FOLDER]

Packages are generated (bench/generated_packages.py): five models, six systems, three engine builds; each has its definition and its
model's configuration, is published once, and has eight claims on three raw files. A build is the command, whole, on one core,
from nothing in memory; its peak is that of its processes together. Beside it other generators build as many pages with the same
words: they read no ledger, hash no file and size no model, and their pages have no menu of all pages. They live in environments
of their own (bench/catalog_peers.sh); one that is missing says so in its row.

The live server is ``dayzero catalog serve`` in its own process, asked over one kept connection and over four (catalog_live.py). It
is started twice, with an index that is empty and with the one that the first start left; a start ends with the first answer.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.catalog_live import dayzero, generated, inputs, live
from bench.catalog_pages import peers, version
from bench.measured import Cost, run

BUILDS, LIVE, ASKED = (100, 1000), (100, 1000, 10_000), 500
PAGES_PER_S = 200
_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class Built:
    """One build of a site."""

    what: str
    packages: int
    pages: int
    files: int
    cost: Cost


def build(what: str, packages: int, words: Sequence[str], output: Path, work: Path) -> Built:
    """Build a site once, and count what came out."""
    cost = run(words, core=0, timeout_s=1800, log=work / "build.log", environment={})
    if cost.exit_code:
        raise SystemExit(f"{what} ended with {cost.exit_code}:\n{(work / 'build.log').read_text()[-2000:]}")
    files = [path for path in output.rglob("*") if path.is_file()]
    return Built(what, packages, sum(path.suffix == ".html" for path in files), len(files), cost)


def builds(work: Path, counts: Sequence[int], installed: Path) -> None:
    """Print the table of builds; the peers take the words of the smallest site."""
    print("building the site as files, on one core")
    print(
        f"{'':<16} {'packages':>8} {'pages':>8} {'files':>8} {'wall s':>8} {'CPU s':>8} {'pages/s':>8} {'pages/CPU s':>12} "
        f"{'peak MiB':>9}"
    )
    for count in counts:
        folder = generated(work, count)
        site = folder / "site"
        _print(build("dayzero", count, dayzero("build", "-o", str(site), *inputs(folder)), site, work))
        if count == counts[0]:
            shutil.rmtree(work / "peers", ignore_errors=True)
            for name, peer in peers(site, work / "peers", installed).items():
                if peer is None:
                    print(f"{name:<16} is not installed (bench/catalog_peers.sh)")
                else:
                    _print(build(f"{name} {version(installed, name)}", count, peer.words, peer.output, work))
        shutil.rmtree(site)


def _print(built: Built) -> None:
    rate, cost = built.pages / built.cost.wall_s, built.cost
    print(
        f"{built.what:<16} {built.packages:8,} {built.pages:8,} {built.files:8,} {cost.wall_s:8.1f} {cost.cpu_s:8.1f} {rate:8.0f} "
        f"{built.pages / cost.cpu_s:12.0f} {cost.peak_rss_bytes / _MIB:9.0f}",
        flush=True,
    )
    if built.what == "dayzero":
        print(
            f"  pages a second: {rate:.0f}, goal at least {PAGES_PER_S}: {'kept' if rate >= PAGES_PER_S else 'MISSED'}"
        )


def main() -> None:
    """Run it; where no folder is given, in one that is deleted afterwards."""
    parser = argparse.ArgumentParser(description="What does the catalog cost?")
    cache = Path(
        os.environ.get("DAYZERO_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dayzero"
    )
    parser.add_argument(
        "--build", default=",".join(map(str, BUILDS)), help="build sites of so many packages; empty for none"
    )
    parser.add_argument(
        "--live", default=",".join(map(str, LIVE)), help="index so many packages, and ask at the last; empty for none"
    )
    parser.add_argument("--asked", type=int, default=ASKED, help="questions of each kind")
    parser.add_argument("--work", type=Path, help="work there, and keep the generated packages for another run")
    parser.add_argument("--peers", type=Path, default=cache / "catalog-peers")
    given = parser.parse_args()
    work = given.work or Path(tempfile.mkdtemp(prefix="dayzero-bench-"))
    work.mkdir(parents=True, exist_ok=True)
    try:
        if given.build:
            builds(work, [int(count) for count in given.build.split(",")], given.peers)
        if given.live:
            live(work, [int(count) for count in given.live.split(",")], given.asked)
    finally:
        if given.work is None:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
