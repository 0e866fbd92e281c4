"""The OBS signature and its twin, AWS version 2: HMAC-SHA1 over a few lines of the request, in a header or a URL."""

from __future__ import annotations

import base64
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
    Verified,
    believed,
    check_skew,
    keyed,
    parsed_date,
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


def verify_header(request: RawRequest, scheme: Scheme, secret_of: SecretOf, now: datetime) -> Verified:
    authorization = request.header("authorization") or ""
    access_key, colon, signature = authorization.removeprefix(scheme.word).strip().rpartition(":")
    if not colon or not access_key or not signature:
        raise Refused(Refusal.MALFORMED, "The Authorization header is malformed.")
    prefixed = request.header(scheme.prefix + "date")
    plain = request.header("date")
    signed_at = parsed_date(prefixed or plain or "")
    if signed_at is None:
        message = f"AWS authentication requires a valid Date or {scheme.prefix}date header."
        raise Refused(Refusal.MALFORMED, message if scheme is AWS2 else message.removeprefix("AWS "), access_key)
    verified = _verified(request, scheme, access_key, signature, "" if prefixed else plain or "", secret_of)
    check_skew(access_key, signed_at, now)
    return verified


def verify_url(request: RawRequest, scheme: Scheme, secret_of: SecretOf, now: datetime) -> Verified:
    access_key = request.query(scheme.key_parameter) or ""
    signature = request.query("Signature")
    expires = request.query("Expires") or ""
    if not access_key or not signature or not (expires.isascii() and expires.isdigit() and len(expires) <= 12):
        message = f"Query-string authentication requires Signature, Expires and {scheme.key_parameter}."
        raise Refused(Refusal.MALFORMED, message)
    verified = _verified(request, scheme, access_key, signature, expires, secret_of)
    if now.timestamp() > int(expires):
        raise Refused(Refusal.EXPIRED, "Request has expired.", access_key)
    return verified


def _verified(
    request: RawRequest, scheme: Scheme, access_key: str, signature: str, date_line: str, secret_of: SecretOf
) -> Verified:
    def signed(secret: str) -> Iterator[tuple[str, str, Verified]]:
        for text in strings_to_sign(request, scheme, date_line):
            yield text, in_base64(secret, text), Verified(access_key)

    return believed(access_key, signature, secret_of, signed)


def in_base64(secret: str, text: str) -> str:
    return base64.b64encode(keyed("sha1", secret, text)).decode("ascii")


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
        resource = f"/{request.host_bucket}{path}" if request.host_bucket else path
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
    tried = product((signed, signed + disputed), (False, True))
    return list(dict.fromkeys(_joined(pairs, empty_is_bare) for pairs, empty_is_bare in tried))


def _joined(pairs: list[tuple[str, str | None]], empty_is_bare: bool) -> str:
    parts = []
    for name, value in sorted(pairs, key=lambda pair: (pair[0], pair[1] or "")):
        encoded = quote(name, safe="~")
        parts.append(encoded if value is None or (empty_is_bare and not value) else f"{encoded}={value}")
    return "?" + "&".join(parts) if parts else ""
