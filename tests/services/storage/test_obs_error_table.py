"""Every refusal of OBS becomes what happened, and what to do, in both languages."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from traindeck.domain import texts
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.errors import AppError, KeysRefused, NoRight, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime import language
from traindeck.services.http.errors import ErrorResponse, Service
from traindeck.services.storage.errors import obs_error

PLACE = ObjectPath("bucket-of-ann", "data/x.bin")
KEYS = Credentials(
    "AKEXAMPLE0000000001", Secret("planted/secret+key"), Secret("planted-token"), Secret("planted proxy")
)
SERVICE = Service("obs.cn-north-4.myhuaweicloud.com", False, KEYS)
ECHO = "signed by AKEXAMPLE0000000001 with planted/secret+key, planted%2Fsecret%2Bkey, planted-token, planted proxy"

BY_STATUS = {
    301: "PermanentRedirect",
    307: "TemporaryRedirect",
    400: "InvalidBucketName InvalidArgument InvalidRequest BadDigest EntityTooLarge EntityTooSmall IncompleteBody "
    "InvalidPart InvalidPartOrder KeyTooLongError MalformedXML MalformedPolicy MetadataTooLarge MissingRequiredHeader "
    "TooManyBuckets TooManyWrongSignature InvalidLocationConstraint IllegalLocationConstraintException "
    "UnexpectedContent InvalidTagError",
    403: "AccessDenied SignatureDoesNotMatch InvalidAccessKeyId RequestTimeTooSkewed InvalidObjectState "
    "InsufficientStorageSpace VirtualHostDomainRequired InArrearOrInsufficientBalance RequestPayerDenied "
    "AllAccessDisabled ExpiredToken InvalidSecurityToken",
    404: "NoSuchBucket NoSuchKey NoSuchUpload NoSuchVersion NoSuchBucketPolicy NoSuchLifecycleConfiguration "
    "NoSuchCORSConfiguration NoSuchWebsiteConfiguration",
    405: "MethodNotAllowed FsNotSupport",
    408: "RequestTimeout",
    409: "BucketAlreadyExists BucketAlreadyOwnedByYou BucketNotEmpty OperationAborted ObjectNotAppendable "
    "InvalidBucketState FsObjectConflict FsRenameConflict DirectoryNotEmpty",
    411: "MissingContentLength",
    412: "PreconditionFailed",
    416: "InvalidRange",
    429: "TooManyRequests",
    500: "InternalError",
    501: "ServiceNotImplemented",
    503: "ServiceUnavailable SlowDown",
}
CASES = [(status, code) for status, codes in BY_STATUS.items() for code in codes.split()]
# Answers without a code: to HEAD, and from gateways.
CASES += [(status, "") for status in (400, 401, 403, 404, 405, 408, 409, 412, 416, 429, 500, 502, 503, 504, 520)]
REPEATABLE = {408, 429, 500, 502, 503, 504, 520}
OFTEN_REPEATABLE = {"BadDigest", "IncompleteBody", "OperationAborted"}


def error_of(status: int, code: str, place: ObjectPath | None) -> AppError:
    return obs_error(
        ErrorResponse(SERVICE, status, code, ECHO, "REQUEST1", None, "Wed, 18 Nov 2020 10:00:00 GMT"), place
    )


@pytest.mark.parametrize("place", [PLACE, ObjectPath("bucket-of-ann"), None], ids=["object", "bucket", "account"])
@pytest.mark.parametrize(("status", "code"), CASES)
def test_each_is_told_in_both_languages(status: int, code: str, place: ObjectPath | None) -> None:
    error = error_of(status, code, place)
    told: dict[str, tuple[str, str]] = {}
    for spoken in (texts.ENGLISH, texts.CHINESE):
        language.speak(spoken)
        told[spoken] = texts.say(error.title), texts.say(error.hint)
        for words in told[spoken]:
            assert words.strip() and not re.search(r"[{}]|“”|None", words), words
    (title, hint), (chinese_title, chinese_hint) = told[texts.ENGLISH], told[texts.CHINESE]
    assert re.search(r"[一-鿿]", chinese_title) and re.search(r"[一-鿿]", chinese_hint)
    assert title[-1] in ".!…" or title.endswith(("password", "proxy")) or ECHO[:6] in title
    assert hint.endswith(".")
    assert "REQUEST1" in error.detail, "who asks for help needs the number of the request"
    everything = f"{told} {error.detail} {error!r} {error}"
    for secret in KEYS.secrets:
        assert secret.reveal() not in everything
    assert KEYS.access_key not in everything and "planted%2F" not in everything
    if code and place is PLACE:
        # A known code has words of its own; what the service said is at most their end.
        assert not title.startswith(f"{SERVICE.host} rejected the request: ")
    assert error.retryable == (status in REPEATABLE or code in OFTEN_REPEATABLE)


def test_temporary_keys_say_when_they_ended() -> None:
    ended = datetime.now(UTC) - timedelta(minutes=5)
    service = replace(SERVICE, credentials=replace(KEYS, expires=ended))
    error = obs_error(ErrorResponse(service, 403, "ExpiredToken"), None)
    assert f"expired at {ended.astimezone():%Y-%m-%d %H:%M}" in error.sentence()


@pytest.mark.parametrize("code", ["SignatureDoesNotMatch", "InvalidAccessKeyId", "TooManyWrongSignature",
                                  "ExpiredToken", "InvalidSecurityToken"])  # fmt: skip
def test_refused_keys_are_told_from_missing_rights(code: str) -> None:
    assert isinstance(error_of(403, code, PLACE), KeysRefused)
    assert isinstance(error_of(403, "AccessDenied", PLACE), NoRight)
    assert isinstance(error_of(403, "", None), NoRight)
    assert isinstance(error_of(503, "SlowDown", None), ServiceTrouble)
