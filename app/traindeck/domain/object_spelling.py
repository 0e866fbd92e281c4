"""The many ways people write where something is in object storage, read as a bucket and a key."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qs, unquote, urlsplit

_SCHEME = re.compile(r"(?:obs|s3[an]?)://?", re.IGNORECASE)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:obs|s3[an]?|https?):", re.IGNORECASE)
_CLOUD_HOST = re.compile(r"[a-z0-9.-]+\.myhuaweicloud\.(?:com|cn|eu)(?:/|$)")
_QUOTES = ('""', "''", "``", "“”", "‘’", "「」", "<>")
# The part of a host name from which on it names the service and no longer the bucket.
_SERVICE = re.compile(r"obs|obsv3|obs-website|s3|s3-.+")
_NUMBERS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|.*:.*|localhost")
_BLANKS = " \t\r\n"  # any other space may be the end of a name
_CONSOLE = "/obs/manage"
_IN_CONSOLE = ("manage", "manager", "bucket", "buckets")
_KEY_NAMES = ("prefix", "path", "key", "objectKey")


def spelled(spelling: str) -> tuple[str, str] | None:
    """The bucket and the key, neither of them checked; None: an address that names no place."""
    rest = _unquoted(spelling)
    if _WEB.match(rest):
        return _web(rest)
    if _CLOUD_HOST.match(rest):
        return _web(f"https://{rest}")
    scheme = _SCHEME.match(rest)
    rest = rest[scheme.end() :] if scheme else rest
    rest = rest.replace("\\", "/") if not scheme and "/" not in rest else rest
    bucket, _, key = rest.removeprefix("/").partition("/")
    return bucket, key


def names_a_service(spelling: str) -> bool:
    """It is no file of this computer, even where slashes are missing: it begins as an address does."""
    return _ADDRESS.match(_unquoted(spelling)) is not None


def _unquoted(spelling: str) -> str:
    rest = spelling.strip(_BLANKS)
    while len(rest) > 1 and rest[0] + rest[-1] in _QUOTES:
        rest = rest[1:-1].strip(_BLANKS)
    return rest


def _web(address: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    labels = host.split(".")
    if parts.fragment.startswith(_CONSOLE):
        return _console(parts.fragment, parts.query)
    path = unquote(parts.path.removeprefix("/"))
    services = [number for number, label in enumerate(labels) if _SERVICE.fullmatch(label)]
    if services and services[-1] > 0:
        return ".".join(labels[: services[-1]]), path or _named(parts.query)
    if services or _NUMBERS.fullmatch(host):
        bucket, _, key = path.partition("/")
        return bucket, key or _named(parts.query)
    return None


def _console(route: str, query: str) -> tuple[str, str] | None:
    """The page of a bucket in the web console; the folder it shows stands in the query of the route."""
    place, _, own_query = route.partition("?")
    segments = [unquote(segment) for segment in place.split("/") if segment]
    for before, segment in pairwise(segments):
        if before in _IN_CONSOLE and segment not in _IN_CONSOLE:
            return segment, _named(own_query) or _named(query)
    return None


def _named(query: str) -> str:
    values = parse_qs(query)
    return next((values[name][0].removeprefix("/") for name in _KEY_NAMES if name in values), "")
