"""The rule that keeps web pages and other computers out: only loopback names, only the bound port."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^:\[\]/@?#\s]+)(?::(?P<port>\d{1,5}))?")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_VIRTUAL = ".localhost"


@dataclass(frozen=True, slots=True)
class LoopbackHost:
    """A Host header of ours; the bucket is named by `bucket.localhost`."""

    bucket: str | None


def loopback_host(value: str, port: int, *, with_bucket: bool = False) -> LoopbackHost | None:
    """The header taken apart, or None where it names another machine or port."""
    match = _HOST.fullmatch(value.strip())
    if match is None or int(match["port"] or 80) != port:
        return None
    name = match["name"].lower()
    if name in _LOOPBACK:
        return LoopbackHost(None)
    if with_bucket and name.endswith(_VIRTUAL) and len(name) > len(_VIRTUAL):
        return LoopbackHost(name.removesuffix(_VIRTUAL))
    return None


def is_foreign(hosts: Sequence[str], origins: Sequence[str], port: int) -> bool:
    """A page of another site reaches a loopback port under its own name or with its own Origin."""
    if len(hosts) != 1 or loopback_host(hosts[0], port) is None:
        return True
    return any(is_foreign_origin(origin, port) for origin in origins)


def is_foreign_origin(origin: str, port: int) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return True
    return parts.scheme != "http" or bool(parts.path) or loopback_host(parts.netloc, port) is None
