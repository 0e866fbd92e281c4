"""What every signature check shares: the request as it came over the wire, and the verdict."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import cached_property
from urllib.parse import quote, unquote, unquote_to_bytes

MAX_SKEW = timedelta(minutes=15)
SecretOf = Callable[[str], str | None]


class Refusal(Enum):
    """Why a request is not believed."""

    UNSIGNED = "unsigned"
    MALFORMED = "malformed"
    UNKNOWN_KEY = "unknown key"
    MISMATCH = "mismatch"
    SKEWED = "skewed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Refused:
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
    """Yes: who asks, and which hash of the body was signed ("" where the scheme signs none)."""

    access_key: str
    payload_hash: str = ""
    chunk_seed: ChunkSeed | None = None


Verdict = Verified | Refused


@dataclass(frozen=True)
class RawRequest:
    """A request before any normalisation; header values are UTF-8 text with surrogates for other bytes."""

    method: str
    raw_path: str
    raw_query: str
    headers: Sequence[tuple[str, str]]
    host_bucket: str | None = None
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
        pairs: list[tuple[str, str | None]] = []
        for part in self.raw_query.split("&"):
            if part:
                name, equals, value = part.partition("=")
                pairs.append((name, value if equals else None))
        return pairs

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


def any_equal(candidates: Iterable[str], given: str) -> bool:
    """Compares in a time that does not tell how much of a guess was right."""
    wanted = text_bytes(given)
    return any(hmac.compare_digest(text_bytes(candidate), wanted) for candidate in candidates)


def is_skewed(signed_at: datetime, now: datetime) -> bool:
    return abs(now - signed_at) > MAX_SKEW


_BASIC = re.compile(r"\d{8}T\d{6}Z")


def parsed_date(text: str) -> datetime | None:
    """An RFC 1123 or ISO basic time; None where it is neither."""
    try:
        if _BASIC.fullmatch(text):
            return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
