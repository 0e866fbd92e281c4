"""What every signature check shares: the request as it came over the wire, and who signed it or why not."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import cached_property, lru_cache
from urllib.parse import quote, unquote, unquote_to_bytes

from aiohttp import web

MAX_SKEW = timedelta(minutes=15)
UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
SecretOf = Callable[[str], str | None]


class Refusal(Enum):
    """Why a request is not believed."""

    UNSIGNED = "unsigned"
    MALFORMED = "malformed"
    UNKNOWN_KEY = "unknown key"
    MISMATCH = "mismatch"
    SKEWED = "skewed"
    EXPIRED = "expired"


@dataclass(eq=False)
class Refused(Exception):
    """No: with the reason, and with the text that was to be signed, for the client to compare."""

    refusal: Refusal
    detail: str = ""
    access_key: str = ""
    string_to_sign: str = ""
    signed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChunkSeed:
    """What the signature of the first chunk of a signed stream grows from."""

    key: bytes = field(repr=False)
    date: str
    scope: str
    signature: str


@dataclass(frozen=True, slots=True)
class Verified:
    """Who asks, and which hash of the body was signed ("" where the scheme signs none)."""

    access_key: str
    payload_hash: str = ""
    chunk_seed: ChunkSeed | None = None


@dataclass(frozen=True)
class RawRequest:
    """A request before any normalisation; header values are UTF-8 text with surrogates for other bytes."""

    method: str
    raw_path: str
    raw_query: str
    headers: Sequence[tuple[str, str]]
    host_bucket: str = ""
    body_sha256: str = ""

    @cached_property
    def by_name(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, value in self.headers:
            found.setdefault(name.lower(), []).append(value.strip())
        return found

    def header(self, name: str) -> str | None:
        values = self.by_name.get(name)
        return values[0] if values else None

    @cached_property
    def query_pairs(self) -> Sequence[tuple[str, str | None]]:
        """Names and values still percent-encoded; None where there is no equals sign."""
        parts = (part.partition("=") for part in self.raw_query.split("&") if part)
        return [(name, value if equals else None) for name, equals, value in parts]

    def query(self, name: str) -> str | None:
        """The decoded value of a parameter, with a plus taken as it stands: signatures and dates need it so."""
        for one, value in self.query_pairs:
            if unquote(one) == name:
                return unquote(value or "")
        return None

    def paths(self) -> list[str]:
        """The path as sent, and as a client that encodes by the book would have signed it."""
        by_the_book = quote(unquote_to_bytes(self.raw_path), safe="/")
        return [self.raw_path] if by_the_book == self.raw_path else [self.raw_path, by_the_book]


def text_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def is_equal(wanted: str, given: str) -> bool:
    """Compares in a time that does not tell how much of a guess was right."""
    return hmac.compare_digest(text_bytes(wanted), text_bytes(given))


def believed(
    access_key: str, signature: str, secret_of: SecretOf, signed: Callable[[str], Iterable[tuple[str, str, Verified]]]
) -> Verified:
    """Who asks, if one of the texts that may have been signed was.

    `signed` tells them, from the secret and the likeliest first: the text, its signature, what it then comes to.
    """
    secret = secret_of(access_key)
    if secret is None:
        raise Refused(Refusal.UNKNOWN_KEY, access_key=access_key)
    first = ""
    for text, wanted, verified in signed(secret):
        if is_equal(wanted, signature):
            return verified
        first = first or text
    raise Refused(Refusal.MISMATCH, access_key=access_key, string_to_sign=first)


def check_skew(access_key: str, signed_at: datetime, now: datetime) -> None:
    if abs(now - signed_at) > MAX_SKEW:
        raise Refused(Refusal.SKEWED, access_key=access_key, signed_at=signed_at)


def keyed(algorithm: str, key: bytes | str, text: str) -> bytes:
    # Not hmac.digest: it lets go of Python's lock, and to get it back takes longer than all else here.
    return hmac.new(text_bytes(key) if isinstance(key, str) else key, text_bytes(text), algorithm).digest()


_BASIC = re.compile(r"\d{8}T\d{6}Z")
_LONGEST_DATE = 64


def parsed_date(text: str) -> datetime | None:
    """An RFC 1123 or ISO basic time; None where it is neither."""
    if not _BASIC.fullmatch(text):
        return http_date(text)
    with suppress(ValueError):
        return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return None


@lru_cache(maxsize=64)  # who sends many small objects says the same for a second
def http_date(text: str) -> datetime | None:
    """The date in a header, in UTC, or None for anything odd."""
    if len(text) > _LONGEST_DATE:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, TypeError, IndexError):  # zones and numbers that the library does not expect
        return None


def raw_request(request: web.BaseRequest, *, host_bucket: str = "", body_sha256: str = "") -> RawRequest:
    target = request.raw_path
    # The absolute form a client uses towards a proxy: what counts is the path behind the host.
    if not target.startswith("/") and "://" in target:
        rest = target.partition("://")[2]
        slash = rest.find("/")
        target = "/" if slash < 0 else rest[slash:]
    path, _, query = target.partition("?")
    headers = tuple(
        (name.decode("latin-1"), value.decode("utf-8", "surrogateescape")) for name, value in request.raw_headers
    )
    return RawRequest(request.method, path, query, headers, host_bucket, body_sha256)
