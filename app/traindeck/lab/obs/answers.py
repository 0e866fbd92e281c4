"""What the object store sends: headers of the dialect, XML documents, error documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote
from xml.sax.saxutils import escape

from aiohttp import web

from traindeck.lab.obs.errors import ObsError
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.signing.signatures import Dialect

NAMESPACES = {
    Dialect.OBS: "http://obs.myhwclouds.com/doc/2015-06-30/",
    Dialect.S3: "http://s3.amazonaws.com/doc/2006-03-01/",
}
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
# What a parser would change or refuse if it stood there as it is.
_DELICATE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def text(value: str) -> str:
    """Character data; most keys need no second look."""
    escaped = escape(value) if "&" in value or "<" in value or ">" in value else value
    return _DELICATE.sub(lambda match: f"&#x{ord(match[0]):X};", escaped) if _DELICATE.search(escaped) else escaped


def element(name: str, value: str | int | bool) -> str:
    if isinstance(value, bool):
        value = "true" if value else "false"
    return f"<{name}>{text(str(value))}</{name}>"


def stamp(moment: datetime) -> str:
    """The dates inside documents: always with a fraction, as the SDK parses no others."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def url_text(value: str) -> str:
    """A text inside a document of `encoding-type=url`."""
    return quote(value, safe="/")


def answer_headers(request: ObsRequest) -> dict[str, str]:
    prefix = request.dialect.value
    return {
        f"{prefix}request-id": request.request_id,
        f"{prefix}id-2": f"lab-{request.request_id[:16].lower()}",
        "Server": "OBS",
        **request.with_answer,
    }


def empty(request: ObsRequest, status: int, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(status=status, headers={**answer_headers(request), **(headers or {})})


def document(request: ObsRequest, root: str, content: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """One root with the namespace of the dialect; the SDK finds nothing in a document that declares more."""
    body = f'{_DECLARATION}<{root} xmlns="{NAMESPACES[request.dialect]}">{content}</{root}>'
    return web.Response(
        body=body.encode("utf-8"),
        headers={**answer_headers(request), **(headers or {}), "Content-Type": "application/xml"},
    )


def error_answer(request: ObsRequest, error: ObsError) -> web.Response:
    headers = {**answer_headers(request), **error.headers}
    prefix = request.dialect.value
    if request.method == "HEAD":
        headers[f"{prefix}error-code"] = error.code
        headers[f"{prefix}error-message"] = error.message
        return web.Response(status=error.status, headers=headers)
    parts = [
        element("Code", error.code),
        element("Message", error.message),
        element("Resource", request.resource.encode("utf-8", "backslashreplace").decode("utf-8")),
        element("RequestId", request.request_id),
        element("HostId", headers[f"{prefix}id-2"]),
        *(
            element(name, value.encode("utf-8", "backslashreplace").decode("utf-8"))
            for name, value in error.details.items()
        ),
    ]
    body = f"{_DECLARATION}<Error>{''.join(parts)}</Error>"
    headers["Content-Type"] = "application/xml"
    return web.Response(status=error.status, body=body.encode("utf-8"), headers=headers)
