"""Refusals arrive over the wire as what they are, tried again only where that may help."""

from __future__ import annotations

import pytest

from support.stores.stores import plane_at
from support.stores.written import Line, WrittenServer
from traindeck.domain.errors import (
    AppError,
    Conflict,
    Corrupted,
    InvalidInput,
    KeysRefused,
    LedAway,
    NoBucket,
    NoRight,
    NotFound,
    NotOffered,
    ServiceTrouble,
    Throttled,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.http import calls as retrying
from traindeck.services.storage.data_ports import BytesBody

PLACE = ObjectPath("bucket", "folder/key")
ONCE, AGAIN = 1, retrying.TRIES


@pytest.mark.parametrize(
    ("status", "code", "kind", "tries"),
    [
        (301, "PermanentRedirect", InvalidInput, ONCE),
        (307, "", LedAway, ONCE),
        (400, "EntityTooLarge", InvalidInput, ONCE),
        (400, "InvalidArgument", InvalidInput, ONCE),
        (400, "BadDigest", Corrupted, AGAIN),
        (400, "InvalidPart", Conflict, ONCE),
        (403, "AccessDenied", NoRight, ONCE),
        (403, "", NoRight, ONCE),
        (403, "SignatureDoesNotMatch", KeysRefused, ONCE),
        (403, "InvalidAccessKeyId", KeysRefused, ONCE),
        (403, "InvalidObjectState", Conflict, ONCE),
        (404, "NoSuchBucket", NoBucket, ONCE),
        (404, "NoSuchUpload", NotFound, ONCE),
        (404, "", NotFound, ONCE),
        (405, "", NotOffered, ONCE),
        (408, "", ServiceTrouble, AGAIN),
        (409, "OperationAborted", ServiceTrouble, AGAIN),
        (409, "BucketNotEmpty", Conflict, ONCE),
        (412, "PreconditionFailed", Conflict, ONCE),
        (412, "", Conflict, ONCE),
        (416, "", Conflict, ONCE),
        (429, "", Throttled, AGAIN),
        (500, "InternalError", ServiceTrouble, AGAIN),
        (501, "ServiceNotImplemented", NotOffered, ONCE),
        (501, "", NotOffered, ONCE),
        (502, "", ServiceTrouble, AGAIN),
        (503, "SlowDown", Throttled, AGAIN),
        (520, "", ServiceTrouble, AGAIN),
    ],
)
async def test_each_refusal(
    monkeypatch: pytest.MonkeyPatch, status: int, code: str, kind: type[AppError], tries: int
) -> None:
    monkeypatch.setattr(retrying, "FIRST_S", 0.0001)
    bodies: list[bytes] = []

    async def script(line: Line) -> None:
        while True:
            await line.head()
            bodies.append(await line.body(7))
            said = f"<Error><Code>{code}</Code><Message>m</Message><RequestId>R1</RequestId></Error>".encode()
            await line.answer(status, said if code else b"", x_obs_request_id="R1")

    news: list[KeysRefused] = []
    moved: list[int] = []
    async with WrittenServer(script) as server, plane_at(server.url, refused=news.append) as plane:
        with pytest.raises(AppError) as caught:
            await plane.put(PLACE, BytesBody(b"content"), counted=moved.append)
        assert type(caught.value) is kind and "R1" in caught.value.detail
        assert bodies == [b"content"] * tries and sum(moved) == 0
        assert server.connections == 1
        assert news == ([caught.value] if kind is KeysRefused else [])
