"""Object storage through the real SDK against a real Lab."""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path

import pytest

from support.servers.faults import Answer, FaultyProxy, Stall
from support.servers.lab_process import LabProcess
from support.servers.secure import SecureFront
from support.stores.way import Way
from support.waiting import PATIENT_S
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    Conflict,
    InvalidInput,
    NotFound,
    ServiceTrouble,
    Unreachable,
)
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath
from traindeck.services.http import bounds
from traindeck.services.http import calls as retrying
from traindeck.services.storage.sdk.access import ObsAccess
from traindeck.services.storage.sdk.buckets import ObsStorage

ODD_NAMES = ["a b", "ü/中文.txt", "plus+and%25", "q?#&=;,'()", "control\x01\r\n\t", "<x>&amp;", "tilde~", "a//b"]

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def place() -> ObjectPath:
    return ObjectPath(f"b-{secrets.token_hex(6)}")


async def listed(storage: ObsStorage, folder: ObjectPath, *, recursive: bool = False) -> list[ObjectEntry]:
    return [entry async for page in storage.entries(folder, recursive=recursive) for entry in page]


def access_of(way: Way) -> ObsAccess:
    return ObsAccess(ObsStorage(way.profile, way.credentials, way.calls))


@pytest.mark.parametrize("signature", ["v2", "v4"])
async def test_both_signatures_of_path_style_work(way: Way, place: ObjectPath, signature: str) -> None:
    with way.at(signature=signature).storage() as storage:
        await storage.create_bucket(place.bucket)
        await way.put(b"x", *(place.join(name) for name in ODD_NAMES))
        assert {entry.path.key for entry in await listed(storage, place, recursive=True)} == set(ODD_NAMES)
        await way.at(signature=signature).remove(*(place.join(name) for name in ODD_NAMES))
        assert await listed(storage, place, recursive=True) == []


async def test_the_dialect_of_the_public_cloud_works(way: Way, place: ObjectPath, tmp_path: Path) -> None:
    """Bucket in the host name, OBS signatures, and certificates that are looked at."""
    names = ("localhost", f"{place.bucket}.localhost")
    async with SecureFront(tmp_path, way.profile.obs_endpoint, *names) as front:
        there = way.at(obs_endpoint=front.url, signature="obs", ca_file=str(front.ca_file))
        with there.storage() as storage:
            await storage.create_bucket(place.bucket)
            await there.put(b"x", *(place.join(name) for name in ODD_NAMES))
            assert {entry.path.key for entry in await listed(storage, place, recursive=True)} == set(ODD_NAMES)
            await storage.try_to_write(place.join("trial"))
            await there.remove(*(place.join(name) for name in ODD_NAMES))
            await access_of(there).remove(place.bucket)
            assert place.bucket not in [bucket.name for bucket in await storage.buckets()]
        assert set(front.hosts) == set(names)
        # A bucket whose name is not in the certificate is not spoken to.
        with there.storage() as storage, pytest.raises(Unreachable, match="different host"):
            await storage.info(ObjectPath("another-bucket", "x"))


async def test_one_level_shows_folders_first_and_no_marker_of_its_own(way: Way, place: ObjectPath) -> None:
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
        await way.put(b"x", *(place.join(key) for key in ("top.txt", "run/log.txt", "run/out/a.bin", "run/z.txt")))
        await way.put(b"", place.join("run/"))
        assert [str(entry.path.key) for entry in await listed(storage, place)] == ["run/", "top.txt"]
        inside = await listed(storage, place.join("run"))
        assert [entry.path.key for entry in inside] == ["run/out/", "run/log.txt", "run/z.txt"]
        assert [entry.is_folder for entry in inside] == [True, False, False]
        assert inside[1].etag == "9dd4e461268c8034f5c8564e155c67a6"


async def test_times_are_moments_not_local_words(way: Way, place: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
        await way.put(b"x", place.join("x"))
        (entry,) = await listed(storage, place)
        found = await storage.info(place.join("x"))
        made = next(bucket for bucket in await storage.buckets() if bucket.name == place.bucket)
    now = datetime.now(UTC)
    assert found is not None
    for moment in (entry.modified, found.modified, made.created):
        assert moment is not None
        assert abs(moment - now) < timedelta(minutes=1)


async def test_a_listing_of_many_pages_is_whole(way: Way, place: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traindeck.services.storage.sdk.buckets.PAGE_ROWS", 3)
    monkeypatch.setattr(ObsStorage.page, "__kwdefaults__", {"delimiter": "", "marker": "", "most": 3})
    names = [f"{number:02}" for number in range(10)] + [f"d{number}/x" for number in range(5)]
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
        await way.put(b"", *(place.join(name) for name in names))
        pages = [page async for page in storage.entries(place)]
        assert len(pages) == 5
        assert len({entry.path for page in pages for entry in page}) == len(names)
        assert len(await listed(storage, place, recursive=True)) == len(names)
        await way.remove(*(place.join(name) for name in names))
        assert await listed(storage, place) == []


async def test_information_about_what_is_and_what_is_not(way: Way, place: ObjectPath) -> None:
    with way.storage() as storage:
        assert await storage.info(place) is None
        await storage.create_bucket(place.bucket)
        await storage.create_bucket(place.bucket)
        await way.put(b"x", place.join("a/b"))
        assert await storage.info(place) == ObjectEntry(place)
        assert await storage.info(place.join("a/")) == ObjectEntry(place.join("a/"))
        assert await storage.info(place.join("c/")) is None
        assert await storage.info(place.join("a")) is None


async def test_buckets_end_only_when_empty(way: Way, place: ObjectPath) -> None:
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
        await way.put(b"x", place.join("x"))
        with pytest.raises(Conflict, match="not empty"):
            await access_of(way).remove(place.bucket)
        await way.remove(place.join("x"), place.join("never was"))
        await access_of(way).remove(place.bucket)
        with pytest.raises(NotFound, match=place.bucket):
            await access_of(way).remove(place.bucket)


async def test_a_bucket_is_never_taken_for_an_object(way: Way, place: ObjectPath) -> None:
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
        async with way.plane() as plane:
            with pytest.raises(InvalidInput):
                await plane.remove_version(place, "1")
            assert [one.key for one in await plane.remove(place.bucket, [""])] == [""]
        assert await storage.info(place) is not None


async def test_missing_places_are_named(way: Way, place: ObjectPath) -> None:
    with way.storage() as storage:
        with pytest.raises(NotFound, match=f"The bucket “{place.bucket}”"):
            await listed(storage, place)
        await storage.create_bucket(place.bucket)
        with pytest.raises(InvalidInput, match="bucket name"):
            await storage.create_bucket("Not_A_Bucket")


# -- keys and addresses --------------------------------------------------------


async def test_a_wrong_secret_and_an_unknown_key_are_told_apart(way: Way) -> None:
    wrong = Credentials(way.credentials.access_key, Secret("not-the-secret-at-all"))
    with way.at(credentials=wrong).storage() as storage, pytest.raises(AccessRefused, match="secret key") as caught:
        await storage.buckets()
    shown = f"{caught.value.sentence()} {caught.value.detail} {caught.value!r}"
    assert way.credentials.access_key not in shown
    assert "not-the-secret-at-all" not in shown

    unknown = Credentials("AKUNKNOWN0000000000X", way.credentials.secret_key)
    with way.at(credentials=unknown).storage() as storage, pytest.raises(AccessRefused, match="does not exist"):
        await storage.buckets()


@pytest.mark.parametrize(
    ("keys", "url"),
    [
        (Credentials("", Secret("x")), None),
        (Credentials("AK", Secret("")), None),
        (Credentials("AK\n", Secret("x")), None),
        (Credentials("AK", Secret("密钥")), None),
        (Credentials("AK", Secret("x")), "obs.example.com"),
    ],
)
def test_keys_and_addresses_that_cannot_work_are_refused_at_once(way: Way, keys: Credentials, url: str | None) -> None:
    fields = {"obs_endpoint": url} if url else {}
    with pytest.raises((AccessRefused, InvalidInput)), way.at(credentials=keys, **fields).storage():
        pass


async def test_no_lab_is_said_in_words(way: Way, unused_port: int) -> None:
    nowhere = way.at(obs_endpoint=f"http://127.0.0.1:{unused_port}")
    with nowhere.storage() as storage, pytest.raises(Unreachable, match="The Lab is not running"):
        await storage.buckets()


async def test_an_address_that_does_not_exist_is_said_in_words(way: Way) -> None:
    nowhere = way.at(obs_endpoint="http://obs.nowhere.invalid")
    with nowhere.storage() as storage, pytest.raises(Unreachable, match=r"obs\.nowhere\.invalid cannot be found"):
        await storage.buckets()


# -- a bad line -----------------------------------------------------------------


@pytest.fixture
def error_page() -> Callable[[int, str], Answer]:
    def make(status: int, code: str) -> Answer:
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>words</Message></Error>"
        return Answer(status, body.encode(), {"Content-Type": "application/xml", "x-amz-request-id": "REQ1"})

    return make


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_a_busy_service_is_asked_again(way: Way, lab: LabProcess, status: int) -> None:
    async with FaultyProxy(lab.obs) as proxy:
        proxy.faults.extend([Answer(status), Answer(status, b"<html>gateway</html>")])
        with way.at(obs_endpoint=proxy.url).storage() as storage:
            await storage.buckets()
    assert proxy.seen == ["GET /"] * 3


async def test_a_service_that_stays_down_is_named_after_four_tries(way: Way, lab: LabProcess) -> None:
    async with FaultyProxy(lab.obs) as proxy:
        proxy.faults.extend([Answer(503)] * 9)
        with way.at(obs_endpoint=proxy.url).storage() as storage, pytest.raises(ServiceTrouble, match="503"):
            await storage.buckets()
    assert len(proxy.seen) == 4


async def test_retry_after_is_kept_and_a_long_one_is_left_to_the_caller(way: Way, lab: LabProcess) -> None:
    async with FaultyProxy(lab.obs) as proxy:
        proxy.faults.append(Answer(429, b"", {"Retry-After": "90"}))
        with way.at(obs_endpoint=proxy.url).storage() as storage, pytest.raises(ServiceTrouble) as caught:
            await storage.buckets()
    assert caught.value.retry_after_s == 90
    assert len(proxy.seen) == 1


async def test_retry_after_may_name_a_moment(way: Way, lab: LabProcess) -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    async with FaultyProxy(lab.obs) as proxy:
        proxy.faults.append(Answer(503, b"", {"Retry-After": then}))
        with way.at(obs_endpoint=proxy.url).storage() as storage, pytest.raises(ServiceTrouble) as caught:
            await storage.buckets()
    assert caught.value.retry_after_s is not None and 3600 < caught.value.retry_after_s <= 7200
    assert len(proxy.seen) == 1


@pytest.mark.parametrize(
    ("status", "code", "kind", "words"),
    [
        (403, "SignatureDoesNotMatch", AccessRefused, "secret key"),
        (403, "RequestTimeTooSkewed", AccessRefused, "clock"),
        (403, "InArrearOrInsufficientBalance", AccessRefused, "overdue"),
        (403, "AccessDenied", AccessRefused, "permission"),
        (403, "VirtualHostDomainRequired", InvalidInput, "path-style"),
        (400, "TooManyBuckets", Conflict, "limit of buckets"),
        (400, "SomethingNew", AppError, "words"),
    ],
)
async def test_refusals_are_final_and_in_our_words(
    way: Way,
    lab: LabProcess,
    error_page: Callable[[int, str], Answer],
    status: int,
    code: str,
    kind: type[AppError],
    words: str,
) -> None:
    async with FaultyProxy(lab.obs) as proxy:
        proxy.faults.append(error_page(status, code))
        with way.at(obs_endpoint=proxy.url).storage() as storage, pytest.raises(kind, match=words) as caught:
            await storage.buckets()
    assert len(proxy.seen) == 1
    assert "REQ1" in caught.value.detail


async def test_a_wrong_clock_is_told_in_minutes(way: Way, lab: LabProcess) -> None:
    theirs = (datetime.now(UTC) + timedelta(minutes=42)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    body = b"<Error><Code>RequestTimeTooSkewed</Code><Message>x</Message></Error>"
    async with FaultyProxy(lab.obs) as proxy:
        # Signed again by that clock, it is refused all the same.
        proxy.faults.extend([Answer(403, body, {"Content-Type": "application/xml", "Date": theirs})] * 2)
        with way.at(obs_endpoint=proxy.url).storage() as storage, pytest.raises(AccessRefused, match="42 minutes"):
            await storage.create_bucket("of-another-time")


async def test_connections_are_kept_and_a_dead_one_is_replaced_at_once(
    way: Way, lab: LabProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "FIRST_S", 600.0)
    async with FaultyProxy(lab.obs) as proxy:
        with way.at(obs_endpoint=proxy.url).storage() as storage:
            await storage.buckets()
            await storage.buckets()
            assert proxy.connections == 1
            proxy.drop_idle()
            await storage.buckets()
    assert proxy.connections == 2
    assert len(proxy.seen) == 3


async def test_a_page_of_the_network_is_no_success(way: Way, lab: LabProcess, place: ObjectPath) -> None:
    page = Answer(200, b"<html>Please sign in</html>", {"Content-Type": "text/html"})
    async with FaultyProxy(lab.obs) as proxy:
        proxy.faults.extend([page] * 12)
        with way.at(obs_endpoint=proxy.url).storage() as storage:
            with pytest.raises(ServiceTrouble, match="web page"):
                await storage.buckets()
            with pytest.raises(ServiceTrouble, match="web page"):
                await storage.page(place.bucket)
            async with way.at(obs_endpoint=proxy.url).plane() as plane:
                with pytest.raises(ServiceTrouble, match="web page"):
                    await plane.remove(place.bucket, ["x"])


async def test_a_service_that_says_nothing_is_given_up(
    way: Way, lab: LabProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "SILENCE_S", 0.2)
    async with FaultyProxy(lab.obs) as proxy:
        proxy.faults.extend([Stall()] * 8)
        with way.at(obs_endpoint=proxy.url).storage() as storage:
            with pytest.raises(ServiceTrouble, match="in time"):
                await storage.buckets()
            with pytest.raises(ServiceTrouble, match="in time"):
                await storage.create_bucket("unanswered")


def test_importing_the_adapter_does_not_load_the_sdk() -> None:
    ask = (
        "import sys; import traindeck.services.accounts.connections, traindeck.services.accounts.secrets;"
        "print([name for name in ('obs', 'huaweicloudsdkcore', 'requests', 'keyring') if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, timeout=PATIENT_S)
    assert answer.stdout.strip() == "[]"


async def test_looking_into_a_bucket_does_not_load_the_sdk(way: Way, place: ObjectPath) -> None:
    with way.storage() as storage:
        await storage.create_bucket(place.bucket)
    await way.put(b"x", place.join("k"))
    ask = """
import asyncio, json, sys
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.storage.sdk.buckets import ObsStorage

async def look(url, bucket, access_key, secret_key):
    profile = Profile("lab", Provider.LAB, "lab", obs_endpoint=url)
    storage = ObsStorage(profile, Credentials(access_key, Secret(secret_key)), BlockingCalls(1, "sdk"))
    print([row.key for row in (await storage.page(bucket)).rows], await storage.info(ObjectPath(bucket, "no")))
    storage.close()

asyncio.run(look(*json.load(sys.stdin)))
print([name for name in ("obs", "requests", "urllib3") if name in sys.modules])
"""
    keys = way.credentials
    given = json.dumps([way.profile.obs_url, place.bucket, keys.access_key, keys.secret_key.reveal()])
    run = partial(subprocess.run, input=given, capture_output=True, text=True, check=True, timeout=60)
    answer = await asyncio.to_thread(run, [sys.executable, "-c", ask])
    assert answer.stdout.splitlines() == ["['k'] None", "[]"]
