"""The signature of a form a browser sends: it is made over the policy the form carries."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping

from traindeck.lab.signing import v4
from traindeck.lab.signing.request import Refusal, Refused, SecretOf, Verdict, Verified, any_equal, text_bytes

_CREDENTIAL = re.compile(r"(?P<access>.+)/(?P<day>\d{8})/(?P<region>[^/]+)/s3/aws4_request")


def verify_form(fields: Mapping[str, str], secret_of: SecretOf) -> Verdict:
    """Who signed the form; the names of `fields` are in lower case."""
    policy, signature = fields.get("policy", ""), fields.get("signature", "")
    access_key = fields.get("accesskeyid") or fields.get("awsaccesskeyid") or ""
    if "token" in fields:
        access_key, _, rest = fields["token"].partition(":")
        signature, _, policy = rest.partition(":")
    if "x-amz-signature" in fields:
        return _verify_v4(fields, policy, secret_of)
    if not access_key and not policy and not signature:
        return Refused(Refusal.UNSIGNED)
    if not access_key or not policy or not signature:
        return Refused(Refusal.MALFORMED, "A signed form needs an access key, a policy and a signature.", access_key)
    secret = secret_of(access_key)
    if secret is None:
        return Refused(Refusal.UNKNOWN_KEY, access_key=access_key)
    digest = hmac.new(text_bytes(secret), text_bytes(policy), hashlib.sha1).digest()
    if not any_equal([base64.b64encode(digest).decode("ascii")], signature):
        return Refused(Refusal.MISMATCH, access_key=access_key, string_to_sign=policy)
    return Verified(access_key)


def _verify_v4(fields: Mapping[str, str], policy: str, secret_of: SecretOf) -> Verdict:
    credential = _CREDENTIAL.fullmatch(fields.get("x-amz-credential", ""))
    if credential is None or fields.get("x-amz-algorithm") != v4.ALGORITHM:
        return Refused(Refusal.MALFORMED, "The authentication of the form is malformed.")
    access_key = credential["access"]
    secret = secret_of(access_key)
    if secret is None:
        return Refused(Refusal.UNKNOWN_KEY, access_key=access_key)
    key = v4.signing_key(secret, credential["day"], credential["region"])
    expected = hmac.new(key, text_bytes(policy), hashlib.sha256).hexdigest()
    if not any_equal([expected], fields["x-amz-signature"]):
        return Refused(Refusal.MISMATCH, access_key=access_key, string_to_sign=policy)
    return Verified(access_key)
