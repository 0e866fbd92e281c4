"""Asking OBS over our own connections: signed, as often as it is worth it, with one kind of error."""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import httptools

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile, Proxy, Signature
from traindeck.domain.errors import AppError, InvalidInput, KeysRefused
from traindeck.domain.storage.objects import no_place
from traindeck.domain.texts import text
from traindeck.services.http.calls import NotReached, Refused, nobody_listens, retried
from traindeck.services.http.errors import (
    ErrorResponse,
    garbled,
    is_page,
    network_trouble,
    not_the_service,
    not_understood,
    proxy_refused,
    seconds_ahead,
    seconds_until,
    unusable_certificates,
)
from traindeck.services.http.proxies import led, proxy_to
from traindeck.services.storage.documents import document
from traindeck.services.storage.endpoint import Endpoint, corrected_clock
from traindeck.services.storage.errors import obs_error
from traindeck.services.storage.wire.exchange import Answered, LineBroken
from traindeck.services.storage.wire.pool import (
    MOST_CONNECTIONS,
    ConnectionPool,
    ProxyRefused,
    Server,
)
from traindeck.services.storage.wire.requests import Request, Signer, body_headers, target

_TARGET = re.compile(r"[!-~]+")
_SAID = ("Code", "Message", "RequestId")
# A success whose body is a failure.
_ERROR = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<Error[\s>]")
_ALWAYS = "User-Agent: TrainDeck\r\nAccept-Encoding: identity\r\n\r\n"


class WireAccount(Endpoint):
    """One account at one endpoint; made at once, connected when first asked."""

    def __init__(
        self,
        profile: Profile,
        credentials: Credentials,
        *,
        refused: Refused = nobody_listens,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        super().__init__(profile, credentials, refused)
        address = urlsplit(profile.obs_url)
        self._most = most_connections
        self.prefix = "x-obs-" if self.dialect is Signature.OBS else "x-amz-"
        self._is_secure = address.scheme == "https"
        self._host = address.hostname or ""
        self._port = address.port or (443 if self._is_secure else 80)
        self._servers: dict[str, Server] = {}
        self._making = asyncio.Lock()
        self._signer = Signer(profile, credentials, path_style=self.path_style)
        self._pool: ConnectionPool | None = None
        self._is_closed = False
        self._last_date = "", 0.0
        self.tells_crc64 = True
        """Until an answer to a part that was sent with its CRC-64 does not repeat it."""
        self.has_told_crc64 = False
        """Whether it has repeated one: until then its CRC-64 may be made in another way than ours."""

    @property
    def clock_ahead_s(self) -> float | None:
        """By how much the service's clock was before ours at its last answer; None: it has not said."""
        date, at = self._last_date
        ahead_s = seconds_ahead(date)
        return None if ahead_s is None else ahead_s + time.time() - at

    def close(self) -> None:
        self._is_closed = True
        if self._pool is not None:
            self._pool.close()

    async def ask(
        self,
        request: Request,
        *,
        fine: tuple[str, ...] = (),
        missing_is_fine: bool = False,
        read: Callable[[Answered], object] = lambda answer: None,
        may_again: Callable[[], bool] = lambda: True,
    ) -> Answered:
        """An answer of success with what `read` made of it, or one with a code that is fine too.

        ValueError of `read`: the answer cannot be understood.
        """
        is_over = False

        async def attempt() -> Answered:
            nonlocal is_over
            try:
                answer = await self._exchange(request)
            except ProxyRefused as error:
                is_over = error.status == 407  # asked again and again it may lock the user out
                raise proxy_refused(self.service, error.status, str(error)) from None
            if answer.status < 300 and not _ERROR.match(answer.body):
                try:
                    answer.content = read(answer)
                except ValueError as error:
                    raise self.unreadable(answer, str(error)) from error
                return answer
            refusal = self.refusal(answer)
            # A missing object is not told apart from a missing bucket by its status.
            is_missing = refusal.status == 404 and refusal.code in ("", "NoSuchKey")
            if refusal.code in fine or (missing_is_fine and is_missing):
                return answer
            raise obs_error(refusal, request.path if request.path.bucket else None)

        try:
            return await retried(attempt, may_again=lambda: not (self._is_closed or is_over) and may_again())
        except KeysRefused as error:
            self._refused(error)
            raise

    def unreadable(self, answer: Answered, problem: str) -> AppError:
        """A success that says nothing a service would say."""
        is_for_people = is_page(answer.headers.get("content-type", ""), answer.body)
        return (not_the_service if is_for_people else not_understood)(self.refusal(answer, problem))

    def refusal(self, answer: Answered, message: str = "") -> ErrorResponse:
        """What an answer says against us; `message` where it says nothing itself."""
        headers = answer.headers
        try:
            error = document(answer.body, "Error")
        except ValueError:
            error = None
        found = {name: (error.findtext(name) or "") if error is not None else "" for name in _SAID}
        location = headers.get("location", "")
        # Answers to HEAD have no body.
        said = found["Code"] or _either(headers, "error-code")
        code = led(answer.status, self.profile.obs_url, location, said)
        away = code != said
        return ErrorResponse(
            self.service,
            # Copying and completing may fail after their 200 was sent.
            500 if error is not None and answer.status < 300 else answer.status,
            code,
            (away and location) or found["Message"] or _either(headers, "error-message") or message,
            found["RequestId"] or _either(headers, "request-id"),
            seconds_until(headers.get("retry-after", "")),
            headers.get("date", ""),
        )

    async def _exchange(self, request: Request) -> Answered:
        if self._pool is None:
            await self._make_ready()
        assert self._pool is not None
        server = self._server(request.path.bucket)

        def head(in_full: bool) -> bytes:
            return self._head(request, server, in_full)

        for is_last in (False, True):
            # Another request may set the clock before this one is answered.
            signed_ahead_s = self._signer.clock_ahead_s
            try:
                answer = await self._pool.exchange(
                    server, request.method, head, request.body, request.take, request.counted
                )
            except (NotReached, LineBroken) as error:
                raise self._trouble(error) from None
            self._last_date = answer.headers.get("date", ""), time.time()
            if is_last or answer.status != 403 or not self._is_clock_set(answer, signed_ahead_s):
                break
        if self.service.proxy and self._is_of_proxy(request, answer):
            raise ProxyRefused(answer.status)
        return answer

    def _is_of_proxy(self, request: Request, answer: Answered) -> bool:
        """Without a tunnel its refusal comes as an answer; the service's own says its code, where it has a body."""
        if answer.status == 403 and not self._is_secure and request.method != "HEAD":
            return not _ERROR.match(answer.body)
        return answer.status == 407

    def _server(self, bucket: str) -> Server:
        host = self._host if self.path_style or not bucket else f"{bucket}.{self._host}"
        if host not in self._servers:
            self._servers[host] = Server(host, self._port, self._is_secure)
        return self._servers[host]

    def _head(self, request: Request, server: Server, in_full: bool) -> bytes:
        assert self._pool is not None
        headers = {"Host": server.shown, **request.headers}
        if request.body is not None:
            headers |= body_headers(self.prefix, request.body)
        elif request.method in ("PUT", "POST"):
            headers["Content-Length"] = "0"
        try:
            where = target(request, path_style=self.path_style)
            if request.is_signed:
                self._signer.sign(request.method, request.path.bucket, where.partition("?")[0], request.query, headers)
        except UnicodeEncodeError as error:
            raise InvalidInput(
                text("“{place}” cannot be a name in OBS: it is not valid Unicode.", place=ascii(str(request.path))),
                text("Rename the file, then try again."),
            ) from error
        to_proxy = self._pool.proxy_line if in_full else ""
        where = f"http://{server.shown}{where}" if in_full else where
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        # Keys are encoded; a bucket, or an ETag that a service made up, stands as it is.
        if lines.count("\n") != len(headers) or lines.count("\r") != len(headers) or not _TARGET.fullmatch(where):
            raise no_place(ascii(str(request.path)))
        return f"{request.method} {where} HTTP/1.1\r\n{lines}{to_proxy}{_ALWAYS}".encode("latin-1")

    def _is_clock_set(self, answer: Answered, signed_ahead_s: float) -> bool:
        """The service says our time is wrong and which is right: it is worth signing once more."""
        ahead_s = corrected_clock(self.refusal(answer), signed_ahead_s)
        if ahead_s is not None:
            self._signer.clock_ahead_s = ahead_s
        return ahead_s is not None

    async def _make_ready(self) -> None:
        async with self._making:
            if self._pool is None:
                tls, proxy = await asyncio.to_thread(self._load)
                self.service = replace(self.service, proxy=proxy.place if proxy else "")
                self._pool = ConnectionPool(tls, proxy, self._most)
                if self._is_closed:
                    self._pool.close()

    def _load(self) -> tuple[ssl.SSLContext | None, Proxy | None]:
        tls = None
        if self._is_secure:
            import certifi  # most of its time is the loading

            try:
                tls = ssl.create_default_context(cafile=self.profile.ca_file or certifi.where())
            except OSError as error:
                raise unusable_certificates(self.service, self.profile.ca_file, str(error)) from None
        proxy = proxy_to(self.profile.obs_url, self.profile, self.credentials)
        return tls, proxy

    def _trouble(self, error: NotReached | LineBroken) -> AppError:
        cause = error.cause
        if isinstance(cause, httptools.HttpParserError | ValueError) and not isinstance(cause, OSError):
            # Beyond bounds, which the parser is told by us, or no HTTP.
            is_ours = isinstance(cause, httptools.HttpParserCallbackError | ValueError)
            meaning = not_understood if is_ours else garbled
            return meaning(ErrorResponse(self.service, 0, message=f"{type(cause).__name__}: {cause}"))
        if not isinstance(error, NotReached):
            # The proxy was passed already.
            return network_trouble(cause, replace(self.service, proxy=""))
        return self.not_reached(error)


def _either(headers: Mapping[str, str], name: str) -> str:
    return headers.get(f"x-obs-{name}") or headers.get(f"x-amz-{name}") or ""
