"""What goes wrong at the service or on the way is tried again where that is safe, and told where it is not."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time

import pytest

from support.odd_dates import FAR_DATES, ODD_DATES, ascii_start
from support.servers.faults import Answer, Cut, Fault, FaultyProxy, Flip, Reset
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.stores import Store, lab_store
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Signature
from traindeck.domain.errors import AccessRefused, Conflict, NotFound, NotOffered, NotUnderstood, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.http import calls as retrying
from traindeck.services.http.errors import seconds_until
from traindeck.services.storage.data_ports import BytesBody, Part

CONTENT = os.urandom(300_000)
ERROR = "<Error><Code>{code}</Code><Message>m</Message><RequestId>R1</RequestId></Error>"

pytestmark = pytest.mark.usefixtures("no_waiting")


def said(status: int, code: str, **headers: str) -> Answer:
    return Answer(status, ERROR.format(code=code).encode(), headers)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "error", "status": 503, "code": "SlowDown"},
        {"kind": "error", "status": 429},
        {"kind": "error", "status": 500},
        {"kind": "error", "status": 502, "body": "html"},
        {"kind": "lost-request"},
        {"kind": "lost-answer"},
    ],
    ids=lambda fault: "-".join(str(value) for value in fault.values()),
)
async def test_passing_trouble_is_not_noticed(
    control: Control, lab_obs: Store, bucket: str, fault: dict[str, object]
) -> None:
    target = ObjectPath(bucket, "k")
    moved: list[int] = []
    async with lab_obs.plane() as plane:
        control.rules({**fault, "count": 2})
        stored = await plane.put(target, BytesBody(CONTENT), counted=moved.append)
        assert stored.etag == hashlib.md5(CONTENT).hexdigest() and sum(moved) == len(CONTENT)
        control.rules({**fault, "count": 2})
        pieces: list[bytes] = []
        await plane.get(target, pieces.append)
        assert b"".join(pieces) == CONTENT
        control.rules({**fault, "count": 2})
        assert len((await plane.page(bucket)).rows) == 1


async def test_lasting_trouble_is_told_after_a_few_tries(control: Control, lab_obs: Store, bucket: str) -> None:
    async with lab_obs.plane() as plane:
        control.rules({"kind": "error", "status": 503})
        with pytest.raises(ServiceTrouble):
            await plane.put(ObjectPath(bucket, "k"), BytesBody(b"x"))
    assert control.call("GET")[1]["faults"][0]["fired"] == retrying.TRIES


async def test_the_service_says_how_long_to_wait(lab: LabProcess, lab_obs: Store, bucket: str) -> None:
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        proxy.faults.append(said(503, "SlowDown", **{"Retry-After": "0.3"}))
        begin = time.monotonic()
        assert await plane.head(ObjectPath(bucket, "k")) is None
        assert time.monotonic() - begin >= 0.3
        proxy.faults.append(said(503, "SlowDown", **{"Retry-After": "3000"}))
        with pytest.raises(ServiceTrouble) as caught:
            await plane.head(ObjectPath(bucket, "k"))
        assert caught.value.retry_after_s == 3000


@pytest.mark.parametrize("after_bytes", [0, 100_000])
async def test_a_download_cut_short_is_tried_again_only_before_its_first_byte(
    lab: LabProcess, lab_obs: Store, bucket: str, after_bytes: int
) -> None:
    source = ObjectPath(bucket, "k")
    received = bytearray()
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        await plane.put(source, BytesBody(CONTENT))
        proxy.faults.append(Cut(after_bytes))
        if after_bytes:
            with pytest.raises(ServiceTrouble, match="lost"):
                await plane.get(source, received.extend)
            assert received == CONTENT[:after_bytes]
            await plane.get(source, received.extend, offset=after_bytes)
        else:
            await plane.get(source, received.extend)
        assert received == CONTENT


async def test_bytes_that_arrive_wrong_are_refused_by_the_service_and_sent_again(
    lab: LabProcess, lab_obs: Store, bucket: str
) -> None:
    class Damaging(FaultyProxy):
        async def _forward(self, request: object) -> tuple[bytes, bytes]:
            if len(self.seen) == 1:
                request.body = b"y" + request.body[1:]  # type: ignore[attr-defined]
            return await super()._forward(request)  # type: ignore[arg-type]

    async with Damaging(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        await plane.put(ObjectPath(bucket, "k"), BytesBody(b"xxxx"))
        assert len(proxy.seen) == 2
        proxy.faults.extend([Answer(200, b"", {"ETag": f'"{"0" * 32}"'})] * retrying.TRIES)
        with pytest.raises(ServiceTrouble, match="corrupted"):
            await plane.put(ObjectPath(bucket, "k"), BytesBody(b"xxxx"))
        # Of an encrypted object the ETag is something else.
        sse = {"ETag": f'"{"0" * 32}"', "x-obs-server-side-encryption": "kms"}
        proxy.faults.append(Answer(200, b"", sse))
        assert (await plane.put(ObjectPath(bucket, "k"), BytesBody(b"xxxx"))).etag == "0" * 32


@pytest.mark.parametrize("signature", [Signature.OBS, Signature.V4])
@pytest.mark.parametrize("seconds", [-7200, 7200])
async def test_a_wrong_clock_is_corrected_once_and_for_all(
    lab: LabProcess, control: Control, bucket: str, signature: Signature, seconds: int
) -> None:
    async with lab_store(lab, signature).plane() as plane:
        control.rules({"kind": "clock-skew", "seconds": seconds})
        body = BytesBody(b"content")
        await plane.put(ObjectPath(bucket, "k"), body)
        assert await plane.head(ObjectPath(bucket, "k")) is not None
    # Answers to HEAD do not say why they refuse.
    async with lab_store(lab, signature).plane() as plane:
        assert await plane.head(ObjectPath(bucket, "k")) is not None


async def test_a_clock_that_no_correction_helps_is_told(lab: LabProcess, lab_obs: Store) -> None:
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        date = {"Date": "Tue, 17 Nov 2020 10:00:00 GMT"}
        proxy.faults.extend([said(403, "RequestTimeTooSkewed", **date)] * 2)
        with pytest.raises(AccessRefused, match="clock"):
            await plane.page("bucket")
        assert len(proxy.seen) == 2


async def test_keys_that_are_refused_are_asked_about_once_and_never_shown(
    lab: LabProcess, control: Control, lab_obs: Store, bucket: str
) -> None:
    wrong = Credentials(lab.access_key, Secret("wrong-secret-key-of-forty-characters-0123"))
    path = ObjectPath(bucket, "k")
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url, credentials=wrong) as plane:
        with pytest.raises(AccessRefused, match="secret key") as caught:
            await plane.put(path, BytesBody(b"x"))
        assert len(proxy.seen) == 1
        told = caught.value.sentence() + caught.value.detail + str(caught.value)
        assert lab.access_key not in told and "wrong-secret" not in told
        with pytest.raises(AccessRefused):
            await plane.head(path)
    async with lab_obs.plane() as plane:
        control.rules({"kind": "expired-key"})
        with pytest.raises(AccessRefused, match="does not exist"):
            await plane.page(bucket)


async def test_a_condition_that_no_longer_holds_is_a_conflict_in_our_words(lab_obs: Store, bucket: str) -> None:
    source, target = ObjectPath(bucket, "source"), ObjectPath(bucket, "target")
    async with lab_obs.plane() as plane:
        before = await plane.put(source, BytesBody(b"before"))
        await plane.get(source, lambda piece: None, if_match=f'"{before.etag}"')
        await plane.put(source, BytesBody(b"after"))
        with pytest.raises(Conflict, match=r"source.*changed by someone else"):
            await plane.get(source, lambda piece: None, if_match=before.etag)
        with pytest.raises(Conflict, match="changed by someone else"):
            await plane.copy(source, target, if_match=before.etag)
        with pytest.raises(Conflict, match="shorter"):
            await plane.get(source, lambda piece: None, offset=100)
        assert await plane.head(target) is None


async def test_a_success_that_carries_an_error_is_none(lab: LabProcess, lab_obs: Store, bucket: str) -> None:
    source, target = ObjectPath(bucket, "source"), ObjectPath(bucket, "target")
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        stored = await plane.put(source, BytesBody(b"content"))
        proxy.faults.append(said(200, "InternalError"))
        assert (await plane.copy(source, target)).etag == stored.etag
        proxy.faults.append(Answer(200, b"  \n <?xml version='1.0'?>" + ERROR.format(code="AccessDenied").encode()))
        with pytest.raises(AccessRefused):
            await plane.copy(source, target)
        proxy.faults.extend([Answer(200, b"<CopyObjectResult/>")] * retrying.TRIES)
        with pytest.raises(ServiceTrouble):
            await plane.copy(source, target)


async def uploaded(plane: object, target: ObjectPath) -> tuple[str, list[Part]]:
    upload = await plane.begin_upload(target)  # type: ignore[attr-defined]
    return upload, [await plane.put_part(target, upload, 1, BytesBody(CONTENT))]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "faults",
    [
        [Reset(served=True)],
        [Reset(served=True)] * retrying.TRIES,
        [Reset(served=True), said(503, "SlowDown"), said(500, "InternalError"), said(503, "SlowDown")],
        [said(200, "InternalError")],
    ],
    ids=["once", "each time", "and trouble after it", "a failure told as success"],
)
async def test_a_lost_answer_to_the_end_of_an_upload_is_looked_up(
    lab: LabProcess, lab_obs: Store, bucket: str, faults: list[Fault]
) -> None:
    target = ObjectPath(bucket, "large")
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        upload, parts = await uploaded(plane, target)
        proxy.faults.extend(faults)
        stored = await plane.finish_upload(target, upload, parts)
        assert stored.etag == hashlib.md5(bytes.fromhex(parts[0].etag)).hexdigest() + "-1"
        assert await plane.parts(target, upload) is None


async def test_an_upload_that_somebody_else_ended_is_not_taken_for_done(lab_obs: Store, bucket: str) -> None:
    target = ObjectPath(bucket, "large")
    async with lab_obs.plane() as plane:
        await plane.put(target, BytesBody(b"older content"))
        upload, parts = await uploaded(plane, target)
        await plane.abort_upload(target, upload)
        with pytest.raises(NotFound, match="unfinished upload"):
            await plane.finish_upload(target, upload, parts)
        upload, parts = await uploaded(plane, target)
        with pytest.raises(Conflict, match="assembled"):
            await plane.finish_upload(target, upload, [Part(1, len(CONTENT), "0" * 32)])


async def test_a_service_without_parts_says_so_at_once(lab: LabProcess, lab_obs: Store, bucket: str) -> None:
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        for code in ("NotImplemented", "ServiceNotImplemented"):
            proxy.faults.append(said(501, code))
            with pytest.raises(NotOffered):
                await plane.begin_upload(ObjectPath(bucket, "k"))
        assert len(proxy.seen) == 2


async def test_a_temporary_key_sends_its_token(lab: LabProcess, lab_obs: Store, bucket: str) -> None:
    seen: list[dict[str, str]] = []

    class Noting(FaultyProxy):
        async def _forward(self, request: object) -> tuple[bytes, bytes]:
            seen.append(dict(request.headers))  # type: ignore[attr-defined]
            return await super()._forward(request)  # type: ignore[arg-type]

    keys = Credentials(lab.access_key, Secret(lab.secret_key), Secret("token-of-a-temporary-key"))
    async with Noting(lab.obs) as proxy:
        for signature, name in ((Signature.OBS, "x-obs-security-token"), (Signature.V2, "x-amz-security-token")):
            async with lab_obs.plane(obs_endpoint=proxy.url, signature=signature, credentials=keys) as plane:
                await plane.put(ObjectPath(bucket, "k"), BytesBody(b"x"))
            assert seen[-1][name] == "token-of-a-temporary-key"


async def test_many_at_once_through_trouble_all_arrive(control: Control, lab_obs: Store, bucket: str) -> None:
    control.rules(
        {"kind": "error", "status": 503, "probability": 0.1},
        {"kind": "lost-answer", "probability": 0.05},
        {"kind": "lost-request", "probability": 0.05},
    )
    async with lab_obs.plane() as plane:

        async def one(number: int) -> None:
            content = f"{number}".encode() * 1000
            path = ObjectPath(bucket, f"k{number}")
            for _ in range(10):
                try:
                    await plane.put(path, BytesBody(content))
                    return
                except ServiceTrouble:
                    continue
            raise AssertionError("never arrived")

        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(one(number))
        control.rules()
        page = await plane.page(bucket)
        assert {row.key: row.etag for row in page.rows} == {
            f"k{number}": hashlib.md5(f"{number}".encode() * 1000).hexdigest() for number in range(100)
        }


async def test_a_flipped_bit_of_a_listing_is_trouble(lab: LabProcess, lab_obs: Store, bucket: str) -> None:
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        proxy.faults.append(Flip())
        with pytest.raises(NotUnderstood):  # it came whole, so it is not asked for again unasked
            await plane.page(bucket)
        assert len(proxy.seen) == 1
        assert (await plane.page(bucket)).rows == []


@pytest.mark.parametrize("date", [*ODD_DATES, *FAR_DATES], ids=ascii_start)
async def test_absurd_dates_are_no_trouble(lab: LabProcess, lab_obs: Store, bucket: str, date: str) -> None:
    shown = date.replace("\x00", "").strip()[:8000]
    await_it = {"Date": shown, "Retry-After": shown}
    async with FaultyProxy(lab.obs) as proxy, lab_obs.plane(obs_endpoint=proxy.url) as plane:
        proxy.faults.extend([said(503, "SlowDown", Date=shown), said(403, "", Date=shown)])
        with pytest.raises(AccessRefused):
            await plane.page(bucket)
        assert plane.account.clock_ahead_s is None or abs(plane.account.clock_ahead_s) < 2**40
        head = {"Last-Modified": shown, "ETag": '"e"', "x-obs-expiration": f'expiry-date="{shown}"', **await_it}
        proxy.faults.append(Answer(200, b"", head))
        found = await plane.head(ObjectPath(bucket, "k"))
        assert found is not None and (found.modified is None or found.modified.astimezone().year < 2263)


@pytest.mark.parametrize(
    "written", [*ODD_DATES, *FAR_DATES, "nan", "inf", "-1", "1e400", "9" * 400, "-inf", "١٢"], ids=ascii_start
)
def test_no_pause_is_absurd(written: str) -> None:
    asked_s = seconds_until(written)
    assert asked_s is None or 0 <= asked_s <= 86_400
