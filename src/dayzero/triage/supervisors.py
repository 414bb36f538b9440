"""How supervisors write that a process ended, or that they end it: systemd, compose, container runtimes, launchers, wrappers.

Always read, whatever the engine. Source of the words on what a program ends itself: vllm/v1/executor/multiproc_executor.py
(_ensure_worker_termination, 0.24 to 0.33), sglang/srt/utils/common.py and entrypoints/engine.py (0.5.23),
torch/distributed/elastic/multiprocessing/api.py (_close).
"""

import re

from dayzero.triage.dialect import LogDialect, Saying
from dayzero.triage.model import Role

_SIGNAL = r"(?:SIG)?(?:KILL|TERM|INT|QUIT|ABRT|HUP)\b"
# A program that clears away what is left says nothing of why. One that gives its reason (memory, a limit, a signal that came
# before) is not meant, nor is systemd ("Killing process 7 (vllm) with signal SIGKILL."): its decision may be the cause.
_NO_REASON = (
    r"(?!.*(?:[Mm]emory|OOM|[Tt]ime limit|[Pp]robe|[Ee]xit ?(?:code|status)[:= ]*(?:-\d|1[34]\d)"
    r"|\bnot (?:start|come up|(?:become |be )?(?:ready|healthy))))"
)
_CLEARS_AWAY = (
    rf"\b(?:sending|Sending|sent|Sent) (?:a |the )?(?:signal )?{_SIGNAL}|{_SIGNAL} sent to"
    r"|ending process \S+ closing signal|losing process \S+ via signal|forcefully exiting via|kill_process_tree"
    r"|illing subprocess \d|illing (?:(?:all|the|its|any|other|remaining|left-?over|child|process) )+"
    r"(?:tree|group|children|process(?:es)?|workers?|ranks?)\b"
)

SUPERVISORS = LogDialect(
    name="supervisors",
    reports=(
        Saying(re.compile(rf"^{_NO_REASON}.*(?:{_CLEARS_AWAY})"), Role.CONSEQUENCE),
        Saying(re.compile(r"[Mm]ain process exited, code="), Role.SUPERVISOR),
        Saying(re.compile(r"^\S+ exited with code \d+(?: \(restarting\))?$"), Role.SUPERVISOR),
        Saying(
            re.compile(r"process has terminated with exit code|process exited with (?:exit )?(?:code|status)"),
            Role.SUPERVISOR,
        ),
        Saying(
            re.compile(r"Back-off restarting failed container|CrashLoopBackOff|Failed with result '"), Role.SUPERVISOR
        ),
        Saying(
            re.compile(r"exit status \d+\s*$|Process completed with exit code \d+|container exited with code"),
            Role.SUPERVISOR,
        ),
        Saying(
            re.compile(
                r"^(?:Killed|Aborted|Segmentation fault|Bus error|Illegal instruction|Terminated)\b(?: \(core dumped\))?$"
            ),
            Role.SUPERVISOR,
        ),
    ),
    exits=(
        re.compile(r"(?P<process>\S+?): [Mm]ain process exited, code=\w+, status=(?P<status>\S+)"),
        re.compile(r"^(?P<process>\S+) exited with code (?P<status>\d+)"),
        re.compile(r"(?P<process>\S+) process has terminated with exit code: (?P<status>-?\d+)"),
        re.compile(r"Process completed with exit code (?P<status>\d+)"),
    ),
)
