"""Each wall by its words: hand-made records, none of them a whole log."""

import pytest
from tests.triage.reading import read

from dayzero.triage.model import CauseNotInLog, NamedWall, RootFound, Started

HEADER = "Traceback (most recent call last):"
DEAD = (
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
)
FELL = "EngineCore failed to start."
CPU = "RuntimeError: [enforce fail at alloc_cpu.cpp:128] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes. Error code 12 (Cannot allocate memory)"  # noqa: E501
OOM = "out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.29 GiB is free."
NPU = "RuntimeError: NPU out of memory. Tried to allocate 22.00 MiB (NPU 6; 60.97 GiB total capacity; 10.24 GiB already allocated; 19.79 MiB free)"  # noqa: E501


def told(*lines: str, level: str = "ERROR", pid: int = 2, process: str = "EngineCore") -> list[str]:
    return [f"({process} pid={pid}) {level} 09-13 10:19:41 [core.py:1] {line}" for line in lines]


def raised(error: str, *frames: str, pid: int = 2, process: str = "EngineCore") -> list[str]:
    places = frames or ("vllm/v1/engine/core.py:run",)
    at = [
        f'  File "/opt/site-packages/{path}", line 3, in {name}'
        for path, name in (place.rsplit(":", 1) for place in places)
    ]
    return told(FELL, HEADER, *at, *error.split("\n"), pid=pid, process=process)


def wall_of(*lines: str) -> str:
    found = read("\n".join(lines).encode())
    assert not isinstance(found, Started)
    return found.wall.wall if isinstance(found.wall, NamedWall) else ""


def root_of(*lines: str) -> str:
    found = read("\n".join(lines).encode())
    assert isinstance(found, RootFound), found
    return found.root.text


LOADER = "vllm/model_executor/model_loader/base.py:load_weights"
CREATE = "vllm/model_executor/layers/linear.py:create_weights"
CACHE = "vllm/v1/worker/gpu_model_runner.py:initialize_kv_cache"
CAPTURE = "vllm/v1/worker/gpu_model_runner.py:capture_model"
RAISED = (
    ("model-unrecognized", "ValueError: Model architectures ['KimiForCausalLM'] are not supported for now."),
    ("model-unrecognized", "ValueError: The checkpoint has model type `acme` but Transformers does not recognize this architecture."),  # noqa: E501
    ("model-unrecognized", "ValueError: The repository acme contains custom code which must be executed to load the model."),
    ("model-unrecognized", "AttributeError: property 'rope' of 'AcmeConfig' object has no setter"),
    ("model-unrecognized", "ValidationError: 1 validation error for ModelConfig\n  Value error, rope_scaling should have a 'rope_type' key [type=value_error]"),  # noqa: E501
    ("model-unrecognized", "huggingface_hub.errors.StrictDataclassClassValidationError: Class validation error for validator 'validate_architecture':\n    ValueError: The hidden size (100) is not a multiple of the number of attention heads (7)."),  # noqa: E501
    ("model-files-broken", "SafetensorError: Error while deserializing header: header too large"),
    ("model-files-broken", "SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered"),
    ("model-files-broken", "RuntimeError: Weight files referenced in index but missing: {'model-00002.safetensors'}"),
    ("model-files-broken", "Exception: data did not match any variant of untagged enum ModelWrapper at line 1 column 2"),
    ("model-files-broken", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
    ("weights-layout-mismatch", "ValueError: There is no module or parameter named 'mtp' in AcmeForCausalLM"),
    ("weights-layout-mismatch", "RuntimeError: start (0) + length (256) exceeds dimension size (128)."),
    ("kernel-constraint", "ValueError: Marlin does not support weight_bits = uint3. Only types = [] are supported"),
    ("kernel-constraint", "ValueError: Weight output_size_per_partition = 96 is not divisible by min_thread_n = 64."),
    ("kernel-constraint", "RuntimeError: Error in function 'f': numTokensPerPage <= 128, got 544"),
    ("kernel-constraint", "ValueError: Unknown quantization method: acme4. Must be one of []"),
    ("kernel-constraint", "ValueError: Selected backend X is not valid for this configuration. Reason: ['head_size']"),
    ("api-skew", "TypeError: plan() got an unexpected keyword argument 'enable_dcp'"),
    ("api-skew", "TypeError: plan() missing 2 required positional arguments: 'a' and 'b'"),
    ("api-skew", "AttributeError: module 'acme' has no attribute 'plan'"),
    ("api-skew", "ImportError: cannot import name 'Plan' from 'acme' (/opt/acme/__init__.py)"),
    ("dependency-or-pin", "ModuleNotFoundError: No module named 'acme'"),
    ("dependency-or-pin", "ModuleNotFoundError: import of torchaudio halted; None in sys.modules"),
    ("dependency-or-pin", "ImportError: This modeling file requires the following packages that were not found in your environment: acme. Run `pip install acme`"),  # noqa: E501
    ("dependency-or-pin", "ImportError: tokenizers>=0.22,<0.23 is required for a normal functioning of this module, but found tokenizers==0.21."),  # noqa: E501
    ("dependency-or-pin", "importlib.metadata.PackageNotFoundError: No package metadata was found for acme"),
    ("dependency-or-pin", "RuntimeError: DeepGEMM backend is not available or outdated."),
    ("dependency-or-pin", "ValueError: Failed to import Ray: No such thing. Please install Ray with `pip install ray`."),
    ("dependency-or-pin", "Exception: flashinfer_python is installed with version 0.6.3, which is less than the minimum required version 0.6.4."),  # noqa: E501
    ("dependency-or-pin", "ImportError: this model requires acme-kernels >= 0.6.9 (found 0.6.1). Upgrade with pip."),
    ("native-abi", "ImportError: /opt/_C.abi3.so: undefined symbol: _ZN3c105ErrorC2E"),
    ("native-abi", "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"),
    ("native-abi", "ImportError: /lib/libc.so.6: version `GLIBC_2.32' not found (required by /opt/_C.abi3.so)"),
    ("native-abi", "RuntimeError: operator torchvision::nms does not exist"),
    ("native-abi", "AttributeError: '_OpNamespace' '_moe_C' object has no attribute 'topk_softmax'"),
    ("gpu-arch", "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
    ("gpu-arch", "triton.errors.PTXASError: PTXAS error\n`ptxas` stderr:\nptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"),  # noqa: E501
    ("gpu-arch", "RuntimeError: Ninja build failed. Ninja output:\nnvcc fatal   : Unsupported gpu architecture 'compute_121a'\nninja: build stopped"),  # noqa: E501
    ("driver-or-no-gpu", "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination"),  # noqa: E501
    ("driver-or-no-gpu", "RuntimeError: CUDA initialization: Error 804: forward compatibility was attempted on non supported HW"),
    ("driver-or-no-gpu", "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."),
    ("driver-or-no-gpu", "RuntimeError: Failed to infer device type, please set the environment variable"),
    ("driver-or-no-gpu", "ValueError: Current node has no GPU available. current_node_resource={}"),
    ("driver-or-no-gpu", "RuntimeError: No HIP GPUs are available"),
    ("toolchain-missing", "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist"),
    ("toolchain-missing", "FileNotFoundError: [Errno 2] No such file or directory: 'ninja'"),
    ("toolchain-missing", "RuntimeError: Failed to find C compiler. Please specify via CC environment variable"),
    ("toolchain-missing", "InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx"),
    ("toolchain-missing", "RuntimeError: Ninja build failed. Ninja output:\nFAILED: a.o\nnvcc fatal   : Unknown option '-static-global-template-stub=false'\nninja: build stopped: subcommand failed."),  # noqa: E501
    ("toolchain-missing", 'RuntimeError: Assertion error (jit/compiler.hpp:187): major > 12 and "NVCC version should be >= 12.3"'),
    ("toolchain-missing", "RuntimeError: Error building extension 'acme'\n/opt/a.cu(12): error: identifier \"f\" is undefined\nninja: build stopped"),  # noqa: E501
    ("kv-capacity", "ValueError: To serve (4.54 GiB KV cache is needed, which is larger than the available KV cache memory (1.20 GiB)"),  # noqa: E501
    ("gpu-occupied-or-mismapped", "ValueError: Free memory on device (10.00/79.10 GiB) on startup is less than desired GPU memory utilization (0.9, 71.19 GiB)."),  # noqa: E501
    ("collective", "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"),
    ("collective", "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error"),
    ("shared-memory", "RuntimeError: Insufficient space in /dev/shm: 16.0 MiB required, 4.0 MiB free"),
    ("graph-capture", "torch.AcceleratorError: CUDA error: operation not permitted when stream is capturing"),
    ("engine-args", "KeyError: 'invalid tool call parser: acme (chose from { hermes })'"),
    ("engine-args", "ValueError: User-specified max_model_len (9999) is greater than the derived max_model_len (max_position_embeddings=128)"),  # noqa: E501
    ("engine-args", "ValueError: Total number of attention heads (12) must be divisible by tensor parallel size (8)."),
    ("engine-args", "AssertionError: `num_heads` must be divisible by `num_shards` (got `num_heads`: 14 and `num_shards`: 4)"),
    ("engine-args", "RuntimeError: Assertion failed: MPI worldSize is expected to be equal to tp*pp"),
    ("engine-args", "ValueError: Unsupported connector type: AcmeConnector"),
    ("host-io", "OSError: [Errno 98] Address already in use"),
    ("host-io", "OSError: [Errno 99] Cannot assign requested address"),
    ("host-io", "PermissionError: [Errno 13] Permission denied: '/models/a'"),
    ("host-io", "OSError: [Errno 28] No space left on device"),
    ("hub-access", "OSError: You are trying to access a gated repo.\n401 Client Error. Cannot access gated repo"),
    ("hub-access", "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file"),
    ("hub-access", "OSError: We couldn't connect to 'https://hub.example' to load this file"),
    ("hub-access", "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://hub.example: offline mode is enabled."),
)  # fmt: skip
FRAMED = (
    ("weights-layout-mismatch", "KeyError: 'layers.0.mlp.w2'", LOADER),
    ("weights-layout-mismatch", "AssertionError", LOADER),
    ("kernel-constraint", "AttributeError: 'int' object has no attribute 'isdigit'", "flashinfer/jit/core.py:arch"),
    *(
        (wall, error, frame)
        for wall, frame in (("weights-do-not-fit", CREATE), ("kv-capacity", CACHE), ("graph-capture", CAPTURE))
        for error in (
            f"torch.OutOfMemoryError: CUDA {OOM}",
            f"torch.OutOfMemoryError: HIP {OOM}",
            NPU,
            CPU,
            "MemoryError",
        )
    ),
)
BARE = (
    ("kv-capacity", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."),
    ("collective", "Failed: Cuda error /opt/csrc/custom_all_reduce.cuh:310 'invalid argument'"),
    ("engine-args", "vllm serve: error: unrecognized arguments: --acme"),
    ("native-abi", "python: symbol lookup error: /opt/a.so: undefined symbol: _ZN3c10"),
    ("model-unrecognized", "llama_model_load: error loading model: unknown model architecture: 'acme'"),
    ("weights-do-not-fit", "llama_model_load: error loading model: unable to allocate CUDA0 buffer"),
    ("shared-memory", "node:7:7 [0] transport.cc:12 NCCL WARN Error: failed to extend /dev/shm/nccl-x to 9 bytes, error: No space left on device"),  # noqa: E501
    ("kv-capacity", "[TRT-LLM] [E] The following component could not be created: KV cache"),
    ("engine-args", "[TensorRT-LLM][ERROR] Assertion failed: MPI size 1 != TP size 2 * PP size 1"),
    ("dependency-or-pin", "E1020 08:11:09.910920 231 model_lifecycle.cc:553] failed to load 'a' version 1: Invalid argument: unable to find backend library for backend 'onnxruntime'"),  # noqa: E501
)  # fmt: skip
ENDED = (
    ("Worker proc VllmWorker-1 died unexpectedly (exit code: {code})", {-9: "died-without-cause", -4: "died-without-cause", -6: "died-without-cause", -7: "shared-memory", -11: "died-without-cause"}),  # noqa: E501
    ("Failed core proc(s): {{'EngineCore': {code}}}", {-9: "died-without-cause", -4: "died-without-cause", -7: "shared-memory", -11: "died-without-cause"}),  # noqa: E501
    ("chat exited with code {code}", {137: "died-without-cause", 132: "died-without-cause", 135: "shared-memory", 139: "died-without-cause"}),  # noqa: E501
)  # fmt: skip


@pytest.mark.parametrize(("wall", "error"), RAISED, ids=[f"{wall}: {error[:50]}" for wall, error in RAISED])
def test_an_exception_is_known_by_its_words(wall: str, error: str):
    assert wall_of(*raised(error), DEAD) == wall


@pytest.mark.parametrize(("wall", "error", "frame"), FRAMED, ids=[f"{wall}: {error[:40]}" for wall, error, _ in FRAMED])
def test_an_exception_is_known_by_where_it_was_raised(wall: str, error: str, frame: str):
    assert wall_of(*raised(error, "vllm/v1/engine/core.py:run", frame), DEAD) == wall


@pytest.mark.parametrize(("wall", "line"), BARE, ids=[f"{wall}: {line[:40]}" for wall, line in BARE])
def test_a_bare_line_is_known_by_its_words(wall: str, line: str):
    assert wall_of("before", line, "after") == wall


@pytest.mark.parametrize(
    ("line", "wall"), [(words.format(code=code), wall) for words, codes in ENDED for code, wall in codes.items()]
)
def test_a_process_that_a_signal_ended_is_known_by_its_number(line: str, wall: str):
    assert wall_of(*told("loading"), line) == wall


def test_a_signal_that_anybody_may_send_is_no_cause():
    assert isinstance(
        read(told("Worker proc VllmWorker-1 died unexpectedly (exit code: -9)")[0].encode()), CauseNotInLog
    )


@pytest.mark.parametrize(
    "why",
    [
        "/opt/_C.so: file too short",
        "libacme.so.1: cannot open shared object file",
        "/opt/_C.so: invalid ELF header",
        "/opt/_C.so: cannot enable executable stack as shared object requires",
        "something new",
    ],
)
@pytest.mark.parametrize("prefix", ["", "(EngineCore pid=2) WARNING 09-13 10:19:41 [custom_ops.py:20] "])
def test_a_library_that_did_not_load_explains_the_operator_that_is_missing(prefix: str, why: str):
    lines = (
        f"{prefix}Failed to import from acme._C: ImportError('{why}')",
        *raised("AttributeError: '_OpNamespace' '_C' object has no attribute 'rms'"),
        DEAD,
    )
    assert root_of(*lines).startswith("Failed to import from acme._C")
    assert wall_of(*lines) == "native-abi"


def test_what_native_code_said_is_the_root_and_its_words_name_the_wall():
    died = ("terminate called after throwing an instance of 'std::runtime_error'", "  what():  {}", DEAD)
    assert (
        root_of(*(line.format("device table of another version") for line in died))
        == "what():  device table of another version"
    )
    assert wall_of(*(line.format("MPI size 1 != TP size 2 * PP size 1") for line in died)) == "engine-args"
    assert wall_of(*(line.format("std::bad_alloc") for line in died)) == "weights-do-not-fit"
    assert wall_of(died[0], DEAD) == "died-without-cause"


def test_what_native_code_said_before_a_worker_fell_is_the_root():
    died = (
        "terminate called after throwing an instance of 'acme::Error'",
        "  what():  device table of another version",
    )
    assert (
        root_of(*died, *raised("ValueError: no", process="Worker_TP0"), DEAD)
        == "what():  device table of another version"
    )


@pytest.mark.parametrize(
    "line",
    [
        "nvcc fatal   : Unknown option '-compress-mode=size'",
        '/opt/a.cu(12): error: identifier "f" is undefined',
        "/opt/a.cpp:3:10: fatal error: acme.h: No such file or directory",
        "/usr/bin/ld: cannot find -lacme: No such file or directory",
    ],
)
def test_a_compilers_error_inside_a_message_is_the_root(line: str):
    error = f"RuntimeError: Error building extension 'acme'\n[1/2] nvcc -c a.cu\n{line}\nninja: build stopped: subcommand failed."
    assert root_of(*raised(error), DEAD) == line
    assert wall_of(*raised(error), DEAD) == "toolchain-missing"


def test_no_line_of_a_traceback_is_a_root():
    report = "Exception: WorkerProc initialization failed due to an exception in a background process."
    lines = told(HEADER, '  File "/opt/vllm/a.py", line 3, in f', "    f()", "    ^^^", report)
    for cut in range(len(lines)):
        assert isinstance(read("\n".join([*lines[cut:], DEAD]).encode()), CauseNotInLog)


@pytest.mark.parametrize("error", ["EOFError: Ran out of input", "_pickle.UnpicklingError: pickle data was truncated"])
def test_a_child_whose_parent_fell_while_it_was_spawned_is_no_root(error: str):
    spawned = [
        HEADER,
        '  File "<string>", line 1, in <module>',
        '  File "/usr/lib/python3.12/multiprocessing/spawn.py", line 122, in spawn_main',
        "    exitcode = _main(fd, parent_sentinel)",
        '  File "/usr/lib/python3.12/multiprocessing/spawn.py", line 132, in _main',
        "    self = reduction.pickle.load(from_parent)",
        error,
    ]
    found = read("\n".join([*spawned, DEAD.replace("{}", "{'EngineCore': -9}")]).encode())
    assert isinstance(found, CauseNotInLog)
    assert isinstance(found.wall, NamedWall)
    assert found.wall.wall == "died-without-cause"
    assert isinstance(read("\n".join(spawned).encode()), CauseNotInLog)


def test_the_first_error_of_a_cascade_names_the_cause():
    lines = (
        "0.00.123.456 I llama_model_loader: loaded meta data",
        "0.00.123.457 E gguf_init: tensor 'a' is of a kind that nobody knows",
        "0.00.123.458 E gguf_init: failed to read tensor info",
        "0.00.123.459 E llama_model_load: error loading model: llama_model_loader: failed to load model from a.gguf",
        "0.00.123.460 E srv init: exiting due to model loading error",
    )
    assert root_of(*lines) == "gguf_init: tensor 'a' is of a kind that nobody knows"


def test_a_start_without_its_banner_counts():
    assert isinstance(read(b"[2026-01-01 00:00:00 TP0] The server is fired up and ready to roll!\n"), Started)
    lines = [b"INFO 09-13 10:19:41 [vllm.py:1] vllm is here"] * 3 + [b"The server is fired up and ready to roll!"]
    assert isinstance(read(b"\n".join(lines)), Started)


def test_a_start_after_an_error_that_did_not_end_it_counts():
    assert isinstance(read(b"ERROR: no such plug-in\nError: no\nThe server is fired up and ready to roll!\n"), Started)
    assert isinstance(read(b"ERROR 09-13 10:19:41 [a.py:1] no\nThe server is fired up and ready to roll!\n"), Started)


def test_an_engine_that_fell_is_not_started_by_another_engines_words():
    lines = (
        "sglang 0.5",
        "INFO:     Application startup complete.",
        *raised("ValueError: no", "sglang/srt/warmup.py:warm"),
    )
    assert root_of(*lines) == "ValueError: no"


def test_a_server_that_calls_itself_started_and_cannot_bind_has_failed():
    lines = (
        "INFO:     Started server process [7]",
        "INFO:     Application startup complete.",
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
    )
    assert wall_of("vllm", *lines) == "host-io"


def test_a_line_that_only_announces_a_server_is_no_start():
    said = told("Starting vLLM server on https://0.0.0.0:8000", level="INFO", process="APIServer")
    bad = raised(
        "FileNotFoundError: [Errno 2] No such file or directory", "uvicorn/config.py:load", process="APIServer"
    )
    assert isinstance(read("\n".join([*said, *bad]).encode()), RootFound)


def test_the_json_form_names_the_line_that_matched():
    text = r"triton.PTXASError: PTXAS error\n`ptxas` stderr:\nptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"
    frames = rf"{HEADER}\n  File \"/opt/triton/compiler.py\", line 3, in f\n    f()\n{text}"
    record = f'{{"levelname": "ERROR", "message": "{FELL}", "processName": "EngineCore", "process": 2, "exc_info": "{frames}"}}'
    assert root_of(record, DEAD) == "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"


def test_a_rule_of_one_engine_is_silent_in_the_log_of_another():
    line = "[E] The following component could not be created: KV cache"
    assert wall_of(f"[TRT-LLM] {line}") == "kv-capacity"
    assert wall_of(*told(line), *told("vllm is here", level="INFO")) == ""


def test_the_last_attempt_is_read_and_all_are_counted_where_most_are_left_out():
    attempt = "\n".join(
        [
            *told("vLLM server version 0.32.0", level="INFO", process="APIServer"),
            *told(*("x" * 200 for _ in range(80)), level="INFO"),
            *raised("ValueError: no"),
            DEAD,
            "",
        ]
    )
    found = read((attempt * 300).encode())
    assert isinstance(found, RootFound)
    lines = attempt.count("\n")
    assert found.log.left_out > 0
    assert found.root.line > 299 * lines
    assert found.log.attempts == 300
