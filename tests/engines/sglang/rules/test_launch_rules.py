"""What SGLang's files say of flags, of the environment and of a model's type."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import NotChecked, Severity
from dayzero.engines.sglang.rules import configuration_type, environment, flags

SERVER_ARGS = """
CHOICES = ["fast", "slow"]
class DeprecatedAction(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        if self.error_message is not None:
            parser.error(self.error_message)
class ServerArgs:
    model_path: A[str, Arg(help="Weights.", aliases=["--model"])]
    tp_size: A[int, Arg(help="Ranks.", cli_name="--tensor-parallel-size", aliases=["--tp-size", "--tp"])] = 1
    trust_remote_code: A[bool, "Trust."] = False
    kernel: A[Optional[str], Arg(help="Kernel.", choices=CHOICES)] = None
    sizes: A[Optional[List[int]], "Sizes."] = None
    disable_cache: A[bool, "No cache."] = False
    enable_tiers: A[bool, "Tiers."] = False
    hidden: A[bool, Arg(no_cli=True)] = False
    loud: A[bool, Arg(help="Loud.", action=LoudAction)] = False
    plain: int = 0
    def __post_init__(self):
        if self.model_path.lower() == "dummy":
            return
        self._handle_cache()
        self._handle_kernel()
        run_hook(check_sizes, self)
        if self.uses_other():
            self._handle_other()
    def _handle_cache(self):
        if self.enable_tiers and self.disable_cache:
            raise ValueError("tiers need the cache")
        if self.enable_tiers and self.tp_size < 2:
            raise ValueError("tiers need two ranks")
        assert self.tp_size >= 1, "at least one rank"
    def _handle_kernel(self):
        self.kernel = "fast"
        if self.kernel == "slow":
            raise ValueError("it is set here")
        if self.uses_other():
            return
        if self.trust_remote_code:
            raise ValueError("only without the other one")
    def _handle_other(self):
        if self.trust_remote_code:
            raise ValueError("only with the other one")
    @staticmethod
    def add_cli_args(parser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--old", action=DeprecatedAction, error_message="gone")
        parser.add_argument("--older", action=DeprecatedAction)
        parser.add_argument("--config", type=str)
        names = list(Parser.Names.keys())
        parser.add_argument("--parser", choices=names)
        parser.add_argument("--reader", choices=list(Reader.Names))
        parser.add_argument("--writer", choices=list(Reader.Computed.keys()))
"""
SERVER_ARGS = "from sglang.srt.parser import Parser, Reader\n" + SERVER_ARGS
PARSER = """
class Parser:
    Names: Dict[str, type] = {"kimi": A, "glm": B}
class Reader:
    Names = {"plain": A}
    Computed = {name: A for name in known()}
"""
SERVER_ARGS += """
def check_sizes(server_args):
    if server_args.disable_cache and server_args.trust_remote_code:
        raise ValueError("trust needs the cache")
"""
ENVIRON = """
class Envs:
    SGLANG_FAST = EnvBool(False)
    SGLANG_COUNT = EnvInt(0)
    SGLANG_NAME = EnvStr("x")
"""
BUILD = distribution(
    "sglang",
    "0.5.18",
    {
        "sglang/srt/server_args.py": SERVER_ARGS,
        "sglang/srt/environ.py": ENVIRON,
        "sglang/srt/parser.py": PARSER,
        "sglang/srt/worker.py": 'os.getenv("SGLANG_ELSEWHERE")',
        "sglang/srt/configs/k3.py": 'class K3Config:\n    model_type = "k3"\n',
        "sglang/srt/utils/common.py": "_CONFIG_REGISTRY = {}\n",
    },
)


@pytest.mark.parametrize(
    ("words", "severity", "said"),
    [
        (("--model", "x", "--tp", "8", "--trust-remote-code", "--sizes", "1", "2", "--config", "c"), None, ""),
        (("--kernel", "fast"), None, ""),
        (("--kern", "slow"), None, ""),
        (("--parser", "kimi", "--reader", "plain", "--writer", "any"), None, ""),
        (("--parser", "kimi2"), Severity.START, "--parser takes no 'kimi2', but only kimi, glm"),
        (("--reader", "fast"), Severity.START, "but only plain"),
        (("--loud", "yes"), None, ""),
        (("--enable-tiers", "--tp", "2"), None, ""),
        (("--enable-tiers", "--tp", "1"), Severity.START, "two ranks"),
        (("--disable-cache", "--trust-remote-code"), Severity.START, "trust needs the cache"),
        (("--t", "2"), Severity.START, "no flag --t:"),
        (("--older",), None, ""),
        (("--kernel", "fats"), Severity.START, "fast, slow"),
        (("--trust-remote-code", "true"), Severity.START, "takes no value"),
        (("--model_path", "x"), Severity.START, "no flag --model_path"),
        (("--hidden",), Severity.START, "no flag --hidden"),
        (("--plain", "1"), Severity.START, "no flag --plain"),
        (("--old",), Severity.START, "no longer"),
        (("--tp", "4", "--tensor-parallel-size", "8"), Severity.DOWNGRADE, "takes 8"),
        (("--tp", "4", "--tp-size", "4"), None, ""),
        (("--enable-tiers", "--disable-cache"), Severity.START, "tiers need the cache"),
        (("--enable-tiers",), None, ""),
        (("--tp", "0"), Severity.START, "at least one rank"),
    ],
)
def test_a_flag_is_held_to_the_parser_and_the_checks_of_this_version(words, severity, said):
    found = found_by(flags.RULE, BUILD, flags=words)
    assert [one.severity for one in found] == ([severity] if severity else [])
    assert all(said in one.message for one in found)


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("SGLANG_FAST", "yes", 0),
        ("SGLANG_FAST", "on", 1),
        ("SGLANG_COUNT", "3", 0),
        ("SGLANG_COUNT", "many", 1),
        ("SGLANG_COUNT", "3.5", 1),
        ("SGLANG_NAME", "anything", 0),
        ("SGLANG_ELSEWHERE", "1", 0),
        ("SGLANG_NAMES", "1", 1),
        ("HOME", "/root", 0),
    ],
)
def test_a_variable_is_held_to_the_table_and_to_what_the_files_read(name, value, found):
    assert [one.severity for one in found_by(environment.RULE, BUILD, env={name: value})] == found * [
        Severity.DOWNGRADE
    ]


AUTO = "CONFIG_MAPPING_NAMES = OrderedDict([('llama', 'LlamaConfig')])\n"
LIBRARY = distribution("transformers", "5.0.0", {"transformers/models/auto/configuration_auto.py": AUTO})


@pytest.mark.parametrize(("model_type", "severity"), [("k3", None), ("llama", None), ("k4", Severity.START)])
def test_a_type_that_neither_sglang_nor_the_library_has_stops_the_start(model_type, severity):
    found = found_by(configuration_type.RULE, BUILD, LIBRARY, model={"model_type": model_type})
    assert [one.severity for one in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("rule", "about"),
    [
        (flags.RULE, {"flags": ("--x",)}),
        (environment.RULE, {"env": {"SGLANG_X": "1"}}),
        (configuration_type.RULE, {"model": {"model_type": "x"}}),
    ],
)
def test_a_build_without_the_files_is_not_checked(rule, about):
    (one,) = found_by(rule, distribution("sglang", "0.5.18"), **about)
    assert isinstance(one, NotChecked)
