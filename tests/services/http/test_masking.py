"""Secrets are taken out of a text wherever they stand in it, those of others by how they show."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.services.http.masking import without_secrets

AK, SK = "ACCESSKEY1234567890X", "secret+of/nobody=0123456789abcdefghijk"
OURS = Credentials(AK, Secret(SK), Secret("token-0123456789"), Secret("proxy:pass/word"))
SIGNED = "c2lnbmF0dXJlIG9mIHNvbWVib2R5"


@given(st.text(), st.text())
def test_what_is_known_is_gone_however_it_is_written(before: str, after: str) -> None:
    for secret in (SK, "token-0123456789", "proxy:pass/word"):
        for spelled in (secret, quote(secret, safe="")):
            assert spelled not in without_secrets(f"{before} {spelled} {after}", OURS)
    assert AK not in without_secrets(f"{before}{AK}{after}", OURS)


@pytest.mark.parametrize(
    "words",
    [
        "https://b.host/k?AccessKeyId=SOMEONE0123456789&Expires=9&Signature={signed}%3D&x-obs-acl=private",
        "https://b.host/k?X-Amz-Credential=SOMEONE0123456789%2F2026&X-Amz-Signature={signed}&X-Amz-Expires=9",
        "?next=https%3A%2F%2Fhost%2F%3FSignature%3D{signed}",
        "Authorization: OBS SOMEONE0123456789:{signed}=",
        "authorization: AWS4-HMAC-SHA256 Credential=SOMEONE0123456789/x, SignedHeaders=host, Signature={signed}",
        "Authorization: SDK-HMAC-SHA256 Access=SOMEONE0123456789, SignedHeaders=host, Signature={signed}",
        "x-obs-security-token: {signed}",
        "X-Auth-Token: {signed}",
        '{{"X-Auth-Token": "{signed}"}}',
        "{{'authorization': 'OBS SOMEONE0123456789:{signed}='}}",
        "http://me:{signed}@proxy:8080",
        "http://me:first@{signed}@proxy:8080",
    ],
)
def test_what_opens_something_shows_and_is_gone(words: str) -> None:
    left = without_secrets(words.format(signed=SIGNED))
    assert SIGNED not in left and "SOMEONE0123456789" not in left and "…" in left


def test_other_words_stay() -> None:
    words = "http://host:8080/a@b: the signature does not match; GET https://host/key?versionId=1 took 12:30"
    assert without_secrets(words, OURS) == words
