"""TLS is verified, also through proxies; exceptions are named one by one."""

import asyncio
import contextlib
import ssl
import subprocess

import pytest

from fetchers.attempt import Attempt
from infra.settings.proxies import ProxySettings
from schemas.outcomes import Outcome
from tests.unit.fetchers.raw_proxy import RawProxy, proxying
from tests.unit.fetchers.raw_web import fetching, request, run, settings

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's side of TLS with a certificate that nobody vouches for."""
    directory = tmp_path_factory.mktemp("tls")
    key, signed = directory / "key.pem", directory / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    try:
        subprocess.run(
            [*command, "-days", "1", "-subj", "/CN=a.raw.test", "-keyout", key, "-out", signed],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("openssl is not here")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(signed, key)
    return context


def fetch(certificate: ssl.SSLContext, scheme: str | None = None, *insecure: str) -> tuple[Attempt, list[bytes]]:
    """Fetch over TLS, through a proxy or not; also what the server was asked."""
    asked: list[bytes] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(PAGE)
            await writer.drain()
            await reader.read()
        writer.close()

    async def scenario() -> Attempt:
        async with contextlib.AsyncExitStack() as stack:
            server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=certificate)
            stack.callback(server.close)
            port = server.sockets[0].getsockname()[1]
            proxies = ProxySettings()
            if scheme is not None:
                tls = certificate if scheme == "https" else None
                proxy = await stack.enter_async_context(proxying(RawProxy(scheme), tls))
                proxies = ProxySettings(tiers=((proxy.url,),))
            wanted = settings(insecure_hosts=frozenset(insecure), proxies=proxies)
            fetcher = await stack.enter_async_context(fetching(wanted))
            return await fetcher.fetch(request(f"https://a.raw.test:{port}/"))

    return run(scenario()), asked


def test_an_untrusted_certificate_is_a_tls_error(certificate: ssl.SSLContext) -> None:
    """It ends the attempt before anything is sent."""
    attempt, asked = fetch(certificate)
    assert (attempt.outcome, asked) == (Outcome.TLS_ERROR, [])


def test_a_host_that_is_named_is_not_checked_and_no_other(certificate: ssl.SSLContext) -> None:
    """The fetch says what TLS it was, and what it took."""
    attempt, asked = fetch(certificate, None, "a.raw.test")
    assert (attempt.outcome, len(asked)) == (Outcome.OK, 1)
    assert (attempt.tls or "").startswith("TLSv1.3 ")
    assert attempt.tls_ms is not None
    assert attempt.connect_ms is not None
    assert fetch(certificate, None, "b.raw.test")[0].outcome is Outcome.TLS_ERROR


@pytest.mark.parametrize("scheme", ["http", "socks5", "https"])
def test_tls_goes_through_a_proxy_end_to_end(certificate: ssl.SSLContext, scheme: str) -> None:
    """Also inside TLS to the proxy, which is checked as well; what breaks there is not the host's fault."""
    attempt, _ = fetch(certificate, scheme, "a.raw.test", "127.0.0.1")
    assert (attempt.outcome, attempt.body) == (Outcome.OK, b"ok"), attempt
    assert (attempt.tls or "").startswith("TLSv1.3 ")
    attempt, asked = fetch(certificate, scheme, *(["a.raw.test"] if scheme == "https" else ["127.0.0.1"]))
    assert (attempt.outcome, asked) == (Outcome.PROXY_ERROR, [])
