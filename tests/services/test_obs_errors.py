"""Every refusal of OBS reaches the user as what happened and what to do, in both languages."""

from __future__ import annotations

import json

import pytest

from servers.written import Line, WrittenServer
from traindeck.domain import texts
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    Conflict,
    InvalidInput,
    NotFound,
    NotOffered,
    ServiceTrouble,
)
from traindeck.domain.objects import ObjectPath
from traindeck.domain.profiles import Profile, Provider
from traindeck.domain.secret import Credentials, Secret
from traindeck.runtime.resources import resource
from traindeck.services import retrying
from traindeck.services.sdk_errors import Answer, Service
from traindeck.services.storage.obs_errors import obs_error
from traindeck.services.storage.wire.data_plane import WireDataPlane
from traindeck.services.storage.wire.requests import BytesBody

KEYS = Credentials("AKEXAMPLE123", Secret("SKEXAMPLE123"))
PLACE = ObjectPath("bucket", "folder/key")
Row = tuple[int, str, type[AppError]]

# Refused for what was written, by a mistake of ours or an odd value: the service's words are the best there are.
IN_ITS_WORDS: list[Row] = [
    (400, code, AppError)
    for code in ("InvalidArgument", "InvalidRequest", "MalformedXML", "MissingRequiredHeader", "UnexpectedContent")
] + [(411, "MissingContentLength", AppError)]
PASSING: list[Row] = [
    (400, "BadDigest", ServiceTrouble),
    (400, "IncompleteBody", ServiceTrouble),
    (408, "RequestTimeout", ServiceTrouble),
    (408, "", ServiceTrouble),
    (409, "OperationAborted", ServiceTrouble),
    (429, "TooManyRequests", ServiceTrouble),
    (429, "", ServiceTrouble),
    (500, "InternalError", ServiceTrouble),
    (502, "", ServiceTrouble),
    (503, "ServiceUnavailable", ServiceTrouble),
    (503, "SlowDown", ServiceTrouble),
    (504, "", ServiceTrouble),
    (520, "", ServiceTrouble),
]
LASTING: list[Row] = [
    (301, "PermanentRedirect", InvalidInput),
    (307, "TemporaryRedirect", InvalidInput),
    (307, "", InvalidInput),
    (400, "InvalidBucketName", InvalidInput),
    (400, "EntityTooLarge", InvalidInput),
    (400, "EntityTooSmall", Conflict),
    (400, "InvalidPart", Conflict),
    (400, "InvalidPartOrder", Conflict),
    (400, "KeyTooLongError", InvalidInput),
    (400, "MalformedPolicy", InvalidInput),
    (400, "MetadataTooLarge", InvalidInput),
    (400, "TooManyBuckets", Conflict),
    (400, "TooManyWrongSignature", AccessRefused),
    (400, "InvalidLocationConstraint", InvalidInput),
    (400, "IllegalLocationConstraintException", InvalidInput),
    (400, "InvalidTagError", InvalidInput),
    (403, "AccessDenied", AccessRefused),
    (403, "SignatureDoesNotMatch", AccessRefused),
    (403, "InvalidAccessKeyId", AccessRefused),
    (403, "RequestTimeTooSkewed", AccessRefused),
    (403, "InvalidObjectState", Conflict),
    (403, "InsufficientStorageSpace", Conflict),
    (403, "VirtualHostDomainRequired", InvalidInput),
    (403, "InArrearOrInsufficientBalance", AccessRefused),
    (403, "RequestPayerDenied", AccessRefused),
    (403, "AllAccessDisabled", AccessRefused),
    (403, "", AccessRefused),
    (404, "NoSuchBucket", NotFound),
    (404, "NoSuchKey", NotFound),
    (404, "NoSuchUpload", NotFound),
    (404, "NoSuchVersion", NotFound),
    (404, "NoSuchBucketPolicy", NotFound),
    (404, "NoSuchLifecycleConfiguration", NotFound),
    (404, "NoSuchCORSConfiguration", NotFound),
    (404, "NoSuchWebsiteConfiguration", NotFound),
    (404, "", NotFound),
    (405, "MethodNotAllowed", NotOffered),
    (405, "FsNotSupport", NotOffered),
    (405, "", NotOffered),
    (409, "BucketAlreadyExists", Conflict),
    (409, "BucketAlreadyOwnedByYou", Conflict),
    (409, "BucketNotEmpty", Conflict),
    (409, "ObjectNotAppendable", Conflict),
    (409, "InvalidBucketState", Conflict),
    (409, "FsObjectConflict", Conflict),
    (409, "FsRenameConflict", Conflict),
    (409, "DirectoryNotEmpty", Conflict),
    (412, "PreconditionFailed", Conflict),
    (412, "", Conflict),
    (416, "InvalidRange", Conflict),
    (416, "", Conflict),
    (501, "ServiceNotImplemented", NotOffered),
    (501, "", NotOffered),
]
ALL = IN_ITS_WORDS + PASSING + LASTING


@pytest.fixture(scope="module")
def chinese() -> dict[str, str]:
    found: dict[str, str] = json.loads(resource("translations", "zh_CN.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize(("status", "code", "kind"), ALL)
def test_each_is_said_in_both_languages(chinese: dict[str, str], status: int, code: str, kind: type[AppError]) -> None:
    answer = Answer(Service("obs.example", False, KEYS), status, code, "their words", "R1")
    error = obs_error(answer, PLACE)
    assert type(error) is kind
    assert error.title.english in chinese and error.hint.english in chinese
    english = error.sentence()
    texts.speak(texts.CHINESE, chinese)
    said = error.sentence()
    assert said != english and "{" not in said + english
    assert "R1" in error.detail and str(status) in error.detail
    assert error.retryable == ((status, code, kind) in PASSING)


def test_those_in_their_own_words_are_few() -> None:
    own = [obs_error(Answer(Service("h", False, KEYS), status, code, "their words"), PLACE) for status, code, _ in ALL]
    assert len([error for error in own if "their words" in error.sentence()]) == len(IN_ITS_WORDS)


async def test_each_arrives_so_over_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_S", 0.0001)
    now: Row = ALL[0]

    async def script(line: Line) -> None:
        while True:
            head = await line.head()
            if head.startswith("PUT"):
                await line.body(7)
            status, code, _ = now
            body = f"<Error><Code>{code}</Code><Message>m</Message><RequestId>R1</RequestId></Error>".encode()
            await line.answer(status, body if code else b"")

    async with WrittenServer(script) as server:
        profile = Profile("p", Provider.MODELARTS, "cn-north-4", obs_endpoint=server.url)
        plane = WireDataPlane(profile, KEYS)
        for now in ALL:
            with pytest.raises(AppError) as caught:
                await plane.put(PLACE, BytesBody(b"content"))
            assert type(caught.value) is now[2], now
            assert "R1" in caught.value.detail or not now[1]
        await plane.close()
        assert server.connections == 1
