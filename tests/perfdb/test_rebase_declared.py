"""The declared kernels: well formed, and of two labels of one table each has one kernel."""

import pytest

from dayzero.perfdb.rebase.matrix import declared_kernels, kernel_of


@pytest.mark.parametrize("kernel", declared_kernels(), ids=lambda one: f"{one.tables[0]}-{one.labels[0]}")
def test_a_declared_kernel_says_what_chooses_it_where_that_was_read_and_follows_its_own_code(kernel):
    assert bool(kernel.dispatch) != bool(kernel.direct)
    assert kernel.source
    for entry in (*kernel.code, *kernel.dispatch):
        files, _, name = entry.partition("::")
        assert name.isidentifier()
        assert all(file.startswith("vllm/") and file.endswith(".py") for file in files.split("|"))
    modules = [
        file.removesuffix(".py").replace("/", ".") for e in kernel.code for file in e.partition("::")[0].split("|")
    ]
    assert all(any(f"{module}.".startswith(f"{one}.") for one in kernel.within) for module in modules)
    assert kernel.libraries or kernel.artifacts or kernel.compilers


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("vllm_compressedtensorsw4a4mxfp4moe_marlin_marlinexperts", True),
        ("vllm_compressedtensorsw4a4mxfp4moe_marlin_marlinexperts_situ_as_silu", True),
        ("vllm_fp8moe_triton_tritonexperts", True),
        ("vllm_default", False),
    ],
)
def test_a_substitution_is_of_the_kernel_that_it_names(label, found):
    assert (kernel_of(declared_kernels(), "vllm", "moe_perf", label) is not None) is found
    assert kernel_of(declared_kernels(), "sglang", "moe_perf", label) is None
