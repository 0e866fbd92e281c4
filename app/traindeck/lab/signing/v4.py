"""AWS version 4: HMAC-SHA256 with a key of the day, in a header or a URL, over a body or a stream of chunks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import product
from urllib.parse import quote, unquote_to_bytes

from traindeck.lab.signing.request import (
    MAX_SKEW,
    UNSIGNED_PAYLOAD,
    ChunkSeed,
    RawRequest,
    Refusal,
    Refused,
    SecretOf,
    Verified,
    believed,
    check_skew,
    keyed,
    parsed_date,
    text_bytes,
)

ALGORITHM = "AWS4-HMAC-SHA256"
MAX_URL_LIFE_S = 7 * 24 * 3600
_AUTHORIZATION = re.compile(
    rf"{ALGORITHM} +Credential=(?P<credential>[^, ]+) *, *SignedHeaders=(?P<headers>[^, ]+) *,"
    r" *Signature=(?P<signature>[0-9a-f]{64})"
)
CREDENTIAL = re.compile(r"(?P<access>.+)/(?P<day>\d{8})/(?P<region>[^/]+)/s3/aws4_request")
_BLANKS = re.compile(" {2,}")


def verify_header(request: RawRequest, secret_of: SecretOf, now: datetime) -> Verified:
    match = _AUTHORIZATION.fullmatch(request.header("authorization") or "")
    credential = CREDENTIAL.fullmatch(match["credential"]) if match else None
    if match is None or credential is None:
        raise Refused(Refusal.MALFORMED, "The Authorization header is malformed.")
    signed_at = parsed_date(request.header("x-amz-date") or request.header("date") or "")
    if signed_at is None:
        raise Refused(Refusal.MALFORMED, "A valid Date or x-amz-date header is required.", credential["access"])
    hashes = [request.header("x-amz-content-sha256") or UNSIGNED_PAYLOAD]
    verified = _verified(request, match["headers"], match["signature"], credential, signed_at, hashes, secret_of)
    check_skew(verified.access_key, signed_at, now)
    return verified


def verify_url(request: RawRequest, secret_of: SecretOf, now: datetime) -> Verified:
    credential = CREDENTIAL.fullmatch(request.query("X-Amz-Credential") or "")
    signed_at = parsed_date(request.query("X-Amz-Date") or "")
    life = request.query("X-Amz-Expires") or ""
    signature = request.query("X-Amz-Signature") or ""
    names = request.query("X-Amz-SignedHeaders") or ""
    if credential is None or signed_at is None or request.query("X-Amz-Algorithm") != ALGORITHM:
        raise Refused(Refusal.MALFORMED, "The query-string authentication is malformed.")
    if not (life.isascii() and life.isdigit() and len(life) <= 6 and 1 <= int(life) <= MAX_URL_LIFE_S):
        raise Refused(Refusal.MALFORMED, "X-Amz-Expires must be between 1 and 604800 seconds.", credential["access"])
    hashes = dict.fromkeys((UNSIGNED_PAYLOAD, request.header("x-amz-content-sha256") or UNSIGNED_PAYLOAD))
    verified = _verified(request, names, signature, credential, signed_at, hashes, secret_of)
    if signed_at - now > MAX_SKEW:
        raise Refused(Refusal.SKEWED, access_key=verified.access_key, signed_at=signed_at)
    if now > signed_at + timedelta(seconds=int(life)):
        raise Refused(Refusal.EXPIRED, "Request has expired.", verified.access_key)
    return verified


def _verified(
    request: RawRequest,
    header_list: str,
    signature: str,
    credential: re.Match[str],
    signed_at: datetime,
    hashes: Iterable[str],
    secret_of: SecretOf,
) -> Verified:
    access_key, day, region = credential.group("access", "day", "region")
    names = header_list.split(";")
    if unsigned := _unsigned_headers(request, names):
        message = f"There were headers present in the request which were not signed: {', '.join(unsigned)}."
        raise Refused(Refusal.MALFORMED, message, access_key)
    if any(name not in request.by_name for name in names):
        raise Refused(Refusal.MALFORMED, "A signed header is missing.", access_key)
    if signed_at.strftime("%Y%m%d") != day:
        raise Refused(Refusal.MALFORMED, "The date of the credential is not that of the request.", access_key)
    scope = f"{day}/{region}/s3/aws4_request"
    date = signed_at.strftime("%Y%m%dT%H%M%SZ")

    def signed(secret: str) -> Iterator[tuple[str, str, Verified]]:
        key = signing_key(secret, day, region)
        seed = ChunkSeed(key, date, scope, signature)
        for payload_hash in hashes:
            for canonical in canonical_requests(request, names, payload_hash):
                text = f"{ALGORITHM}\n{date}\n{scope}\n{hashlib.sha256(text_bytes(canonical)).hexdigest()}"
                yield text, keyed("sha256", key, text).hex(), Verified(access_key, payload_hash, seed)

    return believed(access_key, signature, secret_of, signed)


def canonical_requests(request: RawRequest, names: list[str], payload_hash: str) -> Iterator[str]:
    """What a client may have signed, the likeliest first."""
    raw_lines = [f"{name}:{','.join(request.by_name[name])}" for name in names]
    folded_lines = [_BLANKS.sub(" ", line) for line in raw_lines]
    lines = [raw_lines] if raw_lines == folded_lines else [raw_lines, folded_lines]
    for path, query, headers in product(request.paths(), _queries(request), lines):
        yield "\n".join([request.method, path, query, *headers, "", ";".join(names), payload_hash])


def signing_key(secret: str, day: str, region: str) -> bytes:
    key = text_bytes("AWS4" + secret)
    for part in (day, region, "s3", "aws4_request"):
        key = keyed("sha256", key, part)
    return key


def chunk_signature(seed: ChunkSeed, previous: str, chunk_sha256: str) -> str:
    empty = hashlib.sha256(b"").hexdigest()
    text = f"{ALGORITHM}-PAYLOAD\n{seed.date}\n{seed.scope}\n{previous}\n{empty}\n{chunk_sha256}"
    return keyed("sha256", seed.key, text).hex()


def trailer_signature(seed: ChunkSeed, previous: str, trailer: bytes) -> str:
    text = f"{ALGORITHM}-TRAILER\n{seed.date}\n{seed.scope}\n{previous}\n{hashlib.sha256(trailer).hexdigest()}"
    return keyed("sha256", seed.key, text).hex()


def _unsigned_headers(request: RawRequest, names: list[str]) -> list[str]:
    """Headers that change what a request means and that anybody could have added on the way."""
    free = {"x-amz-content-sha256"} if request.header("authorization") is None else set()
    wanted = {name for name in request.by_name if name.startswith("x-amz-")} - free | {"host"}
    return sorted(wanted.difference(names))


def _queries(request: RawRequest) -> list[str]:
    pairs = [pair for pair in request.query_pairs if pair[0].lower() != "x-amz-signature"]
    return [_canonical_query(pairs, plus) for plus in ((b"+", b" ") if "+" in request.raw_query else (b"+",))]


def _canonical_query(pairs: list[tuple[str, str | None]], plus: bytes) -> str:
    def encoded(text: str) -> str:
        return quote(unquote_to_bytes(text.replace("+", quote(plus))), safe="~")

    return "&".join(f"{name}={value}" for name, value in sorted((encoded(n), encoded(v or "")) for n, v in pairs))
