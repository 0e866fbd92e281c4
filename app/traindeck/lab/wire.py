"""From an aiohttp request to the raw one that signatures are checked on."""

from __future__ import annotations

from aiohttp import web

from traindeck.lab.signing.signatures import RawRequest


def raw_request(request: web.BaseRequest, *, host_bucket: str | None = None, body_sha256: str = "") -> RawRequest:
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
