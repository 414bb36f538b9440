"""The command line's words: what may be asked, and which of it belongs together."""

import argparse
import os
import re
from pathlib import Path
from typing import NoReturn

from dayzero_verify import __version__
from dayzero_verify.anchor import DEFAULT_MAX_AGE_DAYS, Policy
from dayzero_verify.report import CHECKS, ExitCode

_EPILOG = """exit codes, one meaning each:
   0  verified: every check that was made passed
   2  the command line cannot be used
   3  undecided: an input cannot be read, or a check named in --require was not made
  10  no valid signature by a key that may sign this, the trust document does not follow from the root, or a key is unsound
  11  the key is revoked, expired, or no release key any more
  12  bytes differ from the signed ones
  13  a file or a receipt is extra or missing
  14  the archive is unsafe, too large or not canonical
  15  wrong or malformed statement, a statement about another kit, or a kit that is not released
  16  downgrade: older than a version seen before, or than the oldest that is still good
  17  retracted or withdrawn
  18  stale: the trust document is old or older than one seen before, the clock was set back, or the log shows a split view
  19  a model file differs from the pinned one
  20  the model files are incomplete
  21  a deploy file differs from the launch, or a running server does
  22  a measured value does not come out of its raw file
  30  the verifier itself failed
Checks that were not made are printed with their reason. A copy of this program that came with the kit proves nothing:
take it, and the key or the root's fingerprint, from somewhere else. Without --live, nothing connects to anything."""

_KEY = re.compile(r"[!-~]+")
_FINGERPRINT = re.compile(r"[0-9a-fA-F]{64}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(ExitCode.USAGE, f"error: {message}\nhint: see {self.prog} --help\n")


def parse(program: str, argv: list[str]) -> argparse.Namespace:
    """Read a command line; one that cannot be used ends in ``SystemExit`` with code 2.

    Args:
        program: The name to print in usage messages.
        argv: The words after it.
    """
    parser = _parser(program)
    options = parser.parse_args(argv)
    fault = _fault(options)
    if fault:
        parser.error(fault)
    options.max_trust_age = DEFAULT_MAX_AGE_DAYS if options.max_trust_age is None else options.max_trust_age
    options.policy = Policy(options.policy or Policy.NOW.value)
    options.root = options.root.lower()
    return options


def _fault(options: argparse.Namespace) -> str:
    """Say what does not belong together, ``""`` where all does."""
    trust, weights = options.trust is not None, options.weights is not None
    trusting = options.root or options.policy or options.online_expiry or options.max_trust_age is not None
    hashing = options.resume or options.fresh or options.threads
    rules = (
        (bool(options.key) == trust, "give either --key or --trust: what do you trust?"),
        (trusting and not trust, "--root, --policy, --max-trust-age and --online-expiry need --trust"),
        (trust and not options.root, "--trust needs --root: without it the document vouches for itself"),
        (trust and not _FINGERPRINT.fullmatch(options.root), "--root is a SHA-256, 64 hexadecimal digits"),
        (weights != (options.model is not None) and not options.explain, "--weights and --model go together"),
        (weights and options.model is None, "--weights needs --model"),
        (hashing and not weights, "--resume, --fresh and --threads need --weights"),
        (options.exec is not None and not weights, "--exec needs --weights: what it runs is to use checked files"),
        (options.exec == [], "--exec needs a program"),
        (options.api_key_env is not None and not options.live, "--api-key-env needs --live"),
        (
            options.api_key_env is not None and not _KEY.fullmatch(os.environ.get(options.api_key_env, "")),
            f"the environment variable {options.api_key_env!a} holds no API key: printable ASCII without blanks",
        ),
    )
    return next((fault for broken, fault in rules if broken), "")


def _days(word: str) -> int:
    days = int(word.removesuffix("d")) if re.fullmatch(r"[0-9]{1,5}d?", word, re.ASCII) else -1
    if days < 0:
        raise argparse.ArgumentTypeError(f"not a number of days: {word!a}")
    return days


def _threads(word: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", word, re.ASCII):
        raise argparse.ArgumentTypeError(f"not a number of threads: {word!a}")
    return int(word)


def _parser(program: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program,
        description="Check a dayzero kit: its signature, its archive and every byte in it. Nothing in the kit is run.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    # Everything stands in a group: on a parser itself, each argument sets up the writer of the help to try its name.
    group = parser.add_argument_group("what is checked")
    group.add_argument("kit", metavar="KIT.zip", type=Path, help="the kit")
    _add_trust(parser.add_argument_group("what you trust, from somewhere else than the kit; one of --key and --trust"))
    _add_places(parser.add_argument_group("what lies beside the kit"))
    _add_further(parser.add_argument_group("further checks"))
    _add_answers(parser.add_argument_group("the answer"))
    return parser


def _add_trust(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--key",
        metavar="KEY.pub.pem",
        type=Path,
        action="append",
        default=[],
        help="a public key; may be repeated, one valid signature is enough",
    )
    group.add_argument("--trust", metavar="trust.json", type=Path, help="a trust document, which follows from --root")
    group.add_argument("--root", metavar="SHA256", default="", help="the fingerprint of a root in the trust document")
    group.add_argument(
        "--policy",
        choices=[policy.value for policy in Policy],
        help="what a key's signature is worth that was revoked since: nothing (now, the default), or as much as when the log "
        "recorded it (at-signing)",
    )
    group.add_argument(
        "--max-trust-age",
        metavar="DAYS",
        type=_days,
        help=f"from which age on a trust document is stale; default: {DEFAULT_MAX_AGE_DAYS}",
    )
    group.add_argument(
        "--online-expiry",
        action="store_true",
        help="refuse a trust document whose snapshot or timestamp has expired, not only its lasting parts",
    )


def _add_places(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--attestation",
        metavar="FILE",
        type=Path,
        help="the signed statements; default: KIT with .intoto.jsonl for .zip",
    )
    group.add_argument(
        "--proof",
        metavar="FILE",
        type=Path,
        help="the log's proof; default: KIT with .tlog-proof for .zip, if it is there",
    )
    group.add_argument("--log", metavar="DIR", type=Path, help="a copy of the log, to compare its heads")
    group.add_argument(
        "--state",
        metavar="FILE",
        type=Path,
        help="remember here what was verified, so that nothing older is accepted later; written only when verified",
    )


def _add_further(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--weights",
        choices=["quick", "full"],
        help="check the model files: sizes and headers, or every byte; needs --model",
    )
    group.add_argument("--model", metavar="DIR", type=Path, help="the folder of the model files")
    group.add_argument("--resume", metavar="FILE", type=Path, help="remember here which model files were hashed")
    group.add_argument("--fresh", action="store_true", help="hash every model file anew, whatever --resume remembers")
    group.add_argument(
        "--threads", metavar="N", type=_threads, default=0, help="model files hashed at once; default: one a core"
    )
    group.add_argument(
        "--live", metavar="URL", help="ask a running server whether it serves this; the one thing that connects"
    )
    group.add_argument(
        "--api-key-env", metavar="NAME", help="environment variable that holds the API key of that server"
    )
    group.add_argument(
        "--require",
        metavar="CHECK",
        action="append",
        default=[],
        choices=CHECKS,
        help=f"fail where this check was not made; may be repeated; one of {', '.join(CHECKS)}",
    )


def _add_answers(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--json", action="store_true", help="print the report as JSON")
    group.add_argument(
        "--explain",
        metavar="DIR",
        type=Path,
        help="write the signed bytes here, and print how to check them without this program",
    )
    group.add_argument(
        "--emit-svr", metavar="FILE", type=Path, help="write what was checked as an in-toto statement, unsigned"
    )
    group.add_argument(
        "--exec",
        metavar="WORD",
        nargs=argparse.REMAINDER,
        help="once verified, run this in place of this program; has to come last, and the report goes to standard error",
    )
    group.add_argument("-h", "--help", action="help", help="print this")
    group.add_argument("--version", action="version", version=f"%(prog)s {__version__}", help="print the version")
