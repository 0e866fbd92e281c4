"""Requests as they are written on the wire."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from mimetypes import MimeTypes
from urllib.parse import quote, unquote

from traindeck.domain.objects import ObjectPath
from traindeck.services.data_ports import Body, Counted
from traindeck.services.storage.wire.connection import Take

# Without the system's own tables, so that a file has the same type wherever it comes from.
_TYPES = MimeTypes(filenames=()).types_map[True]
# What stays as it is in the value of a header, as the SDK has it.
_PLAIN_IN_HEADERS = " ;/?:@&=+$,'*"


@dataclass(slots=True)
class Request:
    """One request to the object store, before it is signed."""

    method: str
    path: ObjectPath
    query: dict[str, str | None] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Body | None = None
    take: Take | None = None
    counted: Counted | None = None


def target(request: Request, *, path_style: bool) -> str:
    """Path and query, encoded exactly as they are signed."""
    bucket, key = request.path.bucket, request.path.key
    path = f"/{bucket}" if path_style else ""
    path += "/" + encoded_key(key) if key or not path_style else ""
    if not request.query:
        return path
    pairs = [
        quote(name, safe="") if value is None else f"{quote(name, safe='')}={quote(value, safe='')}"
        for name, value in request.query.items()
    ]
    return f"{path}?{'&'.join(pairs)}"


def encoded_key(key: str) -> str:
    return quote(key, safe="/~")


def body_headers(body: Body) -> dict[str, str]:
    return {"Content-Length": str(body.size_bytes), "Content-MD5": b64encode(body.md5).decode()}


def type_header(key: str) -> dict[str, str]:
    found = _TYPES.get("." + key.rpartition("/")[2].rpartition(".")[2].lower())
    return {"Content-Type": found} if found else {}


def metadata_headers(prefix: str, metadata: Mapping[str, str]) -> dict[str, str]:
    """As the SDK writes them, so that it reads what we wrote."""
    return {f"{prefix}meta-{name}": quote(value, safe=_PLAIN_IN_HEADERS) for name, value in metadata.items()}


def metadata_in(prefix: str, headers: Mapping[str, str]) -> dict[str, str]:
    start = f"{prefix}meta-"
    return {name[len(start) :]: unquote(value) for name, value in headers.items() if name.startswith(start)}
