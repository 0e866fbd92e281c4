"""One request to the object store, understood: who, which bucket, which key, which dialect."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote_plus, unquote_to_bytes

from aiohttp import web

from traindeck.lab.accounts import LabAccount
from traindeck.lab.faults import NO_TROUBLE, Trouble
from traindeck.lab.obs.errors import AccessDenied, InvalidArgument, NotImplementedHere
from traindeck.lab.ports import is_foreign_origin, loopback_host
from traindeck.lab.signing.signatures import Dialect, RawRequest, Verified, dialect_of, raw_request

# They sign a URL or name the operation for logs; none of them is a sub-resource.
_NOT_SUB_RESOURCES = frozenset({"accesskeyid", "awsaccesskeyid", "expires", "signature", "x-id"})
FOREIGN = "The Lab answers its own computer only: foreign Host or Origin header."
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


def understood(http: web.BaseRequest, port: int) -> ObsRequest:
    hosts = http.headers.getall("Host", [])
    host = loopback_host(hosts[0], port, with_bucket=True) if len(hosts) == 1 else None
    raw = raw_request(http, host_bucket=host.bucket if host else None)
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
    if host.bucket is None:
        bucket, _, key = raw.raw_path.removeprefix("/").partition("/")
        request.bucket, request.key = _lenient(bucket), _lenient(key)
    else:
        request.bucket, request.key = host.bucket, _lenient(raw.raw_path.removeprefix("/"))
    return request


def check_understood(request: ObsRequest) -> None:
    """Raise what made the request unfit to be served; apart from `understood`, so that the answer has its id."""
    if request.is_foreign:
        raise AccessDenied(FOREIGN)
    try:
        request.key.encode("utf-8")
        request.bucket.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidArgument("key", ascii(request.key), "The key is not valid UTF-8.") from error


def _lenient(encoded: str) -> str:
    return unquote_to_bytes(encoded).decode("utf-8", "surrogateescape")
