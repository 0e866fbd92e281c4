"""What a service or the network answered, in our words: the part that all adapters share."""

from __future__ import annotations

import math
import re
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import parse_endpoint
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    ClockOff,
    InvalidInput,
    KeysRefused,
    LedAway,
    NoRight,
    NotTheService,
    NotTrusted,
    NotUnderstood,
    ServiceTrouble,
    Throttled,
    TooSlow,
    Unreachable,
)
from traindeck.domain.texts import Text, count_text, moment_words, text
from traindeck.runtime.clock import http_moment
from traindeck.services.http.calls import OutOfTime
from traindeck.services.http.masking import without_secrets

_PAGE = re.compile(rb"(?is)(?:\xef\xbb\xbf)?\s*+(?:<!--(?>.*?-->)\s*+)*+<(?:!doctype\s+html|html|head|body)\b")
_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")
_DETAIL_LIMIT = 2000
# What is asked for beyond it is no pause of a service at work.
_LONGEST_WAIT_S = 86_400.0
_LONGEST_NUMBER = 64

Family = TypeVar("Family", bound=AppError, covariant=True)


@dataclass(frozen=True, slots=True)
class Service:
    """Whom an adapter talks to, for the sentences about it."""

    host: str
    is_lab: bool
    credentials: Credentials
    proxy: str = ""
    """The place of the proxy on the way there; empty: there is none."""

    def masked(self, detail: str) -> str:
        detail = without_secrets(detail, self.credentials)
        return detail if len(detail) <= _DETAIL_LIMIT else detail[:_DETAIL_LIMIT] + "…"

    @property
    def fields(self) -> dict[str, object]:
        """What sentences about it may name."""
        return {"host": self.host, "proxy": self.proxy or self.host, "key": self.credentials.hint}


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """A refusal as it came over the wire."""

    service: Service
    status: int
    code: str = ""
    message: str = ""
    request_id: str = ""
    retry_after_s: float | None = None
    date: str = ""

    @property
    def detail(self) -> str:
        parts = [f"HTTP {self.status}", self.code, self.message, self.request_id and f"request {self.request_id}"]
        return self.service.masked("; ".join(part for part in parts if part))

    @property
    def words(self) -> str:
        """What the service itself said, as shortly as it can be had."""
        return self.service.masked(self.message) or self.code or f"HTTP {self.status}"


def check_usable(url: str, credentials: Credentials) -> None:
    """Refuse what would make the SDKs fail in odd ways, or look for keys elsewhere."""
    if not credentials.access_key.strip() or not credentials.secret_key.reveal().strip():
        raise AccessRefused(
            text("The keys are incomplete."), text("Both the access key and the secret key are required.")
        )
    parts = [credentials.access_key, credentials.secret_key.reveal()]
    parts += [credentials.token.reveal()] if credentials.token else []
    if not all(part.isascii() and part.isprintable() and " " not in part for part in parts):
        raise InvalidInput(
            text("The keys contain invalid characters."),
            text("Paste them again without spaces or line breaks."),
        )
    parse_endpoint(url)


@dataclass(frozen=True, slots=True)
class Meaning(Generic[Family]):
    """A kind of error and its two sentences, whose fields are filled when it happens."""

    kind: type[Family]
    title: Text
    hint: Text

    def made(self, detail: str, **fields: object) -> Family:
        return self.kind(_filled(self.title, fields), _filled(self.hint, fields), detail)


class Refusal(Meaning[AppError]):
    """What an answer means. Fields: host, proxy, key, status, code, words; place and bucket (name) it is about."""

    def __call__(self, answer: ErrorResponse, place: str = "", bucket: str = "") -> AppError:
        error = self.made(
            answer.detail,
            **answer.service.fields,
            status=answer.status,
            code=answer.code,
            words=answer.words,
            place=place,
            bucket=bucket,
            name=bucket,
        )
        if isinstance(error, ServiceTrouble):
            error.retry_after_s = answer.retry_after_s
        return error


class Trouble(Meaning[Family]):
    """What went wrong on the way there. Fields: host, proxy, key."""

    def __call__(self, service: Service, detail: str) -> Family:
        return self.made(detail, **service.fields)


Rule = Callable[[ErrorResponse, str, str], AppError]
"""From an answer, the place and the bucket it is about: a Refusal, or a function where a code has several causes."""


def by_code(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """A table with a row for each code, from one whose rows name several, apart by blanks."""
    return {code: rule for codes, rule in rules.items() for code in codes.split()}


def _filled(sentence: Text, fields: Mapping[str, object]) -> Text:
    # No more than it names: errors are kept on disk together with their fields.
    return sentence.with_fields(**{name: fields[name] for name in fields if f"{{{name}}}" in sentence.english})


# fmt: off
wrong_secret_key = Refusal(KeysRefused,
    text("The secret key does not match access key {key}."),
    text("Paste both keys again without spaces. You can create a new pair under My Credentials in " "the console."))
unknown_access_key = Refusal(KeysRefused,
    text("The access key {key} does not exist at {host}."),
    text("It was deleted or belongs to another cloud. Look it up under My Credentials in the console."))
no_right = Refusal(NoRight,
    text("The keys {key} do not have permission to do this."),
    text("Ask the owner of the account for the permission, or use other keys."))
in_arrears = Refusal(AccessRefused,
    text("The account is frozen or has overdue payments."),
    text("Check the billing page of the console and pay the outstanding amount, then try again."))
too_many_requests = Refusal(Throttled,
    text("{host} is limiting requests."),
    text("Wait a moment, then try again."))
# Something on their side: a gateway, a backend, a page that is none.
service_failed = Refusal(ServiceTrouble,
    text("{host} returned a server error (HTTP {status})."),
    text("This is a problem on the service side. Try again in a few minutes."))
not_understood = Refusal(NotUnderstood,
    text("{host} returned a response that cannot be read."),
    text("A sign-in page of the network or a proxy may have intervened. Open a web page, sign in, " "then try again."))
# The line may have spoilt what does not even look like an answer, so it is asked for again.
garbled = Refusal(ServiceTrouble, not_understood.title, not_understood.hint)
not_the_service = Refusal(NotTheService,
    text("{host} returned a web page instead of a service response."),
    text("The network may require you to sign in: open a web page and do so. Otherwise, check the "
         "endpoint in the account settings."))
led_nowhere = Refusal(LedAway,
    text("{host} redirects the request without naming an address of the service."),
    text("A sign-in page or a proxy may respond instead of the service. Check the endpoints and the proxy of "
         "the account."))
# As far as anybody knows, what was asked may have been done.
led_somewhere = Refusal(NotUnderstood, led_nowhere.title, led_nowhere.hint)
# For what has no sentence of its own: the service's words are the best there are.
refused = Refusal(AppError,
    text("{host} rejected the request: {words}"),
    text("Copy the details if you ask for help; the request number is in them."))

lab_not_running = Trouble(Unreachable,
    text("The Lab is not running."),
    text("It starts with the window. “traindeck lab serve” starts it manually."))
nothing_answers = Trouble(Unreachable,
    text("Cannot connect to {host}."),
    text("Check the endpoint in the account settings, and whether a firewall or proxy blocks it."))
no_answer = Trouble(Unreachable,
    text("{host} cannot be reached."),
    text("Check the network connection, and whether a firewall or proxy blocks it."))
host_unknown = Trouble(Unreachable,
    text("The host {host} cannot be found."),
    text("Check the network connection, and the region or endpoint in the account settings."))
not_trusted = Trouble(NotTrusted,
    text("The connection to {host} is not safe: its certificate was not accepted."),
    text("Nothing was sent. The details say why; ask the operator of the service."))
expired_certificate = Trouble(NotTrusted,
    text("The certificate of {host} has expired."),
    text("Nothing was sent. Check the clock of this computer. If it is correct, the operator of the "
         "service has to renew the certificate."))
early_certificate = Trouble(NotTrusted,
    text("The certificate of {host} is not valid yet."),
    text("Nothing was sent. Check the clock of this computer: it may be slow."))
certificate_of_another = Trouble(NotTrusted,
    text("The certificate of {host} was issued for a different host."),
    text("Nothing was sent. Check the endpoint in the account settings, and whether a sign-in page or a "
         "proxy responds instead of the service."))
self_signed = Trouble(NotTrusted,
    text("The certificate of {host} is self-signed and not trusted."),
    text("Nothing was sent. If it is your private cloud, specify its certificate as the CA file (--ca) in "
         "the account settings."))
unknown_authority = Trouble(NotTrusted,
    text("The certificate of {host} was issued by an unknown authority."),
    text("Nothing was sent. For a private cloud or an inspecting proxy, specify the CA file (--ca) of your "
         "organization in the account settings."))
no_tls = Trouble(NotTrusted,
    text("The TLS connection to {host} failed, so nothing was sent."),
    text("Check whether the endpoint in the account settings needs http:// or https://, and its " "port."))
no_proxy = Trouble(Unreachable,
    text("The proxy {proxy} is not responding."),
    text("Check the proxy in the account settings, and the network connection."))
proxy_wants_password = Trouble(Unreachable,
    text("The proxy {proxy} rejected its user and password."),
    text("Enter them again in the account settings."))
proxy_lets_nobody_through = Trouble(Unreachable,
    text("The proxy {proxy} does not allow access to {host}."),
    text("Ask its administrator to allow this host, or use another proxy."))
too_slow = Trouble(ServiceTrouble,
    text("{host} did not respond in time."),
    text("Check the network connection, then try again."))
far_too_slow = Trouble(TooSlow, too_slow.title, too_slow.hint)
cut_off = Trouble(ServiceTrouble,
    text("The connection to {host} was lost."),
    text("Check the network connection, then try again."))
# fmt: on


def expired_token(answer: ErrorResponse, *_: str) -> AppError:
    keys = answer.service.credentials
    title = text("The temporary keys {key} are no longer valid.", key=keys.hint)
    if keys.expires is not None and keys.expires <= datetime.now(UTC):
        title = text("The temporary keys {key} expired at {time}.", key=keys.hint, time=moment_words(keys.expires))
    return KeysRefused(title, text("Get new ones in the console and paste them."), answer.detail)


def wrong_clock(answer: ErrorResponse, *_: str) -> AppError:
    off_by = round(abs(seconds_ahead(answer.date) or 0.0) / 60)  # 0: the server did not say
    title = (
        count_text(
            "The clock of this computer is off by {count} minute.",
            "The clock of this computer is off by {count} minutes.",
            off_by,
        )
        if off_by
        else text("The clock of this computer is off by more than 15 minutes.")
    )
    return ClockOff(title, text("Turn on automatic time and time zone, then try again."), answer.detail)


def by_status(answer: ErrorResponse, *_: str) -> AppError:
    """For codes without a rule of their own."""
    match answer.status:
        case 407:
            return proxy_refused(answer.service, 407, answer.detail)
        case 408:
            return too_slow(answer.service, answer.detail)
        case 429:
            return too_many_requests(answer)
        case 401 | 403:
            return no_right(answer)
        case 511:  # a network that wants somebody to sign in, and says so
            return not_the_service(answer)
        case status:
            return service_failed(answer) if status >= 500 else refused(answer)


# The line broke while TLS was spoken: nobody said that anything is wrong with it.
_BROKEN_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


# By the numbers of OpenSSL, X509_V_ERR_…
_BY_CERTIFICATE = {
    9: early_certificate,
    10: expired_certificate,
    18: self_signed,
    62: certificate_of_another,
    64: certificate_of_another,
    **dict.fromkeys((2, 19, 20, 21), unknown_authority),
}


def mistrusted(error: ssl.SSLCertVerificationError, host: str) -> tuple[Text, Text]:
    """What is wrong with the certificate of a host, and what to do."""
    meaning = _BY_CERTIFICATE.get(error.verify_code, not_trusted)
    return meaning.title.with_fields(host=host), meaning.hint


def asks_for_authority(error: ssl.SSLCertVerificationError) -> bool:
    """Whether a CA file would help."""
    return _BY_CERTIFICATE.get(error.verify_code) in (self_signed, unknown_authority)


def is_page(content_type: str, body: bytes) -> bool:
    """Whether this is meant for people, as no answer of a service is."""
    return _PAGE.match(body) is not None or (not body and content_type.partition(";")[0].strip().lower() == "text/html")


def network_trouble(error: BaseException, service: Service) -> ServiceTrouble:
    """Unreachable when certainly nothing was sent, else ServiceTrouble."""
    detail = service.masked(f"{type(error).__name__}: {error}")
    if service.proxy and (status := _TUNNEL.search(str(error))):
        return proxy_refused(service, int(status[1]), detail)
    if service.proxy and isinstance(error, ConnectionRefusedError | socket.gaierror):
        return no_proxy(service, detail)
    if isinstance(error, ConnectionRefusedError):
        return not_running(service, detail)
    if isinstance(error, socket.gaierror):
        return host_unknown(service, detail)
    if isinstance(error, ssl.SSLCertVerificationError):
        return _BY_CERTIFICATE.get(error.verify_code, not_trusted)(service, detail)
    if isinstance(error, ssl.SSLError) and not isinstance(error, _BROKEN_OFF):
        return no_tls(service, detail)
    if isinstance(error, TimeoutError):
        return (far_too_slow if isinstance(error, OutOfTime) else too_slow)(service, detail)
    return cut_off(service, detail)


def not_running(service: Service, detail: str) -> Unreachable:
    return (lab_not_running if service.is_lab else nothing_answers)(service, detail)


def proxy_refused(service: Service, status: int, detail: str) -> Unreachable:
    return (proxy_wants_password if status == 407 else proxy_lets_nobody_through)(service, detail)


def unusable_certificates(service: Service, ca_file: str, detail: str) -> InvalidInput:
    return InvalidInput(
        text("“{file}” is not a file of certificates.", file=ca_file),
        text("Specify a CA file in PEM format (BEGIN CERTIFICATE) in the settings of the account, or none."),
        service.masked(detail),
    )


def seconds_ahead(server_date: str) -> float | None:
    """By how much the server's clock is before ours; None when it did not say."""
    there = http_moment(server_date)
    return None if there is None else (there - datetime.now(UTC)).total_seconds()


def seconds_until(retry_after: str) -> float | None:
    """How long to wait: a number, or the moment itself; None when it says neither."""
    try:
        wanted_s = float(retry_after[:_LONGEST_NUMBER])
    except ValueError:
        ahead_s = seconds_ahead(retry_after)
        if ahead_s is None:
            return None
        wanted_s = ahead_s
    return None if math.isnan(wanted_s) else min(max(wanted_s, 0.0), _LONGEST_WAIT_S)
