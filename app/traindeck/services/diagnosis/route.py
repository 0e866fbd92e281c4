"""The route to a service, step by step: its name, the proxy, the connection, TLS. Nothing is signed, nothing asked."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import urlsplit

from traindeck.domain.accounts.profiles import Check, Profile, Proxy
from traindeck.domain.texts import Text, moment_words, text
from traindeck.runtime.clock import moment_at
from traindeck.services.http.errors import asks_for_authority, mistrusted
from traindeck.services.http.proxies import is_loopback

STEP_S = 8.0
_LONGEST_S = 20.0
_HEAD_BYTES = 16 * 1024
_SOON = timedelta(days=14)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Route:
    """What was found on it, and whether a request could go."""

    checks: tuple[Check, ...]
    is_open: bool


async def look_at(url: str, profile: Profile, proxy: Proxy | None) -> Route:
    walk = _Walk(url, profile, proxy)
    try:
        await asyncio.wait_for(_beside(walk.go), _LONGEST_S)
    except TimeoutError:
        walk.stop_at_clock()
    return Route(tuple(walk.checks), walk.is_open)


async def _beside(call: Callable[[], Result]) -> Result:
    """In a thread nobody waits for at the end: a name that nobody answers for can hold one for minutes."""
    outcome: Future[Result] = Future()
    outcome.set_running_or_notify_cancel()  # who no longer waits leaves it to end, and to tell nobody

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            outcome.set_exception(error)

    threading.Thread(target=run, name="route to a service", daemon=True).start()
    return await asyncio.wrap_future(outcome)


class _Walk:
    def __init__(self, url: str, profile: Profile, proxy: Proxy | None) -> None:
        address = urlsplit(url)
        self._url, self._profile, self._proxy = url, profile, proxy
        self._host = address.hostname or ""
        self._is_secure = address.scheme == "https"
        self._port = address.port or (443 if self._is_secure else 80)
        self._end = time.monotonic() + STEP_S
        self._step = "dns", text("DNS")
        self.checks: list[Check] = []
        self.is_open = False

    def go(self) -> None:
        if not self._look_up():
            return
        connection = self._connect()
        if connection is None:
            return
        with connection:
            self.is_open = self._agree(connection)

    def stop_at_clock(self) -> None:
        """Nobody answered: the step it hangs at is said to be open."""
        name, title = self._step
        hint = text("Check the network connection, then try again.")
        self.checks = [*self.checks, Check(title, False, self._slow(), hint, name)]

    def _begin(self, name: str, title: Text) -> None:
        self._step = name, title
        self._end = time.monotonic() + STEP_S

    def _tell(self, passed: bool | None, fact: Text, hint: Text | None = None) -> None:
        name, title = self._step
        self.checks.append(Check(title, passed, fact, hint, name))

    def _left_s(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _slow(self) -> Text:
        return text("{host} did not respond in time.", host=self._host)

    def _look_up(self) -> bool:
        if self._proxy is not None:
            self._tell(True, text("Left to the proxy: it looks up {host}.", host=self._host))
            return True
        known_as = "localhost" if self._host.endswith(".localhost") else self._host
        try:
            found = socket.getaddrinfo(known_as, self._port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            fact = text("No address was found for {host}: {problem}.", host=self._host, problem=_reason(error))
            self._tell(False, fact, text("Check the region or the endpoint of the account, and the network's DNS."))
            return False
        places = ", ".join(dict.fromkeys(str(place[0]) for _, _, _, _, place in found))
        self._tell(True, text("{host} is at {addresses}.", host=self._host, addresses=places))
        return True

    def _connect(self) -> socket.socket | None:
        proxy = self._proxy
        self._begin("proxy", text("Proxy"))
        if proxy is None:
            self._tell(True, text("None is used on the way to {host}.", host=self._host))
            self._begin("connection", text("Connection"))
        host, port = (proxy.host, proxy.port) if proxy else (self._host, self._port)
        try:
            began = time.monotonic()
            connection = socket.create_connection((host, port), timeout=self._left_s())
        except OSError as error:
            fact = text(
                "{host} at port {port} cannot be reached: {problem}.", host=host, port=port, problem=_reason(error)
            )
            hint = text("Check the proxy in the settings of the account or of the system.")
            self._tell(
                False, fact, hint if proxy else text("Check the network, its firewall, and whether a proxy is needed.")
            )
            return None
        if proxy is not None:
            return self._through(connection, proxy)
        took_ms = round((time.monotonic() - began) * 1000)
        self._tell(True, text("{host} responds at port {port}, after {ms} ms.", host=host, port=port, ms=took_ms))
        return connection

    def _through(self, connection: socket.socket, proxy: Proxy) -> socket.socket | None:
        """By a tunnel, as everything that is encrypted goes."""
        if not self._is_secure:
            self._tell(True, text("{proxy} is used, for {host} without a tunnel.", proxy=proxy.place, host=self._host))
            return connection
        try:
            status = self._tunnel(connection, proxy)
        except (OSError, ValueError) as error:
            connection.close()
            fact = text(
                "{proxy} opens no tunnel to {host}: {problem}.",
                proxy=proxy.place,
                host=self._host,
                problem=_reason(error),
            )
            self._tell(False, fact, text("Contact its administrator, or use another proxy."))
            return None
        if status >= 300:
            connection.close()
            fact = text(
                "{proxy} opens no tunnel to {host}: it responded with {status}.",
                proxy=proxy.place,
                host=self._host,
                status=status,
            )
            hint = text("Enter its user and password again in the settings of the account.")
            self._tell(False, fact, hint if status == 407 else text("Contact its administrator, or use another proxy."))
            return None
        self._tell(True, text("{proxy} opens a tunnel to {host}.", proxy=proxy.place, host=self._host))
        return connection

    def _tunnel(self, connection: socket.socket, proxy: Proxy) -> int:
        place = f"{self._host}:{self._port}"
        lines = [
            f"CONNECT {place} HTTP/1.1",
            f"Host: {place}",
            *(f"{name}: {value}" for name, value in proxy.headers.items()),
        ]
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        head = b""
        while b"\r\n\r\n" not in head:
            connection.settimeout(self._left_s())
            piece = connection.recv(1024)
            head += piece
            if not piece or len(head) > _HEAD_BYTES:
                raise ConnectionResetError("no answer")
        return int(head.split(b" ", 2)[1][:3])

    def _agree(self, connection: socket.socket) -> bool:
        self._begin("tls", text("TLS"))
        host = self._host
        if not self._is_secure:
            fact = text("Not used: {host} is reached by http.", host=host)
            hint = text("Use an endpoint with https:// if the service has one.")
            is_here = is_loopback(self._url)
            self._tell(True if is_here else None, fact, None if is_here else hint)
            return True
        import certifi  # most of its time is the loading

        trusted = self._profile.ca_file or certifi.where()
        try:
            context = ssl.create_default_context(cafile=trusted)
        except OSError:
            fact = text("“{file}” is not a file of certificates.", file=trusted)
            hint = text("Specify a CA file in PEM format (BEGIN CERTIFICATE) in the settings of the account, or none.")
            self._tell(False, fact, hint)
            return False
        try:
            connection.settimeout(self._left_s())
            with context.wrap_socket(connection, server_hostname=host) as secured:
                certificate, spoken = secured.getpeercert() or {}, secured.version() or "TLS"
        except ssl.SSLCertVerificationError as error:
            self._tell(False, *self._mistrusted(error))
            return False
        except (OSError, ValueError) as error:
            fact = text("No TLS connection to {host}: {problem}.", host=host, problem=_reason(error))
            self._tell(False, fact, text("Check the endpoint, and whether a firewall or proxy blocks it."))
            return False
        self._trusted(spoken, certificate, trusted)
        return True

    def _mistrusted(self, error: ssl.SSLCertVerificationError) -> tuple[Text, Text]:
        fact, hint = mistrusted(error, self._host)
        if self._profile.ca_file and asks_for_authority(error):
            hint = text(
                "The CA file of the account, “{file}”, does not contain its issuer.", file=self._profile.ca_file
            )
        return fact, hint

    def _trusted(self, spoken: str, certificate: object, trusted: str) -> None:
        assert isinstance(certificate, dict)
        issuer = {key: value for part in certificate.get("issuer", ()) for key, value in part}
        name = issuer.get("organizationName") or issuer.get("commonName") or "–"
        ends = moment_at(ssl.cert_time_to_seconds(certificate["notAfter"]))
        fact = text(
            "{version} with {host}; its certificate by {issuer} expires at {time}; trusted by “{file}”.",
            version=spoken, host=self._host, issuer=name, time=moment_words(ends), file=trusted,
        )  # fmt: skip
        is_soon = ends - datetime.now(UTC) < _SOON
        hint = text("The operator of the service has to renew its certificate soon.") if is_soon else None
        self._tell(None if is_soon else True, fact, hint)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    return getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error) or type(error).__name__
