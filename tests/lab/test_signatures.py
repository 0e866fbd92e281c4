"""The signature checks alone: known vectors, every mutation refused, what real clients sign accepted."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote, urlsplit

import pytest
from botocore.auth import HmacV1Auth, HmacV1QueryAuth, S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st
from obs import ObsClient

from traindeck.lab.signing import sdk, signatures
from traindeck.lab.signing.request import RawRequest, Refusal, Refused, SecretOf, Verified
from traindeck.lab.signing.signatures import Dialect, dialect_of

AK = "AKEXAMPLE0000000001"
SK = "SKEXAMPLE-not-a-real-secret-0001"
HOST = "127.0.0.1:8443"
SECRETS = {AK: SK}


def told(verify: Callable[[RawRequest, SecretOf, datetime], Verified]) -> Callable[..., Verified | Refused]:
    """The refusal as an answer, to be looked at like the other one."""

    def verdict(request: RawRequest, secret_of: SecretOf, now: datetime) -> Verified | Refused:
        try:
            return verify(request, secret_of, now)
        except Refused as refused:
            return refused

    return verdict


verify_gateway = told(sdk.verify_gateway)
verify_obs = told(signatures.verify_obs)


def refusal(verdict: Verified | Refused) -> Refusal | None:
    return verdict.refusal if isinstance(verdict, Refused) else None


# --- the gateway -----------------------------------------------------------------------------------------------------

SIGNED_AT = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


def gateway_request(method: str, path: str, query: str, content_type: str, body: bytes, signature: str) -> RawRequest:
    names = "content-type;host;user-agent;x-project-id;x-sdk-date"
    return RawRequest(
        method,
        path,
        query,
        (
            ("Host", HOST),
            ("User-Agent", "ua-test"),
            ("Content-Type", content_type),
            ("X-Project-Id", "0123456789abcdef"),
            ("X-Sdk-Date", "20240102T030405Z"),
            ("Accept", "*/*"),
            ("Authorization", f"SDK-HMAC-SHA256 Access={AK}, SignedHeaders={names}, Signature={signature}"),
        ),
        body_sha256=hashlib.sha256(body).hexdigest(),
    )


VECTOR_1 = gateway_request(
    "GET",
    "/v2/0123456789abcdef/training-job-flavors",
    "flavor_type=Ascend",
    "application/json",
    b"",
    "2a48e0dd70c77e5802429f9e48291e6039051b226dc97cad490cde2c954bff5d",
)
VECTOR_2 = gateway_request(
    "POST",
    "/v2/0123456789abcdef/training-jobs/job-1/actions",
    "",
    "application/json;charset=utf-8",
    b'{"action_type": "terminate"}',
    "29bd92a855268b3f3052f537352c0628c5b0289254ed0c116646ea089a3b17bd",
)


@pytest.mark.parametrize("request_", [VECTOR_1, VECTOR_2])
def test_gateway_vectors_are_accepted(request_: RawRequest) -> None:
    verdict = verify_gateway(request_, SECRETS.get, SIGNED_AT + timedelta(minutes=14))
    assert isinstance(verdict, Verified)
    assert verdict.access_key == AK


def test_gateway_skew_counts_in_both_directions() -> None:
    for minutes in (16, -16):
        verdict = verify_gateway(VECTOR_1, SECRETS.get, SIGNED_AT + timedelta(minutes=minutes))
        assert isinstance(verdict, Refused)
        assert verdict.refusal is Refusal.SKEWED
        assert verdict.signed_at == SIGNED_AT


def test_gateway_tells_unknown_key_from_wrong_secret() -> None:
    assert refusal(verify_gateway(VECTOR_1, dict[str, str]().get, SIGNED_AT)) is Refusal.UNKNOWN_KEY
    wrong = verify_gateway(VECTOR_1, {AK: SK + "x"}.get, SIGNED_AT)
    assert refusal(wrong) is Refusal.MISMATCH
    assert SK not in repr(wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"method": "PUT"},
        {"raw_path": "/v2/0123456789abcdef/training-jobs/job-2/actions"},
        {"raw_query": "a=b"},
        {"body_sha256": hashlib.sha256(b"other").hexdigest()},
        {"body_sha256": hashlib.sha256(b"").hexdigest()},
        {"headers": (*VECTOR_2.headers[:1], ("User-Agent", "else"), *VECTOR_2.headers[2:])},
        {"headers": (("Host", "127.0.0.1:8444"), *VECTOR_2.headers[1:])},
        {"headers": (*VECTOR_2.headers, ("X-Sdk-Content-Sha256", "UNSIGNED-PAYLOAD"))},
        {"headers": (*VECTOR_2.headers, ("X-Project-Id", "another"))},
    ],
)
def test_gateway_refuses_every_changed_part(change: dict[str, object]) -> None:
    changed = dataclasses.replace(VECTOR_2, **change)  # type: ignore[arg-type]
    assert refusal(verify_gateway(changed, SECRETS.get, SIGNED_AT)) is Refusal.MISMATCH


def test_gateway_wants_host_and_date_signed() -> None:
    bare = (("Host", HOST), ("X-Sdk-Date", "20240102T030405Z"))
    signed = f"SDK-HMAC-SHA256 Access={AK}, SignedHeaders=x-sdk-date, Signature={'0' * 64}"
    request = RawRequest("GET", "/", "", (*bare, ("Authorization", signed)))
    assert refusal(verify_gateway(request, SECRETS.get, SIGNED_AT)) is Refusal.MALFORMED
    assert refusal(verify_gateway(RawRequest("GET", "/", "", bare), SECRETS.get, SIGNED_AT)) is Refusal.UNSIGNED
    basic = RawRequest("GET", "/", "", (*bare, ("Authorization", "Basic eDp5")))
    assert refusal(verify_gateway(basic, SECRETS.get, SIGNED_AT)) is Refusal.MALFORMED


# --- the object store: signed by the signers of a real S3 client -----------------------------------------------------

KEYS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def from_url(method: str, url: str, headers: dict[str, str]) -> RawRequest:
    parts = urlsplit(url)
    return RawRequest(method, parts.path, parts.query, (("Host", parts.netloc), *headers.items()))


def now() -> datetime:
    return datetime.now(UTC)


@given(key=KEYS, value=st.text("abc é+&=/ ", max_size=8))
def test_v4_header_of_a_real_signer_is_accepted_and_mutations_are_not(key: str, value: str) -> None:
    url = f"http://{HOST}/bkt/{quote(key, safe='/~')}?prefix={quote(value, safe='')}&uploads"
    request = AWSRequest("PUT", url, data=b"body", headers={"x-amz-meta-a": "1  2", "Content-Type": "text/plain"})
    S3SigV4Auth(Credentials(AK, SK), "s3", "lab").add_auth(request)
    raw = from_url("PUT", url, dict(request.headers.items()))
    verdict = verify_obs(raw, SECRETS.get, now())
    assert isinstance(verdict, Verified), verdict
    assert verdict.access_key == AK
    assert verdict.chunk_seed is not None
    for changed in (
        dataclasses.replace(raw, method="GET"),
        dataclasses.replace(raw, raw_path=raw.raw_path + "x"),
        dataclasses.replace(raw, raw_query=raw.raw_query + "&x=1"),
        dataclasses.replace(raw, headers=[(n, "text/html" if n == "Content-Type" else v) for n, v in raw.headers]),
    ):
        assert refusal(verify_obs(changed, SECRETS.get, now())) is Refusal.MISMATCH
    added = dataclasses.replace(raw, headers=[*raw.headers, ("x-amz-acl", "public-read")])
    assert refusal(verify_obs(added, SECRETS.get, now())) is Refusal.MALFORMED


@given(key=KEYS)
def test_v2_header_of_a_real_signer_is_accepted_and_mutations_are_not(key: str) -> None:
    url = f"http://{HOST}/bkt/{quote(key, safe='/~')}?acl"
    request = AWSRequest("PUT", url, data=b"body", headers={"x-amz-meta-a": "1", "Content-Type": "text/plain"})
    HmacV1Auth(Credentials(AK, SK)).add_auth(request)
    raw = from_url("PUT", url, dict(request.headers.items()))
    assert isinstance(verify_obs(raw, SECRETS.get, now()), Verified)
    for changed in (
        dataclasses.replace(raw, method="GET"),
        dataclasses.replace(raw, raw_path=raw.raw_path + "x"),
        dataclasses.replace(raw, raw_query="policy"),
        dataclasses.replace(raw, raw_query=""),
        dataclasses.replace(raw, headers=[*raw.headers, ("x-amz-acl", "public-read")]),
    ):
        assert refusal(verify_obs(changed, SECRETS.get, now())) is Refusal.MISMATCH


def test_v4_url_lives_as_long_as_it_says() -> None:
    request = AWSRequest("GET", f"http://{HOST}/bkt/a%20b", headers={})
    S3SigV4QueryAuth(Credentials(AK, SK), "s3", "lab", expires=60).add_auth(request)
    raw = from_url("GET", request.url, {})
    assert isinstance(verify_obs(raw, SECRETS.get, now()), Verified)
    assert refusal(verify_obs(raw, SECRETS.get, now() + timedelta(seconds=70))) is Refusal.EXPIRED
    assert refusal(verify_obs(raw, SECRETS.get, now() - timedelta(minutes=16))) is Refusal.SKEWED
    longer = dataclasses.replace(raw, raw_query=raw.raw_query.replace("Expires=60", "Expires=600"))
    assert refusal(verify_obs(longer, SECRETS.get, now())) is Refusal.MISMATCH
    for_ever = dataclasses.replace(raw, raw_query=raw.raw_query.replace("Expires=60", "Expires=604801"))
    assert refusal(verify_obs(for_ever, SECRETS.get, now())) is Refusal.MALFORMED


def test_v2_url_lives_as_long_as_it_says() -> None:
    request = AWSRequest("GET", f"http://{HOST}/bkt/key", headers={})
    HmacV1QueryAuth(Credentials(AK, SK), expires=60).add_auth(request)
    raw = from_url("GET", request.url, {})
    assert isinstance(verify_obs(raw, SECRETS.get, now()), Verified)
    assert refusal(verify_obs(raw, SECRETS.get, now() + timedelta(seconds=70))) is Refusal.EXPIRED


@pytest.mark.parametrize("signature", ["obs", "v2", "v4"])
@pytest.mark.parametrize("style", ["path", "host"])
def test_urls_of_the_obs_sdk_are_accepted(signature: str, style: str) -> None:
    server = "http://127.0.0.1:8443" if style == "path" else "http://obs.lab.example:8443"
    client = ObsClient(
        access_key_id=AK,
        secret_access_key=SK,
        server=server,
        signature=signature,
        is_signature_negotiation=False,
        client_mode="workflow" if signature == "obs" and style == "path" else "obs",
    )
    key = "dir (1)/ä ~+&.txt"
    parameters = {"response-content-disposition": 'attachment; filename="é.txt"', "versionId": "7"}
    signed = client.createSignedUrl("GET", "bkt", key, expires=60, queryParams=parameters)
    raw = from_url("GET", signed.signedUrl, dict(signed.actualSignedRequestHeaders))
    raw = dataclasses.replace(raw, headers=raw.headers[1:], host_bucket="" if style == "path" else "bkt")
    verdict = verify_obs(raw, SECRETS.get, now())
    assert isinstance(verdict, Verified), verdict
    assert dialect_of(raw) is (Dialect.OBS if signature == "obs" else Dialect.S3)
    assert refusal(verify_obs(raw, SECRETS.get, now() + timedelta(seconds=70))) is Refusal.EXPIRED
    other = dataclasses.replace(raw, raw_query=raw.raw_query.replace("versionId=7", "versionId=8"))
    assert refusal(verify_obs(other, SECRETS.get, now())) is Refusal.MISMATCH


def test_dates_are_needed_and_must_be_near() -> None:
    def at(moment: datetime | None) -> Refusal | None:
        request = AWSRequest("GET", f"http://{HOST}/bkt/key", headers={})
        HmacV1Auth(Credentials(AK, SK)).add_auth(request)
        headers = dict(request.headers.items())
        if moment is None:
            del headers["Date"]
        return refusal(verify_obs(from_url("GET", request.url, headers), SECRETS.get, moment or now()))

    assert at(now()) is None
    assert at(None) is Refusal.MALFORMED
    assert at(now() + timedelta(minutes=16)) is Refusal.SKEWED
    assert at(now() - timedelta(minutes=16)) is Refusal.SKEWED


def test_nonsense_is_refused_by_kind() -> None:
    date = ("Date", format_datetime(now(), usegmt=True))

    def verdict(authorization: str, query: str = "") -> Refusal | None:
        headers = (("Host", HOST), date, *((("Authorization", authorization),) if authorization else ()))
        return refusal(verify_obs(RawRequest("GET", "/bkt/key", query, headers), SECRETS.get, now()))

    assert verdict("") is Refusal.UNSIGNED
    assert verdict("OBS nobody:c2ln") is Refusal.UNKNOWN_KEY
    assert verdict(f"OBS {AK}:c2ln") is Refusal.MISMATCH
    assert verdict(f"AWS {AK}:é") is Refusal.MISMATCH
    assert verdict("OBS nocolon") is Refusal.MALFORMED
    assert verdict("Bearer x") is Refusal.MALFORMED
    assert verdict("AWS4-HMAC-SHA256 Credential=a") is Refusal.MALFORMED
    assert verdict("", "Signature=x") is Refusal.MALFORMED
    assert verdict("", f"AccessKeyId={AK}&Expires=soon&Signature=x") is Refusal.MALFORMED
    assert verdict("", "X-Amz-Algorithm=AWS4-HMAC-SHA256") is Refusal.MALFORMED
