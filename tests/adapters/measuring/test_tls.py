"""TLS over the same raw socket: whole answers, kernel stamps, and certificates that are really checked."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.adapters.measuring.driving import ask, drive
from tests.simulators.raw_server import ANSWER, END, HEAD, TAIL, Act, Step, chunk, event, raw_server

from dayzero.adapters.measuring.ask import ask as ask_plainly
from dayzero.adapters.measuring.ask import reachable
from dayzero.adapters.measuring.server import servers_of
from dayzero.adapters.openai_http import Connection, Wording
from dayzero.bench.model import TextPrompt
from dayzero.core.errors import InputError, RemoteError


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for ``localhost`` that signs itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + secret)
    return path


@pytest.fixture
def context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([ANSWER], id="in one piece"),
        pytest.param([ANSWER[at : at + 1] for at in range(len(ANSWER))], id="a record for each byte"),
        pytest.param([HEAD + chunk(event("x" * 3_000_000)), chunk(event(finish=True)) + TAIL], id="3 MB"),
        pytest.param([ANSWER[: -len(END)], 0.05, END, Act.CLOSE], id="closed without a goodbye"),
    ],
)
def test_an_answer_is_whole_and_has_the_kernels_stamps(steps: list[Step], context: ssl.SSLContext, certificate: Path):
    with raw_server(steps, tls=context) as server:
        driven = drive(server.url, [ask(0), ask(1)], ca_file=certificate)
    assert len(driven.rows) == 2
    for row in driven.rows:
        assert row.error == ""
        assert len(row.content_ns) == 2
        assert row.lag_ns >= 0


def test_a_connection_is_used_again(context: ssl.SSLContext, certificate: Path):
    with raw_server([ANSWER], tls=context) as server:
        driven = drive(server.url, [ask(number) for number in range(4)], ca_file=certificate)
    assert driven.connections == 1
    assert [row.new_connection for row in driven.rows] == [True, False, False, False]


def test_a_request_larger_than_the_sockets_buffers_arrives_whole(context: ssl.SSLContext, certificate: Path):
    text = "word " * 1_000_000
    with raw_server([ANSWER], tls=context) as server:
        driven = drive(server.url, [ask(prompt=TextPrompt(text=text))], ca_file=certificate)
    assert driven.rows[0].ok
    assert text.encode() in server.requests[0]


def test_a_certificate_that_nobody_trusts_is_refused(context: ssl.SSLContext):
    with raw_server([ANSWER], tls=context) as server:
        driven = drive(server.url, [ask(0)])
    assert "CERTIFICATE_VERIFY_FAILED" in driven.rows[0].error
    assert driven.rows[0].sent_ns == 0


def test_plain_questions_go_over_tls_too(context: ssl.SSLContext, certificate: Path):
    document = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    with raw_server([document], tls=context) as server:
        place = reachable(servers_of(Connection(url=server.url, ca_file=certificate)))
        reply = ask_plainly(place, Wording(place.address, "").plain("GET", "/v1/models"), timeout_s=5)
        assert (reply.status, reply.body) == (200, b"{}")
        with pytest.raises(RemoteError, match="CERTIFICATE_VERIFY_FAILED"):
            reachable(servers_of(Connection(url=server.url)))


def test_a_file_without_certificates_is_named(tmp_path: Path):
    empty = tmp_path / "none.pem"
    empty.write_text("")
    with pytest.raises(InputError, match=r"none\.pem holds no certificates"):
        servers_of(Connection(url="https://localhost:1", ca_file=empty))
