"""How Text Generation Inference writes its log: Rust tracing lines of launcher, router and shards, plain or JSON.

Source: launcher/src/main.rs (text_generation_launcher), 1.0 to 3.x.
"""

import re

from dayzero.triage.dialect import LogDialect, Mark, Saying
from dayzero.triage.model import Role

DIALECT = LogDialect(
    name="tgi",
    signature=re.compile(r"text_generation_(?:launcher|server|router)|ShardCannotStart"),
    record_prefixes=(
        re.compile(
            r" *+(?:\d{4}-\d\d-\d\dT[\d:.]+Z)?+ *+(?P<level>TRACE|DEBUG|INFO|WARN|ERROR) +"
            r"(?:(?P<process>[a-z][\w-]*)(?:\{[^}]*\})?: )?"
            r"(?P<source>text_generation_\w+(?:::\w+)*): "
        ),
    ),
    process_roles=(Saying(re.compile(r"shard-manager|download"), Role.WORKER),),
    frame_roles=(Saying(re.compile(r"text_generation_server/"), Role.WORKER),),
    reports=(
        Saying(
            re.compile(r"Error: (?:ShardCannotStart|WebserverFailed|WebserverCannotStart|ShardFailed|DownloadError)"),
            Role.LAUNCHER,
        ),
        Saying(
            re.compile(
                r"^Shard \d+ (?:failed to start|crashed)|Shutting down shards|Shard complete standard error output"
            ),
            Role.LAUNCHER,
        ),
        Saying(re.compile(r"^Webserver Crashed|Shard terminated"), Role.LAUNCHER),
    ),
    noise=(re.compile(r"^\s*Args \{"),),
    began=(re.compile(r"^Args \{"),),
    started=(re.compile(r"^Connected$|Invalid hostname, defaulting to 0\.0\.0\.0"),),
    stages=(
        Mark(re.compile(r"Starting check and download process"), "download"),
        Mark(re.compile(r"Successfully downloaded weights"), "weights downloaded"),
        Mark(re.compile(r"Starting shard"), "starting shards"),
        Mark(re.compile(r"Shard ready"), "shards ready"),
    ),
    versions=(re.compile(r"text-generation-(?:launcher|inference)[ :v]+(?P<version>\d+\.\d+[\w.]*)"),),
    exits=(
        re.compile(r"signaled to shutdown with signal (?P<status>\d+)"),
        re.compile(r"Shard process exited with (?:status )?code (?P<status>-?\d+)"),
    ),
)
