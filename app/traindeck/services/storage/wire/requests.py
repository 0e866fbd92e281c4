"""Requests as they are written on the wire."""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import b64encode
from binascii import b2a_base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from urllib.parse import quote, unquote

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile, Signature
from traindeck.domain.storage.objects import ObjectPath, as_written
from traindeck.runtime.clock import http_date
from traindeck.services.storage.data_ports import Body, Counted
from traindeck.services.storage.endpoint import dialect_of
from traindeck.services.storage.wire.exchange import ChooseSink

CRC64_NAME = "checksum-crc64ecma"
"""The header, behind the prefix of the dialect."""


@dataclass(slots=True)
class Request:
    """One request to the object store, before it is signed."""

    method: str
    path: ObjectPath
    """Without a bucket: the account itself is asked."""
    query: dict[str, str | None] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Body | None = None
    take: ChooseSink | None = None
    counted: Counted | None = None
    is_signed: bool = True  # else asked as anybody could


def target(request: Request, *, path_style: bool) -> str:
    """Path and query, encoded exactly as they are signed."""
    bucket, key = request.path.bucket, request.path.key
    path = f"/{bucket}" if path_style and bucket else ""
    path += "/" + encoded_key(key) if key or not path else ""
    if not request.query:
        return path
    pairs = [
        quote(name, safe="") if value is None else f"{quote(name, safe='')}={quote(value, safe='')}"
        for name, value in request.query.items()
    ]
    return f"{path}?{'&'.join(pairs)}"


def encoded_key(key: str) -> str:
    return quote(key, safe="/~")


def body_headers(prefix: str, body: Body) -> dict[str, str]:
    headers = {"Content-Length": str(body.size_bytes)}
    if body.crc64 is None:
        headers["Content-MD5"] = b64encode(body.md5).decode()
    else:
        headers |= crc64_header(prefix, body.crc64)
    return headers


def crc64_header(prefix: str, crc64: int) -> dict[str, str]:
    return {f"{prefix}{CRC64_NAME}": str(crc64)}


def crc64_in(prefix: str, headers: Mapping[str, str]) -> int | None:
    """What an answer says of the content it is about; None: nothing that could be a CRC-64."""
    told = headers.get(f"{prefix}{CRC64_NAME}", "")
    is_number = told.isascii() and told.isdecimal() and len(told) <= 20
    value = int(told) if is_number else 1 << 64
    return value if value < 1 << 64 else None


@cache
def _types() -> dict[str, str]:
    """Without the system's own tables, so that a file has the same type wherever it comes from."""
    from mimetypes import MimeTypes  # not for those who only list and fetch

    return MimeTypes(filenames=()).types_map[True]


def type_header(key: str) -> dict[str, str]:
    found = _types().get("." + key.rpartition("/")[2].rpartition(".")[2].lower())
    return {"Content-Type": found} if found else {}


def metadata_headers(prefix: str, metadata: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}meta-{name}": as_written(value) for name, value in metadata.items()}


def head_headers(prefix: str, head: Mapping[str, str]) -> dict[str, str]:
    """All that is said about an object, spelled as OBS does, in the dialect of this prefix."""
    # Not for those who only list and fetch.
    from traindeck.domain.storage.object_facts import CONTENT_TYPE
    from traindeck.services.storage.heads import on_wire

    return {"Content-Type" if name == CONTENT_TYPE else name: value for name, value in on_wire(head, prefix).items()}


def metadata_in(prefix: str, headers: Mapping[str, str]) -> dict[str, str]:
    start = f"{prefix}meta-"
    return {name[len(start) :]: unquote(value) for name, value in headers.items() if name.startswith(start)}


_SIGNED = frozenset({"delete", "metadata", "partNumber", "uploadId", "uploads", "versionId", "versioning", "versions"})
_UNSIGNED = frozenset({
    "delimiter", "encoding-type", "key-marker", "marker", "max-keys", "max-parts", "max-uploads", "part-number-marker",
    "prefix", "upload-id-marker", "version-id-marker",
})  # fmt: skip


class Signer:
    """Signs the requests of one account."""

    def __init__(self, profile: Profile, credentials: Credentials, *, path_style: bool) -> None:
        dialect = dialect_of(profile, path_style=path_style)
        self._is_v4 = dialect is Signature.V4
        self._prefix = "x-obs-" if dialect is Signature.OBS else "x-amz-"
        self._word = "OBS" if dialect is Signature.OBS else "AWS"
        self._credentials = credentials
        self._secret = credentials.secret_key.reveal().encode()
        self._region = profile.region
        self._path_style = path_style
        self._second = 0
        self._date = ""
        # By how much the service's clock is ahead of ours.
        self.clock_ahead_s = 0.0

    def sign(
        self, method: str, bucket: str, path: str, query: Mapping[str, str | None], headers: dict[str, str]
    ) -> None:
        """Complete `headers`: the date, the token, the signature over it all; `path` is encoded as it is sent."""
        if self._credentials.token is not None:
            headers[f"{self._prefix}security-token"] = self._credentials.token.reveal()
        now = time.time() + self.clock_ahead_s
        if self._is_v4:
            self._sign_v4(now, method, path, query, headers)
            return
        if int(now) != self._second:
            self._second = int(now)
            self._date = http_date(self._second)
        headers["Date"] = self._date
        to_sign = self._lines(method, self._resource(bucket, path, query), headers)
        signature = b2a_base64(hmac.digest(self._secret, to_sign.encode(), "sha1"), newline=False).decode()
        headers["Authorization"] = f"{self._word} {self._credentials.access_key}:{signature}"

    def _lines(self, method: str, resource: str, headers: Mapping[str, str]) -> str:
        prefix, meta = self._prefix, f"{self._prefix}meta-"
        own = [(name.lower(), value) for name, value in headers.items() if name.lower().startswith(prefix)]
        lines = "".join(
            f"{name}:{value.strip() if name.startswith(meta) else value}\n" for name, value in sorted(own)
        ) if own else ""  # fmt: skip
        content = f"{headers.get('Content-MD5', '')}\n{headers.get('Content-Type', '')}"
        return f"{method}\n{content}\n{self._date}\n{lines}{resource}"

    def _resource(self, bucket: str, path: str, query: Mapping[str, str | None]) -> str:
        # With the bucket in the host name it is not part of the path.
        resource = path if self._path_style or not bucket else f"/{bucket}{path}"
        if not query:
            return resource
        if strange := query.keys() - _SIGNED - _UNSIGNED:
            raise ValueError(f"nobody has said whether these are signed: {sorted(strange)}")
        pairs = [
            name if value is None else f"{name}={value}" for name, value in sorted(query.items()) if name in _SIGNED
        ]
        return f"{resource}?{'&'.join(pairs)}" if pairs else resource

    def _sign_v4(
        self, now: float, method: str, path: str, query: Mapping[str, str | None], headers: dict[str, str]
    ) -> None:
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
        # The SDK sends the plain date only, which other services than OBS refuse.
        headers["x-amz-date"] = stamp
        headers["x-amz-content-sha256"] = "UNSIGNED-PAYLOAD"
        ordered = sorted((name.lower(), value) for name, value in headers.items())
        names = ";".join(name for name, _ in ordered)
        lines = "".join(f"{name}:{value}\n" for name, value in ordered)
        asked = sorted(query.items())
        pairs = "&".join(f"{quote(name, safe='')}={quote(value or '', safe='')}" for name, value in asked)
        request = f"{method}\n{path}\n{pairs}\n{lines}\n{names}\nUNSIGNED-PAYLOAD"
        scope = f"{stamp[:8]}/{self._region}/s3/aws4_request"
        digest = hashlib.sha256(request.encode()).hexdigest()
        key = b"AWS4" + self._secret
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}".encode(), "sha256").hex()
        credential = f"{self._credentials.access_key}/{scope}"
        headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credential},SignedHeaders={names},Signature={signature}"
        )
