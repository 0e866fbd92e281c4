"""Our signatures are those of the SDK, whatever is asked for."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from obs import auth, convertor

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.wire.requests import Request, Signer, target

_ACCESS, _SECRET = "ACCESSKEY0123456789A", "secret+key/of=forty~letters.and-some"
_QUERIES: list[dict[str, str | None]] = [
    {},
    {"uploads": None},
    {"uploadId": "a+b/c=d&e", "partNumber": "7"},
    {"delete": None},
    {"versionId": "v 1"},
    {"prefix": "a b/ü?", "marker": "x&y", "max-keys": "1000", "encoding-type": "url", "delimiter": "/"},
    {"uploads": None, "key-marker": "k", "upload-id-marker": "u", "max-uploads": "1000"},
    {"versioning": None},
    {"versions": None, "key-marker": "k", "version-id-marker": "v/1"},
]
_KEYS = ["", "plain/key.txt", "Ünicode/日本 b.bin", "odd ~!*'()+%?#&=;:@$,[]|\\\"<>", "a//b/../c/", "tab\tline\nend\r"]
_HEADERS: list[dict[str, str]] = [
    {},
    {"Content-MD5": "1B2M2Y8AsgTpgAmY7PhCfg==", "Content-Type": "text/plain", "Content-Length": "0"},
    {"Range": "bytes=0-9", "If-Match": '"e"'},
    {"{prefix}meta-b": " padded ", "{prefix}meta-a": "1", "{prefix}copy-source": "/b/k%20k"},
]


@pytest.mark.parametrize("path_style", [True, False])
@pytest.mark.parametrize("dialect", [Signature.OBS, Signature.V2, Signature.V4])
@pytest.mark.parametrize("token", ["", "temporary"])
def test_the_sdk_signs_the_same(dialect: Signature, token: str, path_style: bool) -> None:
    profile = Profile("p", Provider.MODELARTS, "cn-north-4", signature=dialect)
    keys = Credentials(_ACCESS, Secret(_SECRET), Secret(token) if token else None)
    signer = Signer(profile, keys, path_style=path_style)
    prefix = "x-obs-" if dialect is Signature.OBS else "x-amz-"
    for bucket, key in [("", ""), *(("bucket-1", key) for key in _KEYS)]:
        for query in _QUERIES:
            for given in _HEADERS:
                headers = {"Host": "host:8080"}
                headers |= {name.format(prefix=prefix): value for name, value in given.items()}
                where = target(Request("PUT", ObjectPath(bucket, key), dict(query)), path_style=path_style)
                if not bucket and not path_style:
                    where = "/"  # nothing but the bucket could stand in the host name
                signer.sign("PUT", bucket, where.partition("?")[0], query, headers)
                said = headers.pop("Authorization")
                assert said == _of_sdk(dialect, path_style, "PUT", bucket, key, query, headers)


def test_a_question_nobody_thought_of_is_not_guessed() -> None:
    signer = Signer(Profile("p", Provider.MODELARTS, "r"), Credentials(_ACCESS, Secret(_SECRET)), path_style=True)
    with pytest.raises(ValueError, match="acl"):
        signer.sign("GET", "b", "/b", {"acl": None}, {})


def test_the_date_follows_the_clock_of_the_service() -> None:
    signer = Signer(Profile("p", Provider.MODELARTS, "r"), Credentials(_ACCESS, Secret(_SECRET)), path_style=True)
    signer.clock_ahead_s = 3600.0
    headers: dict[str, str] = {}
    signer.sign("GET", "b", "/b", {}, headers)
    ahead = parsedate_to_datetime(headers["Date"]) - datetime.now(UTC)
    assert 3300 < ahead.total_seconds() < 3900
    assert abs(time.time() + 3600 - parsedate_to_datetime(headers["Date"]).timestamp()) < 300


def _of_sdk(
    dialect: Signature,
    path_style: bool,
    method: str,
    bucket: str,
    key: str,
    query: dict[str, str | None],
    headers: dict[str, str],
) -> str:
    words = convertor.Adapter(str(dialect))
    if dialect is not Signature.V4:
        signer = auth.Authentication(_ACCESS, _SECRET, path_style, words, "", False)
        return str(signer.doAuth(method, bucket, key, dict(query), dict(headers))["Authorization"])
    stamp = headers["x-amz-date"]
    signed = auth.V4Authentication(_ACCESS, _SECRET, "cn-north-4", stamp[:8], stamp, path_style, words)
    values = {name: value or "" for name, value in query.items()}
    return str(signed.doAuth(method, bucket, key, values, dict(headers))["Authorization"])
