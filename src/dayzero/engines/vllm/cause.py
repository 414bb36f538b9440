"""Which line of vLLM's log names a cause, and which only reports that something else failed."""

import re

# What stands before the message: colours, then any of: a journal's or supervisor's stamp, a process, a level, a source position.
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(
    r"""^(?:.*?\([A-Za-z]\w*(?:_\w+)*[ ]pid=\d+\)\s*)*       # (EngineCore_DP0 pid=123), with what a journal puts before it
        (?:.*?(?:ERROR|CRITICAL|WARNING)\s[\d-]+\s[\d:]+\s\[?[\w.]+:\d+\]\s?)?   # ERROR 01-31 12:00:00 [core.py:700]
    """,
    re.VERBOSE,
)

# An exception with a message, a pydantic error's detail, argparse's verdict, a compiler's or a CUDA check's last words.
_CAUSE = re.compile(
    r"""^(?: [A-Za-z_][\w.]*(?:Error|Exception|NotFound|Exit)(?::\s+\S.*)
          |  \s*Value\serror,\s
          |  \s*Input\sshould\sbe\s
          |  vllm(?:\s\w+)?:\serror:\s
          |  ptxas\sfatal
          |  Failed:\s(?:Cuda|NCCL)\serror
          |  .*\sNCCL\sWARN\s
          |  .*Error\sparsing\sconfig\sfor\s
          |  .*ERROR:?\s.*Errno\s
       )""",
    re.VERBOSE,
)

# Reports of a failure whose cause stands elsewhere.
_FALL = re.compile(
    r"""Engine\score\sinitialization\sfailed
      | EngineCore\s(?:failed|encountered|died)
      | Engine\sprocess\sfailed\sto\sstart
      | WorkerProc\s(?:initialization\s)?failed
      | Worker\sfailed\swith\serror
      | died\sunexpectedly
      | due\sto\sa\sprevious\serror
      | unhandled\ssystem\serror
      | validation\serrors?\sfor\s
      | EngineDeadError
      | (?:Exception|RuntimeError):\scancelled
      | CancelledError | SystemExit | KeyboardInterrupt | BrokenPipeError | EOFError
    """,
    re.VERBOSE,
)


def looks_like_cause(line: str) -> bool:
    """Say whether a line names a cause; the last such line of a log is shown for a start that failed."""
    message = _PREFIX.sub("", _COLOUR.sub("", line.rstrip()), count=1)
    return bool(_CAUSE.match(message)) and not _FALL.search(message)
