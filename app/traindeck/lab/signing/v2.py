"""The OBS signature and its twin, AWS version 2: HMAC-SHA1 over a few lines of the request, in a header or a URL."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from urllib.parse import quote, unquote

from traindeck.lab.signing.request import (
    RawRequest,
    Refusal,
    Refused,
    SecretOf,
    Verdict,
    Verified,
    any_equal,
    is_skewed,
    parsed_date,
    text_bytes,
)

# fmt: off
# Compared in lower case. Query names beginning with the prefix of the dialect are signed as well.
SIGNED_NAMES = frozenset({
    "acl", "backtosource", "policy", "torrent", "logging", "location", "storageinfo", "quota", "storageclass",
    "storagepolicy", "requestpayment", "website", "notification", "dispolicy", "lifecycle", "deletebucket", "cors",
    "replication", "encryption", "inventory", "obscompresspolicy", "object-lock", "retention", "directcoldaccess",
    "publicaccessblock", "bucketstatus", "policystatus", "obsbucketalias", "obsalias", "tagging", "metadata",
    "restore", "x-obs-accesslabel", "versions", "versioning", "versionid", "uploads", "uploadid", "partnumber",
    "delete", "append", "position", "truncate", "modify", "rename", "length", "name", "fileinterface",
    "response-content-type", "response-content-language", "response-expires", "response-cache-control",
    "response-content-disposition", "response-content-encoding", "x-image-save-bucket", "x-image-save-object",
    "x-image-process", "x-oss-process", "obsworkflowtriggerpolicy",
})
# Clients disagree about these, so a request is tried with and without them.
DISPUTED_NAMES = frozenset({
    "attname", "customdomain", "cdnnotifyconfiguration", "mirrorbacktosource", "accelerate", "analytics", "metrics",
    "defaultobjectacl", "select", "select-type", "legal-hold",
})
# fmt: on


@dataclass(frozen=True, slots=True)
class Scheme:
    """One of the twins: what its Authorization header begins with, and the names it gives to its parts."""

    word: str
    prefix: str
    key_parameter: str


OBS = Scheme("OBS", "x-obs-", "AccessKeyId")
AWS2 = Scheme("AWS", "x-amz-", "AWSAccessKeyId")


def verify_header(request: RawRequest, scheme: Scheme, secret_of: SecretOf, now: datetime) -> Verdict:
    authorization = request.header("authorization") or ""
    access_key, colon, signature = authorization.removeprefix(scheme.word).strip().rpartition(":")
    if not colon or not access_key or not signature:
        return Refused(Refusal.MALFORMED, "The Authorization header is malformed.")
    prefixed = request.header(scheme.prefix + "date")
    plain = request.header("date")
    signed_at = parsed_date(prefixed or plain or "")
    if signed_at is None:
        message = f"AWS authentication requires a valid Date or {scheme.prefix}date header."
        return Refused(Refusal.MALFORMED, message if scheme is AWS2 else message.removeprefix("AWS "), access_key)
    refused = _mismatch(request, scheme, access_key, signature, "" if prefixed else plain or "", secret_of)
    if refused:
        return refused
    if is_skewed(signed_at, now):
        return Refused(Refusal.SKEWED, access_key=access_key, signed_at=signed_at)
    return Verified(access_key)


def verify_url(request: RawRequest, scheme: Scheme, secret_of: SecretOf, now: datetime) -> Verdict:
    access_key = request.query(scheme.key_parameter) or ""
    signature = request.query("Signature")
    expires = request.query("Expires") or ""
    if not access_key or not signature or not (expires.isascii() and expires.isdigit() and len(expires) <= 12):
        message = f"Query-string authentication requires Signature, Expires and {scheme.key_parameter}."
        return Refused(Refusal.MALFORMED, message)
    refused = _mismatch(request, scheme, access_key, signature, expires, secret_of)
    if refused:
        return refused
    if now.timestamp() > int(expires):
        return Refused(Refusal.EXPIRED, "Request has expired.", access_key)
    return Verified(access_key)


def _mismatch(
    request: RawRequest, scheme: Scheme, access_key: str, signature: str, date_line: str, secret_of: SecretOf
) -> Refused | None:
    secret = secret_of(access_key)
    if secret is None:
        return Refused(Refusal.UNKNOWN_KEY, access_key=access_key)
    key = text_bytes(secret)
    first = ""
    for text in strings_to_sign(request, scheme, date_line):
        first = first or text
        digest = hmac.new(key, text_bytes(text), hashlib.sha1).digest()
        if any_equal([base64.b64encode(digest).decode("ascii")], signature):
            return None
    return Refused(Refusal.MISMATCH, access_key=access_key, string_to_sign=first)


def strings_to_sign(request: RawRequest, scheme: Scheme, date_line: str) -> Iterator[str]:
    """What a client may have signed, the likeliest first."""
    head = [
        request.method,
        request.header("content-md5") or "",
        request.header("content-type") or "",
        date_line,
        *(
            f"{name}:{','.join(values)}"
            for name, values in sorted(request.by_name.items())
            if name.startswith(scheme.prefix)
        ),
        "",
    ]
    start = "\n".join(head)
    for resource, sub_resources in product(_resources(request), _sub_resources(request, scheme)):
        yield start + resource + sub_resources


def _resources(request: RawRequest) -> list[str]:
    found: list[str] = []
    for path in request.paths():
        resource = path if request.host_bucket is None else f"/{request.host_bucket}{path}"
        found.append(resource)
        # A bucket alone is signed with a slash by some and without by others.
        bucket, slash, key = resource[1:].partition("/")
        if bucket and not key:
            found.append("/" + bucket if slash else f"/{bucket}/")
    return found


def _sub_resources(request: RawRequest, scheme: Scheme) -> list[str]:
    signed: list[tuple[str, str | None]] = []
    disputed: list[tuple[str, str | None]] = []
    for raw_name, raw_value in request.query_pairs:
        name = unquote(raw_name)
        lower = name.lower()
        pair = (name, None if raw_value is None else unquote(raw_value, errors="surrogateescape"))
        if lower in SIGNED_NAMES or lower.startswith((scheme.prefix, "x-workflow-")):
            signed.append(pair)
        elif lower in DISPUTED_NAMES:
            disputed.append(pair)
    found: list[str] = []
    for pairs in (signed, signed + disputed):
        for empty_is_bare in (False, True):
            text = _joined(pairs, empty_is_bare)
            if text not in found:
                found.append(text)
    return found


def _joined(pairs: list[tuple[str, str | None]], empty_is_bare: bool) -> str:
    parts = []
    for name, value in sorted(pairs, key=lambda pair: (pair[0], pair[1] or "")):
        encoded = quote(name, safe="~")
        parts.append(encoded if value is None or (empty_is_bare and not value) else f"{encoded}={value}")
    return "?" + "&".join(parts) if parts else ""
