"""No secret leaves in a line; nothing else is lost."""

import pytest

from dayzero.triage.redact import redacted


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("token hf_AbCdEfGhIjKlMnOpQrStUv was refused", "AbCdEfGh"),
        ("non-default args: {'api_key': ['swordfish-1'], 'port': 1}", "swordfish"),
        ("non-default args: {'api_key': 'swordfish-1'}", "swordfish"),
        ("vllm serve m --api-key swordfish-1 --port 8", "swordfish"),
        ("Authorization: Bearer abcdefgh12345", "abcdefgh12345"),
        ("HTTP 401 for https://bob:swordfish@proxy:3128/x", "swordfish"),
        ("AWS_SECRET_ACCESS_KEY=swordfish/abc HF_TOKEN=swordfish2", "swordfish"),
        ("GET https://hub/x?token=swordfish&rev=main", "swordfish"),
        ("sk-abcdefghijklmnop", "abcdefghij"),
        ("hub token: Sw0rdfishSw0rdfish", "Sw0rdfish"),
        ("GET https://bucket/x?X-Goog-Signature=swordfish&rev=main", "swordfish"),
        ("POST https://hooks.acme.example/services/T0/B0/swordfish failed", "swordfish"),
        ("POST https://acme.example/api/webhooks/7/swordfish failed", "swordfish"),
        ("Set-Cookie: session=swordfish; path=/", "swordfish"),
        ("-----BEGIN RSA " + "PRIVATE KEY-----swordfish", "swordfish"),
        ("Sw0rd/fish+" * 6, "Sw0rd"),
        ("ms-12345678-1234-1234-1234-123456789abc was refused", "123456789abc"),
    ],
)
def test_a_secret_is_replaced(line: str, secret: str):
    assert secret not in redacted(line)
    assert "[redacted]" in redacted(line)


@pytest.mark.parametrize(
    "line",
    [
        "KeyError: 'layers.0.mlp.experts.w2_weight'",
        "ValueError: 4.54 GiB KV cache is needed; max tokens 131072",
        "the tokenizer has 163605 tokens",
        "https://docs.example/latest/page#anchor",
        "Missing key: model.layers.0.mlp.experts.w2_weight and token: 163605",
        "key: visual_blocks_attention_weight",
        "sha256 " + "0123456789abcdef" * 4,
    ],
)
def test_an_ordinary_line_stays_as_it_is(line: str):
    assert redacted(line) == line
