"""Which signature a request to the object store carries, and whether it is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum

from traindeck.lab.signing import v2, v4
from traindeck.lab.signing.request import RawRequest, Refusal, Refused, SecretOf, Verified, believed, keyed


class Dialect(Enum):
    """The two families of header names; the signature decides which one a request speaks."""

    OBS = "x-obs-"
    S3 = "x-amz-"


def dialect_of(request: RawRequest) -> Dialect:
    """Without a signature the headers and, at last, the custom of the house decide."""
    word = (request.header("authorization") or "").partition(" ")[0]
    if word:
        return Dialect.OBS if word == v2.OBS.word else Dialect.S3
    names = {name.lower() for name, _ in request.query_pairs} | set(request.by_name)
    if "accesskeyid" in names or any(name.startswith(Dialect.OBS.value) for name in names):
        return Dialect.OBS
    is_s3 = "awsaccesskeyid" in names or any(name.startswith(Dialect.S3.value) for name in names)
    return Dialect.S3 if is_s3 else Dialect.OBS


def verify_obs(request: RawRequest, secret_of: SecretOf, now: datetime) -> Verified:
    """Who signed a request to the object store, in any of its schemes."""
    authorization = request.header("authorization")
    if authorization is not None:
        if len(request.by_name["authorization"]) > 1:
            raise Refused(Refusal.MALFORMED, "There is more than one Authorization header.")
        match authorization.partition(" ")[0]:
            case v4.ALGORITHM:
                return v4.verify_header(request, secret_of, now)
            case v2.OBS.word:
                return v2.verify_header(request, v2.OBS, secret_of, now)
            case v2.AWS2.word:
                return v2.verify_header(request, v2.AWS2, secret_of, now)
        raise Refused(Refusal.MALFORMED, "Unsupported Authorization Type")
    if request.query("X-Amz-Algorithm") is not None or request.query("X-Amz-Signature") is not None:
        return v4.verify_url(request, secret_of, now)
    for scheme in (v2.OBS, v2.AWS2):
        if request.query(scheme.key_parameter) is not None:
            return v2.verify_url(request, scheme, secret_of, now)
    if request.query("Signature") is not None:
        raise Refused(Refusal.MALFORMED, "The query-string authentication names no access key.")
    raise Refused(Refusal.UNSIGNED)


def verify_form(fields: Mapping[str, str], secret_of: SecretOf) -> Verified:
    """Who signed the form; the names of `fields` are in lower case."""
    policy, signature = fields.get("policy", ""), fields.get("signature", "")
    access_key = fields.get("accesskeyid") or fields.get("awsaccesskeyid") or ""
    if "token" in fields:
        access_key, _, rest = fields["token"].partition(":")
        signature, _, policy = rest.partition(":")
    credential = v4.CREDENTIAL.fullmatch(fields.get("x-amz-credential", ""))
    if "x-amz-signature" in fields:
        if credential is None or fields.get("x-amz-algorithm") != v4.ALGORITHM:
            raise Refused(Refusal.MALFORMED, "The authentication of the form is malformed.")
        access_key, signature = credential["access"], fields["x-amz-signature"]
    elif not access_key and not policy and not signature:
        raise Refused(Refusal.UNSIGNED)
    elif not access_key or not policy or not signature:
        raise Refused(Refusal.MALFORMED, "A signed form needs an access key, a policy and a signature.", access_key)

    def signed(secret: str) -> Iterator[tuple[str, str, Verified]]:
        if "x-amz-signature" in fields and credential:
            key = v4.signing_key(secret, credential["day"], credential["region"])
            yield policy, keyed("sha256", key, policy).hex(), Verified(access_key)
        else:
            yield policy, v2.in_base64(secret, policy), Verified(access_key)

    return believed(access_key, signature, secret_of, signed)
