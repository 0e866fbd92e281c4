"""A small object store that takes files in parts, as the OBS wire does it; one bucket, signatures not looked at."""

from __future__ import annotations

import base64
import hashlib
from types import TracebackType

from aiohttp import web


class PartsServer:
    """Between `async with` and its end; the lists and knobs are for the test."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.received: list[tuple[int, int]] = []
        self.lose_answer_of_complete = False
        self.fail_complete_inside = False
        self.refuse_part: int | None = None
        self.url = ""

    async def __aenter__(self) -> PartsServer:
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        key = request.path
        upload = request.query.get("uploadId", "")
        match request.method:
            case "POST" if "uploads" in request.query:
                upload = f"upload{len(self.received)}-{len(self.uploads)}"
                self.uploads[upload] = {}
                return _xml(f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId>")
            case "PUT" if upload:
                return self._part(request, upload, body)
            case "POST" if upload:
                return self._complete(request, key, upload)
            case "DELETE" if upload:
                self.uploads.pop(upload, None)
                return web.Response(status=204)
            case "HEAD" if key in self.objects:
                content = self.objects[key]
                return web.Response(headers={"ETag": self._etag(key), "Content-Length": str(len(content))})
        return _error(404, "NoSuchKey")

    def _part(self, request: web.BaseRequest, upload: str, body: bytes) -> web.Response:
        number = int(request.query["partNumber"])
        self.received.append((number, len(body)))
        if number == self.refuse_part:
            return _error(403, "AccessDenied")
        md5 = hashlib.md5(body, usedforsecurity=False)
        if base64.b64decode(request.headers["Content-MD5"]) != md5.digest():
            return _error(400, "BadDigest")
        self.uploads[upload][number] = body
        return web.Response(headers={"ETag": f'"{md5.hexdigest()}"'})

    def _complete(self, request: web.BaseRequest, key: str, upload: str) -> web.Response:
        if upload not in self.uploads:
            return _error(404, "NoSuchUpload")
        if self.fail_complete_inside:
            return _xml("<Error><Code>InternalError</Code>")
        parts = self.uploads.pop(upload)
        self.objects[key] = b"".join(parts[number] for number in sorted(parts))
        hashes = b"".join(hashlib.md5(parts[number], usedforsecurity=False).digest() for number in sorted(parts))
        self._etags = {key: f'"{hashlib.md5(hashes, usedforsecurity=False).hexdigest()}-{len(parts)}"'}
        if self.lose_answer_of_complete:
            self.lose_answer_of_complete = False
            assert request.transport is not None
            request.transport.abort()
        return _xml(f"<CompleteMultipartUploadResult><ETag>{self._etag(key)}</ETag>")

    def _etag(self, key: str) -> str:
        return self._etags[key]


def _xml(text: str) -> web.Response:
    root = text[1 : text.index(">")]
    return web.Response(text=f"<?xml version='1.0'?>{text}</{root}>", content_type="application/xml")


def _error(status: int, code: str) -> web.Response:
    answer = _xml(f"<Error><Code>{code}</Code><Message>no</Message>")
    answer.set_status(status)
    return answer
