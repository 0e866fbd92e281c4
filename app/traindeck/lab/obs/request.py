"""One request to the object store, understood, and what is sent back: headers of the dialect and XML documents."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from urllib.parse import quote, unquote_plus, unquote_to_bytes
from xml.sax.saxutils import escape

from aiohttp import web

from traindeck.lab.accounts import LabAccount
from traindeck.lab.faults import NO_TROUBLE, Trouble
from traindeck.lab.obs.errors import AccessDenied, NotImplementedHere, ObsError
from traindeck.lab.obs.records import NULL, BucketInfo, text_bytes
from traindeck.lab.ports import FOREIGN, bound_port, is_foreign_origin, loopback_host
from traindeck.lab.signing.request import RawRequest, Verified, raw_request
from traindeck.lab.signing.signatures import Dialect, dialect_of

# What a name of a header is made of.
TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# They sign a URL or name the operation for logs; none of them is a sub-resource.
_NOT_SUB_RESOURCES = frozenset({"accesskeyid", "awsaccesskeyid", "expires", "signature", "x-id"})
_SIGNING_PREFIXES = ("x-amz-", "x-obs-security-token")


@dataclass
class ObsRequest:
    """Filled in two steps: `understood` from the wire alone, then the account once the signature is checked."""

    http: web.BaseRequest
    raw: RawRequest
    bucket: str
    key: str
    dialect: Dialect
    request_id: str
    is_foreign: bool = False
    foreign_origin: str = ""
    verified: Verified | None = None
    account: LabAccount | None = None
    trouble: Trouble = NO_TROUBLE
    # Whether there is an account of this id.
    is_account: Callable[[str], bool] = lambda _: False
    # Headers that go with every answer to this request.
    with_answer: Mapping[str, str] = field(default_factory=dict)

    @property
    def method(self) -> str:
        return self.raw.method

    @property
    def resource(self) -> str:
        return "/" + "/".join(part for part in (self.bucket, self.key) if part)

    @cached_property
    def query(self) -> Mapping[str, str]:
        """Decoded parameters, without those of the signature; the first of a repeated name counts."""
        found: dict[str, str] = {}
        for name, value in self.raw.query_pairs:
            lower = unquote_plus(name).lower()
            if lower not in _NOT_SUB_RESOURCES and not lower.startswith(_SIGNING_PREFIXES):
                found.setdefault(unquote_plus(name), _lenient((value or "").replace("+", " ")))
        return found

    def only_these(self, *names: str) -> None:
        """Refuse what this operation does not know: an unknown sub-resource taken as a plain PUT loses data."""
        unknown = [name for name in self.query if name not in names]
        if unknown:
            raise NotImplementedHere(f"the parameter {unknown[0]!r} on {self.method}")

    def ours(self, name: str) -> str | None:
        """A header of the dialect, such as "acl" for x-obs-acl or x-amz-acl."""
        return self.raw.header(self.dialect.value + name)

    def in_any_dialect(self, name: str) -> str | None:
        """A header some clients of one dialect send with the prefix of the other."""
        return self.raw.header(f"x-obs-{name}") or self.raw.header(f"x-amz-{name}")

    @property
    def version(self) -> str | None:
        """The version of the object asked for, None for the newest."""
        return self.query.get("versionId")

    @property
    def asker(self) -> str | None:
        return self.account.domain_id if self.account else None

    def our_headers(self) -> Mapping[str, str]:
        prefix = self.dialect.value
        return {
            name.removeprefix(prefix): ",".join(values)
            for name, values in self.raw.by_name.items()
            if name.startswith(prefix)
        }

    @property
    def payer(self) -> LabAccount:
        if self.account is None:
            raise AccessDenied
        return self.account


def understood(http: web.BaseRequest) -> ObsRequest:
    port, hosts = bound_port(http), http.headers.getall("Host", [])
    host = loopback_host(hosts[0], port, with_bucket=True) if len(hosts) == 1 else None
    raw = raw_request(http, host_bucket=host or "")
    # Not a secret; asking the system for randomness lets go of the interpreter, which a small request feels.
    request_id = f"{random.getrandbits(128):032X}"
    request = ObsRequest(http, raw, "", "", dialect_of(raw), request_id)
    if host is None:
        request.is_foreign = True
        return request
    foreign = [origin for origin in http.headers.getall("Origin", []) if is_foreign_origin(origin, port)]
    # Only the owner of a bucket can let a web page in, by the CORS rules of the bucket.
    request.foreign_origin = foreign[0] if len(foreign) == 1 else ""
    request.is_foreign = len(foreign) > 1
    path = raw.raw_path.removeprefix("/")
    bucket, _, key = ("", "", path) if host else path.partition("/")
    request.bucket, request.key = host or _lenient(bucket), _lenient(key)
    return request


def check_understood(request: ObsRequest) -> None:
    """Raise what made the request unfit to be served; apart from `understood`, so that the answer has its id."""
    if request.is_foreign:
        raise AccessDenied(FOREIGN)
    for text in (request.key, request.bucket):
        text_bytes(text, "key", "The key is not valid UTF-8.")


def _lenient(encoded: str) -> str:
    return unquote_to_bytes(encoded).decode("utf-8", "surrogateescape")


NAMESPACES = {
    Dialect.OBS: "http://obs.myhwclouds.com/doc/2015-06-30/",
    Dialect.S3: "http://s3.amazonaws.com/doc/2006-03-01/",
}
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
# XML 1.0, section 2.2: no document holds these, not even as references.
_UNFIT = r"\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
# With them what a parser would change if it stood there as it is.
_DELICATE = re.compile(rf"[{_UNFIT}\r\x7f]")
_DELICATE_FIT = "\r\x7f"


def text(value: str) -> str:
    """Character data; most keys need no second look. What no document can hold is percent-encoded."""
    escaped = escape(value) if "&" in value or "<" in value or ">" in value else value
    return _DELICATE.sub(_written, escaped) if _DELICATE.search(escaped) else escaped


def _written(match: re.Match[str]) -> str:
    letter = match[0]
    return f"&#x{ord(letter):X};" if letter in _DELICATE_FIT else quote(letter)


def fits_xml(value: str) -> bool:
    return not (found := _DELICATE.findall(value)) or all(letter in _DELICATE_FIT for letter in found)


def element(name: str, value: str | int | bool) -> str:
    if isinstance(value, bool):
        value = "true" if value else "false"
    return f"<{name}>{text(str(value))}</{name}>"


def elements(**values: str | int | bool) -> str:
    """In this order."""
    return "".join(element(name, value) for name, value in values.items())


def stamp(moment_ms: int) -> str:
    """The dates inside documents: always with a fraction, as the SDK parses no others."""
    moment = datetime.fromtimestamp(moment_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment_ms % 1000:03d}Z"


def etag_element(etag: str) -> str:
    return f"<ETag>&quot;{etag}&quot;</ETag>"


def identity(owner: str, dialect: Dialect) -> str:
    return element("ID", owner) + (element("DisplayName", owner) if dialect is Dialect.S3 else "")


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


def version_header(request: ObsRequest, bucket: BucketInfo, version: str) -> dict[str, str]:
    return {f"{request.dialect.value}version-id": version or NULL} if bucket.versioning else {}


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
    told = {"Code": error.code, "Message": error.message, "Resource": request.resource}
    told |= {"RequestId": request.request_id, "HostId": headers[f"{prefix}id-2"], **error.details}
    body = f"{_DECLARATION}<Error>{elements(**told)}</Error>"
    headers["Content-Type"] = "application/xml"
    return web.Response(status=error.status, body=body.encode("utf-8", "backslashreplace"), headers=headers)
