"""Kinds of logs that name their cause elsewhere than in their last exception: hand-made, one of each kind."""

import json

import pytest
from tests.triage.reading import read

from dayzero.triage.model import CauseNotInLog, NamedWall, Role, RootFound, Started

HEADER = "Traceback (most recent call last):"
FRAME = '  File "/opt/site-packages/vllm/a.py", line 3, in f'
SOURCE = "    go()"
DIRECT = "The above exception was the direct cause of the following exception:"


def found(*lines: str) -> RootFound:
    diagnosis = read("\n".join(lines).encode())
    assert isinstance(diagnosis, RootFound), diagnosis
    return diagnosis


def wall(*lines: str) -> str:
    named = found(*lines).wall
    return named.wall if isinstance(named, NamedWall) else ""


def raised(*errors: str, prefix: str = "") -> list[str]:
    lines: list[str] = []
    for error in errors:
        lines += ["", DIRECT, ""] if lines else []
        lines += [HEADER, FRAME, SOURCE, *error.split("\n")]
    return [f"{prefix}{line}" for line in lines]


@pytest.mark.parametrize("prefix", ["", "(EngineCore pid=7) ", "(Worker_TP0 pid=8) "])
@pytest.mark.parametrize(
    "diagnostic",
    [
        "/src/acme/main.c:6:10: fatal error: Python.h: No such file or directory",
        "/usr/bin/ld: cannot find -lacme: No such file or directory",
        'kernel.cu(12): error: identifier "__acme" is undefined',
    ],
)
def test_a_compilers_own_line_is_the_root_of_the_exception_that_sums_it_up(prefix: str, diagnostic: str):
    error = (
        "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/src/acme/main.c']' returned non-zero exit status 1."
    )
    answer = found(f"{prefix}{diagnostic}", *raised(error, prefix=prefix))
    assert (answer.root.line, answer.root.text) == (1, diagnostic)


def test_a_librarys_warning_is_read_behind_nested_prefixes_that_lost_their_escapes():
    said = "(EngineCore pid=7) [36m(RayWorkerWrapper pid=9, ip=10.0.0.2)[0m "
    warning = "node-1:9:12 [0] misc/ibvwrap.cc:94 NCCL WARN Call to ibv_create_qp failed with error No such device"
    answer = found(said + warning, *raised("RuntimeError: NCCL error: unhandled system error", prefix=said))
    assert answer.root.line == 1
    assert isinstance(answer.wall, NamedWall)
    assert answer.wall.wall == "collective"


def test_of_a_native_cascade_the_first_status_is_the_root():
    lines = [
        "/src/transport/acme.cpp:110: non-zero status: 22 modify_qp failed",
        "/src/transport/acme.cpp:300: non-zero status: 7 connect failed",
        "/src/init/nvshmem_init.cu:1001: non-zero status: 7 nvshmem setup connections failed",
    ]
    assert found(*lines).root.line == 1
    assert found(*lines, *raised("RuntimeError: NVSHMEM setup failed")).root.line == 1


@pytest.mark.parametrize(
    ("warning", "error", "named"),
    [
        (
            "Could not import acme_gemm: libcudart.so.13: cannot open shared object file: No such file or directory",
            "RuntimeError: AcmeGEMM is required for this model but is not available",
            "native-abi",
        ),
        (
            "acme_moe import failed; falling back. Error: No module named 'acme_moe'",
            "AssertionError: backend needs acme-moe",
            "dependency-or-pin",
        ),
    ],
)
def test_a_warning_that_says_why_something_did_not_load_is_the_root_of_what_asks_for_it(
    warning: str, error: str, named: str
):
    answer = found(f"[2026-03-11 17:58:00] WARNING loader.py:12: {warning}", *raised(error))
    assert answer.root.line == 1
    assert isinstance(answer.wall, NamedWall)
    assert answer.wall.wall == named


def test_a_warning_about_another_thing_is_no_root():
    warning = "[2026-03-11 17:58:00] WARNING loader.py:12: Could not import acme_gemm: No module named 'acme_gemm'"
    assert found(warning, *raised("RuntimeError: fused_norm is required but is not available")).root.line == 5


@pytest.mark.parametrize(
    ("inner", "category"),
    [
        (
            "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed",
            "TLS",
        ),
        ("OSError: Tunnel connection failed: 407 Proxy Authentication Required", "proxy"),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", "name"),
    ],
)
def test_of_a_chain_on_the_network_the_innermost_says_why(inner: str, category: str):
    chain = [
        inner,
        "urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='acme.example', port=443): Max retries exceeded with url: /x",
        "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache",
        "OSError: We couldn't connect to 'https://acme.example' to load the files",
    ]
    assert category
    assert (found(*raised(*chain)).root.text, wall(*raised(*chain))) == (inner, "hub-access")


GUESS = (
    "Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file."
    " There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer. (2) SIGSEGV."
)


@pytest.mark.parametrize(
    "lines",
    [
        [f"(raylet) A worker died or was killed while executing a task by an unexpected system error. {GUESS}"],
        raised(f"ray.exceptions.WorkerCrashedError: The worker died unexpectedly. {GUESS}"),
    ],
)
def test_a_runtime_that_lists_possible_causes_names_none(lines: list[str]):
    refused = read("\n".join(lines).encode())
    assert isinstance(refused, CauseNotInLog)
    assert any("cgroup" in what for what in refused.collect)


def test_a_refusal_names_no_wall_whose_line_it_does_not_take_for_the_cause():
    refused = read("\n".join(raised("ConnectionRefusedError: [Errno 111] Connection refused")).encode())
    assert isinstance(refused, CauseNotInLog)
    assert not isinstance(refused.wall, NamedWall)


@pytest.mark.parametrize(
    ("first", "named"),
    [
        ("There are not enough slots available in the system to satisfy the 8", "engine-args"),
        ("mpirun has detected an attempt to run as root.", "engine-args"),
        ("The launcher did something that no rule knows.", ""),
    ],
)
def test_the_first_sentence_of_a_launchers_box_is_the_root(first: str, named: str):
    box = ["-" * 70, first, "slots that were requested.", "-" * 70]
    assert (found(*box).root.line, wall(*box)) == (2, named)


def test_the_container_runtimes_refusal_is_a_root_without_an_engine():
    said = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver"
    line = f"docker: Error response from daemon: OCI runtime create failed: error running hook #0: exit status 1: {said}: unknown."
    assert wall(line) == "driver-or-no-gpu"


def test_the_runtimes_own_error_explains_the_assertion_that_python_quotes():
    first = "[TensorRT-LLM][ERROR] The engine plan file is not compatible, expecting library version 10.9 got 10.3"
    answer = found(
        first, *raised("RuntimeError: [TensorRT-LLM][ERROR] Assertion failed: Failed to deserialize cuda engine")
    )
    assert answer.root.line == 1


@pytest.mark.parametrize(
    ("error", "named"),
    [
        ("AssertionError: this kernel requires compute capability >= 9.0", "kernel-constraint"),
        ("AssertionError: this path requires acme-lib >= 9.0", "dependency-or-pin"),
        ("ray.exceptions.OutOfMemoryError: Memory on the node (IP: 10.0.0.2) where the task was running was 31.0GB / 32.0GB (0.97), which exceeds the memory usage threshold of 0.95.", "died-without-cause"),  # noqa: E501
        ("ImportError: /opt/lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /opt/a.so)", "native-abi"),
        ("OSError: /models/acme is not a local folder and is not a valid model identifier listed on the hub", "host-io"),
        ("ValidationError: 1 validation error for ModelConfig\n  Value error, The model type 'acme' does not support float16. [type=value_error]", "engine-args"),  # noqa: E501
        ("ValueError: LoRA rank 64 is greater than max_lora_rank 16.", "engine-args"),
        ("ValueError: GGUF model with architecture acmemoe is not supported yet.", "model-unrecognized"),
        ("acme.VocabError: error downloading or loading vocab file: failed to download or load vocab file", "hub-access"),
        ("RuntimeError: Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n    Python: 3.10.1", "dependency-or-pin"),
        ("AttributeError: AcmeTokenizer has no attribute all_special_tokens_extended", "api-skew"),
        ("ValueError: invalid literal for int() with base 10: 'GPU-fa1c'", "gpu-occupied-or-mismapped"),
        ("RuntimeError: The TPU is already in use by process with pid 7.", "gpu-occupied-or-mismapped"),
        ("RuntimeError: Initialize:sys_ctrl.cpp:217 NPU function error: aclrtSetDevice, error code is 507008\n[ERROR] failed\nTraceBack (most recent call last):", "driver-or-no-gpu"),  # noqa: E501
        ("AssertionError: Error in memory profiling. Initial free memory 10.0 GiB, current free memory 12.1 GiB.", "gpu-occupied-or-mismapped"),  # noqa: E501
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 106496, Hardware limit: 101376.", "kernel-constraint"),  # noqa: E501
        ("acme._bindings.nixlBackendError: NIXL_ERR_BACKEND", "collective"),
        ("OSError: [Errno 116] Stale file handle: '/models/acme/a.safetensors'", "host-io"),
        ("zmq.error.ZMQError: Address already in use (addr='tcp://127.0.0.1:5570')", "host-io"),
        ("torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use", "host-io"),  # noqa: E501
    ],
)  # fmt: skip
def test_an_exception_names_its_wall(error: str, named: str):
    assert wall(*raised(error)) == named


def test_a_flag_with_a_bad_value_is_told_from_a_flag_that_is_not_there():
    bad, gone = (
        found(f"acme serve: error: {said}").wall
        for said in ("argument --dtype: invalid choice: 'fp7'", "unrecognized arguments: --acme")
    )
    assert isinstance(bad, NamedWall)
    assert isinstance(gone, NamedWall)
    assert (bad.rule, gone.rule) == ("argument-value", "argparse")


def test_what_an_uncaught_native_exception_says_is_a_root_without_a_wall_of_its_own():
    lines = ["terminate called after throwing an instance of 'acme::error'", "  what():  row 3, column 7: no such word"]
    assert (found(*lines).root.line, wall(*lines)) == (2, "")


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (raised("KeyboardInterrupt"), "interrupted"),
        (["Normal  Killing  kubelet  Container acme failed startup probe, will be restarted"], "probe-failed"),
        (
            ["    Last State:  Terminated", "      Reason:    OOMKilled", "      Exit Code: 137"],
            "container-memory-limit",
        ),
    ],
)
def test_who_ended_a_start_is_said_where_a_line_says_it(lines: list[str], rule: str):
    refused = read("\n".join(lines).encode())
    assert isinstance(refused, CauseNotInLog)
    assert isinstance(refused.wall, NamedWall)
    assert refused.wall.rule == rule


def test_an_interrupt_while_an_error_was_handled_is_not_taken_for_the_cause():
    during = "During handling of the above exception, another exception occurred:"
    assert found(*raised("ValueError: no such thing"), "", during, "", *raised("KeyboardInterrupt")).root.line == 4


def test_a_compilers_line_explains_no_exception_that_built_nothing():
    lines = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
    assert found("kernel.cu(12): error: no such name", *lines).root.line == 5


def test_a_box_that_only_heads_a_list_is_no_root():
    box = [
        "=" * 60,
        "acme/server.py FAILED",
        "-" * 60,
        "Failures:",
        "-" * 60,
        "Root Cause (first observed failure):",
        "=" * 60,
    ]
    assert isinstance(read("\n".join(box).encode()), CauseNotInLog)


@pytest.mark.parametrize("tag", ["{}: ", "node-{}: ", "[node-{}] ", "[rank{}]: ", "[default{}]:"])
def test_ranks_behind_a_numbered_piece_are_told_apart(tag: str):
    lines = [tag.format(rank) + line for line in raised("ValueError: no such thing") for rank in range(4)]
    answer = found(*lines)
    assert (answer.root.line, answer.root.text, answer.same_as) == (13, "ValueError: no such thing", (14, 15, 16))


LOG = [
    "(EngineCore pid=7) INFO 09-13 10:19:41 [core.py:1] loading",
    *[f"(EngineCore pid=7) ERROR 09-13 10:19:41 [core.py:1] {line}" for line in raised("ValueError: no such thing")],
    "(APIServer pid=1) RuntimeError: Engine core initialization failed.",
]


@pytest.mark.parametrize(
    "carry",
    [
        lambda line, _: f"acme-0-x7 engine {line}",
        lambda line, _: f"2026-03-11T17:58:00.1Z 01E {line}",
        lambda line, number: f"{number % 2}: {line}",
        lambda line, number: f"[1,{number % 2}]<stderr>:{line}",
        lambda line, _: f"node-7: {line}",
        lambda line, _: f'2026-03-11T17:58:00Z {{app="acme",pod="acme-0"}} {line}',
        lambda line, _: json.dumps({"log": line, "kubernetes": {"pod_name": "acme-0"}}),
        lambda line, _: json.dumps({"message": line, "kubernetes": {"pod_name": "acme-0"}}),
        lambda line, _: json.dumps({"line": line, "time": "now"}),
    ],
    ids=["pod and container", "ci runner", "rank", "job and rank", "host", "log query", "log", "message", "line"],
)
def test_what_stands_before_every_line_is_transport(carry):
    bare, carried = found(*LOG), found(*(carry(line, 0) for line in LOG))
    assert (carried.root, carried.fingerprint, carried.frames) == (bare.root, bare.fingerprint, bare.frames)


def test_a_tracebacks_source_is_no_root_behind_a_prefix_that_nobody_knows():
    lines = [f"<acme {number}> {line}" for number, line in enumerate((HEADER, FRAME, "    raise AcmeError(", SOURCE))]
    assert isinstance(read("\n".join(lines).encode()), CauseNotInLog)


def test_a_value_as_long_as_a_set_of_tensors_is_clipped():
    names = ", ".join(f"'model.layers.{number}.weight'" for number in range(200))
    answer = found(*raised(f"ValueError: Following weights were not initialized from checkpoint: {{{names}}}"))
    assert all(len(one.value) < 300 for one in answer.numbers)


def test_an_editable_install_has_the_fingerprint_of_an_installed_one():
    lines = raised("ValueError: no")
    elsewhere = [line.replace("/opt/site-packages/vllm", "/home/acme/src/vllm/vllm") for line in lines]
    assert found(*lines).fingerprint == found(*elsewhere).fingerprint


# What clears away the rest after a failure: the words of each program, as its source has them.
CLEARED = [
    "[shutdown] Executor: workers still running after grace period; sending SIGTERM count=1",
    "[shutdown] Executor: workers still running after SIGTERM; sending SIGKILL count=1",
    "[shutdown] Process manager: force killing remaining processes count=1",
    "Weight cache daemon (pid=7) did not exit within 5s of SIGTERM; sending SIGKILL.",
    "kill_process_tree: 2 process(es) still alive after 60.0s SIGKILL; pids=[7, 8]",
    "Sending process 7 closing signal SIGTERM",
    "Closing process 7 via signal SIGTERM",
    "Unable to shutdown process 7 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL",
    "acme launcher: rank 3 ended with exit code 1, sending SIGKILL to remaining ranks",
    "acme launcher: sending SIGABRT to rank 3",
]
STATUS = "Worker 2 terminated by signal 9"


@pytest.mark.parametrize("sent", CLEARED)
@pytest.mark.parametrize("prefix", ["", "(EngineCore pid=7) WARNING 11-30 01:56:02 [a.py:451] "])
def test_who_clears_away_the_rest_is_never_the_cause(sent: str, prefix: str):
    refused = read(f"{prefix}{sent}\n{STATUS}\n".encode())
    assert isinstance(refused, CauseNotInLog)
    assert not isinstance(refused.wall, NamedWall)
    assert [one.line for one in refused.chain] == [1]


@pytest.mark.parametrize("sent", CLEARED)
@pytest.mark.parametrize(
    "error", [raised("ValueError: no such thing"), ["ERROR 11-30 01:55:53 [a.py:9] The acme did what no rule knows"]]
)
def test_an_error_before_the_rest_is_cleared_away_is_the_cause(sent: str, error: list[str]):
    answer = found(*error, sent, STATUS)
    assert answer.root.line == len(error)
    assert (len(error) + 1, Role.CONSEQUENCE) in {(one.line, one.role) for one in answer.chain}


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("systemd[1]: acme.service: start operation timed out. Terminating.", "supervisor-time-limit"),
        ("systemd[1]: acme.service: State 'stop-sigterm' timed out. Killing.", "supervisor-time-limit"),
        ("Container failed to exit within 10s of signal 15 - using the force", "supervisor-time-limit"),
        ("slurmstepd: error: *** STEP 7.0 ON node-1 CANCELLED AT 2026-11-30T01:56:02 DUE TO TIME LIMIT ***", "supervisor-time-limit"),  # noqa: E501
        ("systemd[1]: acme.service: Killing process 7 (vllm) with signal SIGKILL.", "killed"),
        ("Subprocess scheduler_0 (pid=7) crashed with exit code -9. Triggering SIGQUIT for cleanup...", "killed"),
        ("Worker 3 died, exit code -9; sending SIGTERM to the others", "killed"),
        (STATUS, "killed"),
    ],
)  # fmt: skip
def test_a_supervisors_decision_and_a_signal_from_elsewhere_may_be_the_cause(line: str, rule: str):
    refused = read(f"{line}\n".encode())
    assert isinstance(refused, CauseNotInLog)
    assert isinstance(refused.wall, NamedWall)
    assert refused.wall.rule == rule


def test_a_server_that_served_and_clears_away_its_workers_at_the_end_reports_no_failure():
    served = ["INFO 11-30 01:54:38 [a.py:3] vLLM API server version 0.26.0", "INFO:     Application startup complete."]
    answer = read("\n".join([*served, *CLEARED]).encode())
    assert isinstance(answer, Started)
    assert answer.later is None


def test_a_client_that_lost_the_store_is_fallout_and_a_server_that_could_not_listen_is_not():
    lost = raised("torch.distributed.DistNetworkError: failed to recv, got 0 bytes", prefix="(Worker pid=8) ")
    taken = raised(
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address."
        " port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
        prefix="(Worker pid=7) ",
    )
    answer = found(*lost, *taken)
    assert answer.root.line == len(lost) + len(taken)
    assert [(one.name, one.value) for one in answer.numbers] == [("port", "29500")]


def test_a_native_stack_that_a_warning_prints_names_no_cause():
    stack = ["frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x9d (0x7f in libc10.so)"]
    assert isinstance(read("\n".join(stack).encode()), CauseNotInLog)


def rule_of(*lines: str) -> str:
    named = found(*lines).wall
    return named.rule if isinstance(named, NamedWall) else ""


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        ("ValueError: Expected block_num % (128 / block_size) == 0, but got block_num=7", "kv-blocks-of-kernel"),
        (
            "ValueError: Model architectures ['AcmeForCausalLM'] failed to be inspected. Please check the logs.",
            "architecture",
        ),
        ("ValueError: Expected block_table to be contiguous", ""),
    ],
)
def test_the_walls_of_a_bring_up_are_told_apart_from_what_only_sounds_alike(error: str, rule: str):
    assert rule in rule_of(*raised(error)) if rule else rule_of(*raised(error)) != "kv-blocks-of-kernel"
