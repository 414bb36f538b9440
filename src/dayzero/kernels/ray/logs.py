"""How Ray writes: ``(Actor pid=7106, ip=10.0.0.5) text [repeated 3x across cluster]``; remote tracebacks below a ``RayTaskError``.

Source: ray/_private/worker.py (print_worker_logs), ray/exceptions.py, 2.9 to 2.50.
"""

import re

from dayzero.triage.dialect import LogDialect, Saying
from dayzero.triage.model import Role

DIALECT = LogDialect(
    name="ray",
    process_prefixes=(
        re.compile(r"\((?P<name>[A-Za-z_][\w.:<>-]*) pid=(?P<pid>\d+)(?:, ip=[\w.:]+)?\) ?"),
        re.compile(r"\((?P<name>raylet|gcs_server|autoscaler)(?: \+[\w.]+)?(?:, ip=[\w.:]+)?\) ?"),
        re.compile(r"\(pid=(?P<pid>\d+)(?:, ip=[\w.:]+)?\) ?"),
    ),
    record_prefixes=(
        re.compile(
            r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\s+(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<source>[\w.]+:\d+) -- "
        ),
    ),
    suffixes=(re.compile(r"\[repeated \d+x across cluster\].*$"),),
    process_roles=(Saying(re.compile(r"Ray\w*Worker|ServeReplica|\w*Actor\b"), Role.WORKER),),
    reports=(
        Saying(re.compile(r"RayTaskError\(|Unhandled error \(suppress with"), Role.RAY),
        Saying(re.compile(r"RayActorError|ActorDiedError|ActorUnschedulableError: The actor died"), Role.RAY),
        Saying(re.compile(r"A worker died or was killed while executing a task"), Role.RAY),
    ),
    noise=(re.compile(r"Started a local Ray instance|RAY_DEDUP_LOGS"),),
)
