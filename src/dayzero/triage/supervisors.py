"""How supervisors write that a process ended: systemd, compose, container runtimes, wrappers. Always read, whatever the engine."""

import re

from dayzero.triage.dialect import LogDialect, Saying
from dayzero.triage.model import Role

SUPERVISORS = LogDialect(
    name="supervisors",
    reports=(
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
