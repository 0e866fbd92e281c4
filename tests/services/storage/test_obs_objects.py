"""What is said about objects, through the real SDK: the Lab in each dialect, and a store that is not ours."""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import os
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config

from support.servers.faults import Answer, FaultyProxy, Reset
from support.servers.handed_on import fetched
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.servers.secure import SecureFront
from support.stores.foreign_stores import ACCESS_KEY, SECRET_KEY, moto, rclone
from support.stores.way import Way
from support.waiting import PATIENT_S
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Signature
from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    Conflict,
    InvalidInput,
    KeysRefused,
    NotFound,
    Unreachable,
)
from traindeck.domain.storage.object_facts import HeadChange, RestoreSpeed, RestoreState, Restoring
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.sdk import objects as obs_copies
from traindeck.services.storage.sdk.buckets import ObsStorage
from traindeck.services.storage.sdk.objects import ObsObjects
from traindeck.services.storage.wire import versions

DIALECTS = ["obs", "v2", "v4"]
CONTENT = b"what is in it"

pytestmark = pytest.mark.usefixtures("no_waiting")


@dataclass(frozen=True)
class Shop:
    """An account's objects and a bucket to try them in."""

    objects: ObsObjects
    storage: ObsStorage
    place: ObjectPath
    account: ObsStorage
    way: Way

    async def put(self, key: str = "a b/数据.txt", content: bytes = CONTENT) -> ObjectPath:
        path = self.place.join(key)
        await self.way.put(content, path)
        return path

    async def content(self, path: ObjectPath, version: str = "") -> bytes:
        pieces: list[bytes] = []
        async with self.way.plane() as plane:
            await plane.get(path, pieces.append, version=version)
        return b"".join(pieces)


def opened(way: Way, bucket: str) -> Shop:
    account = ObsStorage(way.profile, way.credentials, way.calls)
    storage = account
    return Shop(ObsObjects(account), storage, ObjectPath(bucket), account, way)


@asynccontextmanager
async def shop_in(dialect: str, way: Way, folder: Path) -> AsyncIterator[Shop]:
    """The Lab in this dialect; the public cloud's needs the bucket in the host name, hence names and certificates."""
    bucket = f"b-{secrets.token_hex(6)}"
    if dialect != "obs":
        shop = opened(way.at(signature=Signature(dialect)), bucket)
        await shop.storage.create_bucket(bucket)
        yield shop
        shop.account.close()
        return
    async with SecureFront(folder, way.profile.obs_endpoint, "localhost", f"{bucket}.localhost") as front:
        there = way.at(obs_endpoint=front.url, signature=Signature.OBS, ca_file=str(front.ca_file))
        # What is stored in between goes the short way: names below localhost are found by the SDK's connections only.
        shop = replace(opened(there, bucket), way=way)
        await shop.storage.create_bucket(bucket)
        yield shop
        shop.account.close()


@pytest.fixture(scope="module")
def moto_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Nobody else's: one that others use as well has failed here."""
    with moto(tmp_path_factory.mktemp("moto")) as url:
        yield url


@pytest.fixture
def elsewhere(way: Way, moto_url: str) -> Way:
    """A store that we did not write, which knows no heads apart from their objects."""
    keys = Credentials(ACCESS_KEY, Secret(SECRET_KEY))
    return way.at(credentials=keys, obs_endpoint=moto_url, signature=Signature.V4, region="us-east-1", path_style="yes")


@asynccontextmanager
async def foreign_shop(elsewhere: Way) -> AsyncIterator[Shop]:
    shop = opened(elsewhere, f"b-{secrets.token_hex(6)}")
    await shop.storage.create_bucket(shop.place.bucket)
    yield shop
    shop.account.close()


CHANGE = HeadChange(
    content_type="text/markdown",
    headers={"cache-control": "no-cache", "content-disposition": 'attachment; filename="a (1).txt"'},
    metadata={"owner": "Zoë 学习", "percent": "100%25 & more", "stage": "raw"},
)


async def check_changes(shop: Shop) -> None:
    path = await shop.put()
    before = await shop.objects.facts(path)
    assert (before.size_bytes, before.etag) == (len(CONTENT), hashlib.md5(CONTENT).hexdigest())
    assert before.md5 == before.etag and not before.metadata and before.storage_class == "STANDARD"
    assert before.modified is not None and abs(before.modified - datetime.now(UTC)) < timedelta(minutes=1)

    after = await shop.objects.change(path, CHANGE, before)
    assert after == await shop.objects.facts(path)
    assert after.content_type == "text/markdown"
    assert after.headers == CHANGE.headers
    assert after.metadata == CHANGE.metadata
    assert after.etag == before.etag, "the bytes are the same"

    # One value is changed and one taken away: all that is not named stays as it was.
    fewer = HeadChange(
        headers={"cache-control": ""}, metadata={"stage": "clean"}, without=frozenset({"percent", "never there"})
    )
    now = await shop.objects.change(path, fewer, after)
    assert now.metadata == {"owner": "Zoë 学习", "stage": "clean"}
    assert now.headers == {"content-disposition": CHANGE.headers["content-disposition"]}
    assert now.content_type == "text/markdown" and now.size_bytes == len(CONTENT)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_is_said_about_an_object_is_changed_and_the_rest_stays(
    dialect: str, way: Way, tmp_path: Path
) -> None:
    async with shop_in(dialect, way, tmp_path) as shop:
        await check_changes(shop)


async def test_elsewhere_a_copy_onto_itself_does_the_same(elsewhere: Way, tmp_path: Path) -> None:
    async with foreign_shop(elsewhere) as shop:
        await check_changes(shop)
        path = await shop.put("kept.txt")
        await shop.objects.set_tags(path, {"team": "vision"})
        await shop.objects.change(path, HeadChange(storage_class="WARM", metadata={"a": "b"}))
        await shop.objects.change(path, HeadChange(metadata={"c": "d"}))
        now = await shop.objects.facts(path)
        assert (now.storage_class, now.metadata) == ("WARM", {"a": "b", "c": "d"})
        assert await shop.objects.tags(path) == {"team": "vision"}
        assert await shop.content(path) == CONTENT


async def test_a_service_that_would_wipe_the_object_is_not_asked_to_change_its_head(elsewhere: Way) -> None:
    """Whoever does not know the request of OBS takes it for an empty upload."""
    async with foreign_shop(elsewhere.at(signature=Signature.V2)) as shop:
        path = await shop.put()
        now = await shop.objects.change(path, HeadChange(metadata={"a": "b"}))
        assert (now.size_bytes, now.metadata) == (len(CONTENT), {"a": "b"})


async def test_what_is_too_large_for_one_copy_is_copied_in_parts(
    elsewhere: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(obs_copies, "ONE_COPY_BYTES", 1000)
    monkeypatch.setattr(obs_copies, "PART_BYTES", 5 * 1024 * 1024)
    content = os.urandom(11 * 1024 * 1024)
    async with foreign_shop(elsewhere) as shop:
        path = await shop.put("large.bin", content)
        now = await shop.objects.change(path, HeadChange(metadata={"a": "b"}, content_type="x/y"))
        assert (now.metadata["a"], now.content_type, now.part_count) == ("b", "x/y", 3)
        assert now.md5 == hashlib.md5(content).hexdigest() and now.is_md5_stored
        assert await shop.content(path) == content


@pytest.mark.parametrize("dialect", ["v2", "v4"])
async def test_a_change_of_somebody_else_is_not_lost(dialect: str, way: Way, tmp_path: Path) -> None:
    async with shop_in(dialect, way, tmp_path) as shop:
        path = await shop.put()
        seen = await shop.objects.facts(path)
        await shop.objects.change(path, HeadChange(metadata={"theirs": "1"}), seen)
        with pytest.raises(Conflict, match="changed by someone else"):
            await shop.objects.change(path, HeadChange(metadata={"ours": "2"}), seen)
        await shop.put(content=b"other bytes")
        with pytest.raises(Conflict, match="changed by someone else"):
            await shop.objects.change(path, HeadChange(storage_class="WARM"), seen)
        assert (await shop.objects.facts(path)).metadata == {}


async def test_metadata_of_others_goes_back_as_it_came(way: Way) -> None:
    """Another program's escapes are none of ours; ours of the whole content stay true."""
    shop = opened(way, f"b-{secrets.token_hex(6)}")
    await shop.storage.create_bucket(shop.place.bucket)
    path = shop.place.join("k")
    client = boto3.client(
        "s3",
        endpoint_url=way.profile.obs_endpoint,
        aws_access_key_id=way.credentials.access_key,
        aws_secret_access_key=way.credentials.secret_key.reveal(),
        region_name="lab",
        config=Config(s3={"addressing_style": "path"}),
    )
    theirs = {"theirs": "%41 (100%)", "traindeck-md5": "0" * 32, "mtime": "1.5"}
    client.put_object(Bucket=path.bucket, Key=path.key, Body=b"x", Metadata=theirs, ContentType="a/b")
    seen = await shop.objects.facts(path)
    assert seen.md5 == "0" * 32 and seen.is_md5_stored
    await shop.objects.change(path, HeadChange(metadata={"ours": "ü"}, without=frozenset({"none"})), seen)
    assert client.head_object(Bucket=path.bucket, Key=path.key)["Metadata"] == {**theirs, "ours": "%C3%BC"}
    for change in (
        HeadChange(metadata={"traindeck-md5": "1"}),
        HeadChange(without=frozenset({"traindeck-md5"})),
        HeadChange(metadata={"": "x"}),
        HeadChange(metadata={"Größe": "x"}),
        HeadChange(metadata={"a": "two\nlines"}),
        HeadChange(metadata={"a": " blank"}),
        HeadChange(metadata={"a": "x" * 9000}),
        HeadChange(content_type=" "),
        HeadChange(headers={"content-disposition": "attachment; filename=学.txt"}),
        HeadChange(headers={"cache-control": "a\r\nx-obs-acl: public-read"}),
    ):
        with pytest.raises(InvalidInput):
            await shop.objects.change(path, change)
    assert client.head_object(Bucket=path.bucket, Key=path.key)["Metadata"] == {**theirs, "ours": "%C3%BC"}
    client.close()
    shop.account.close()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_classes_and_restoring(dialect: str, way: Way, tmp_path: Path) -> None:
    async with shop_in(dialect, way, tmp_path) as shop:
        path = await shop.put()
        await shop.objects.change(path, CHANGE)
        now = await shop.objects.change(path, HeadChange(storage_class="WARM"))
        assert (now.storage_class, now.metadata, now.headers) == ("WARM", CHANGE.metadata, CHANGE.headers)
        now = await shop.objects.change(path, HeadChange(storage_class="COLD"))
        assert now.storage_class == "COLD" and now.is_frozen and now.restore is None
        with pytest.raises(Conflict, match="archived"):
            await shop.objects.change(path, HeadChange(storage_class="STANDARD"))
        with pytest.raises(Conflict, match="archived"):
            await shop.content(path)
        for days in (0, 31):
            with pytest.raises(InvalidInput):
                await shop.objects.restore(path, days)
        assert await shop.objects.restore(path, 3, RestoreSpeed.EXPEDITED) is Restoring.BEGUN
        now = await shop.objects.facts(path)
        assert now.restore is not None and now.restore.state is RestoreState.DONE and not now.is_frozen
        assert now.restore.until is not None and now.restore.until > datetime.now(UTC) + timedelta(days=2)
        assert await shop.objects.restore(path, 5) is Restoring.EXTENDED
        assert (await shop.objects.change(path, HeadChange(storage_class="STANDARD"))).storage_class == "STANDARD"
        with pytest.raises(Conflict):
            await shop.objects.restore(path, 3)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_tags(dialect: str, way: Way, tmp_path: Path) -> None:
    async with shop_in(dialect, way, tmp_path) as shop:
        path = await shop.put()
        assert await shop.objects.tags(path) == {}
        await shop.objects.set_tags(path, {"team": "视觉", "empty": ""})
        assert await shop.objects.tags(path) == {"team": "视觉", "empty": ""}
        assert (await shop.objects.facts(path)).tag_count == 2
        await shop.objects.set_tags(path, {})
        assert await shop.objects.tags(path) == {}
        for wrong in ({str(number): "x" for number in range(11)}, {"": "x"}, {"k": "x" * 257}):
            with pytest.raises(InvalidInput):
                await shop.objects.set_tags(path, wrong)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_versions_are_listed_fetched_brought_back_and_removed(dialect: str, way: Way, tmp_path: Path) -> None:
    async with shop_in(dialect, way, tmp_path) as shop:
        path = await shop.put("k 版本", b"unversioned")
        (only,) = await shop.objects.versions(path)
        assert only.is_latest and only.size_bytes == 11
        await shop.account.ask(lambda client: client.setBucketVersioning(path.bucket, "Enabled"), shop.place)
        for content in (b"one", b"two!"):
            await shop.put("k 版本", content)
        await shop.put("k 版本 and more", b"another object")
        await shop.objects.change(path, HeadChange(metadata={"of": "two"}))
        found = await shop.objects.versions(path)
        assert [version.size_bytes for version in found] == [4, 3, 11]
        assert [version.is_latest for version in found] == [True, False, False]
        assert (await shop.objects.facts(path, found[1].version)).size_bytes == 3
        assert await shop.content(path, found[1].version) == b"one"

        await shop.objects.make_current(path, found[1].version)
        assert [version.size_bytes for version in await shop.objects.versions(path)] == [3, 4, 3, 11]
        await shop.way.remove(path)
        marker = (await shop.objects.versions(path))[0]
        assert marker.is_marker and marker.is_latest
        with pytest.raises(NotFound):
            await shop.objects.facts(path)
        await shop.objects.remove_version(path, marker.version)
        assert (await shop.objects.facts(path)).size_bytes == 3
        await shop.objects.remove_version(path, found[0].version)
        assert [version.size_bytes for version in await shop.objects.versions(path)] == [3, 3, 11]


async def test_versions_of_many_pages(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "PAGE_KEYS", 2)
    shop = opened(way, f"b-{secrets.token_hex(6)}")
    await shop.storage.create_bucket(shop.place.bucket)
    await shop.account.ask(lambda client: client.setBucketVersioning(shop.place.bucket, "Enabled"), shop.place)
    for key in (" ", "a\x01", "b"):
        for number in range(5):
            await shop.put(key, b"x" * number)
    for key in (" ", "a\x01", "b"):
        found = await shop.objects.versions(shop.place.join(key))
        assert [version.size_bytes for version in found] == [4, 3, 2, 1, 0]
    shop.account.close()


@pytest.mark.parametrize("dialect", ["v2", "v4"])
async def test_a_link_opens_one_object_until_it_ends(dialect: str, way: Way, lab: LabProcess, tmp_path: Path) -> None:
    async with shop_in(dialect, way, tmp_path) as shop:
        path = await shop.put("a b/(数据) +?&%25.txt")
        link = await shop.objects.link(path, timedelta(hours=1))
        assert abs(link.until - datetime.now(UTC) - timedelta(hours=1)) < timedelta(minutes=1)
        assert link.method == "GET" and not link.ends_with_token
        assert link.address not in repr(link)
        assert await asyncio.to_thread(fetched, link.address) == (200, CONTENT)
        assert (await asyncio.to_thread(fetched, link.address, "DELETE"))[0] == 403
        assert (await asyncio.to_thread(fetched, link.address.replace("a%20b", "a%20c")))[0] == 403

        sent = await shop.objects.link(shop.place.join("sent"), timedelta(minutes=1), method="PUT")
        assert (await asyncio.to_thread(fetched, sent.address, "PUT", b"from outside"))[0] == 200
        assert (await shop.objects.facts(shop.place.join("sent"))).size_bytes == 12

        control = Control(lab.root)
        control.rules({"kind": "clock-skew", "service": "obs", "seconds": 3601})
        status, body = await asyncio.to_thread(fetched, link.address)
        assert status == 403 and CONTENT not in body
        control.rules({"kind": "clock-skew", "service": "obs", "seconds": 3500})
        assert (await asyncio.to_thread(fetched, link.address))[0] == 200
        control.rules()
        for lasts in (timedelta(seconds=59), timedelta(days=7, seconds=1), timedelta(days=-1)):
            with pytest.raises(InvalidInput):
                await shop.objects.link(path, lasts)
        with pytest.raises(InvalidInput):
            await shop.objects.link(path, timedelta(hours=1), method="DELETE")
        with pytest.raises(InvalidInput):
            await shop.objects.link(shop.place, timedelta(hours=1))


async def test_the_link_of_a_version_and_of_the_public_cloud(way: Way, tmp_path: Path) -> None:
    async with shop_in("obs", way, tmp_path) as shop:
        path = await shop.put(content=b"old")
        await shop.account.ask(lambda client: client.setBucketVersioning(path.bucket, "Enabled"), shop.place)
        await shop.put(content=b"newer")
        old = (await shop.objects.versions(path))[1].version
        link = (await shop.objects.link(path, timedelta(days=7), version=old)).address
        parts = urlsplit(link)
        assert parts.scheme == "https" and parts.hostname == f"{path.bucket}.localhost"
        assert "AccessKeyId=" in parts.query and "AWS" not in parts.query
        # The server behind the certificate, asked by the name that was signed.
        behind = urlsplit(way.profile.obs_endpoint)
        connection = http.client.HTTPConnection(behind.hostname or "", behind.port, timeout=PATIENT_S)
        host = {"Host": f"{parts.hostname}:{behind.port}"}
        await asyncio.to_thread(connection.request, "GET", f"{parts.path}?{parts.query}", headers=host)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"old")
        connection.close()


async def test_a_link_by_temporary_keys_says_so(way: Way) -> None:
    keys = Credentials("AKEXAMPLE123", Secret("SKEXAMPLE123"), Secret("a-token-of-an-hour"))
    shop = opened(way.at(credentials=keys), "bucket")
    link = await shop.objects.link(ObjectPath("bucket", "k"), timedelta(hours=2))
    assert link.ends_with_token and "security-token=a-token-of-an-hour" in link.address


async def test_links_reckon_with_the_clock_of_the_service(way: Way, lab: LabProcess) -> None:
    """An end that our clock names would be past there."""
    shop = opened(way, f"b-{secrets.token_hex(6)}")
    await shop.storage.create_bucket(shop.place.bucket)
    path = await shop.put()
    control = Control(lab.root)
    control.rules({"kind": "clock-skew", "service": "obs", "seconds": 600})
    await shop.objects.facts(path)
    link = await shop.objects.link(path, timedelta(minutes=5))
    assert (await asyncio.to_thread(fetched, link.address))[0] == 200
    control.rules()
    shop.account.close()


@pytest.mark.parametrize("seconds", [-7200, 7200])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_wrong_clock_is_corrected_where_the_sdk_asks(
    dialect: str, seconds: int, way: Way, lab: LabProcess, tmp_path: Path
) -> None:
    async with shop_in(dialect, way, tmp_path) as shop:
        path = await shop.put()
        control = Control(lab.root)
        control.rules({"kind": "clock-skew", "service": "obs", "seconds": seconds})
        try:
            bucket = shop.place.bucket
            await shop.account.ask(lambda client: client.setBucketVersioning(bucket, "Enabled"), shop.place)
            answer = await shop.account.ask(lambda client: client.headBucket(bucket), shop.place)
            assert answer.status == 200
            assert (await shop.objects.facts(path)).size_bytes == len(CONTENT)
        finally:
            control.rules()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_whether_anybody_may_read_it_is_tried(dialect: str, way: Way, tmp_path: Path) -> None:
    async with shop_in(dialect, way, tmp_path) as shop:
        path = await shop.put()
        assert await shop.objects.is_public(path) is False
        await shop.account.ask(
            lambda client: client.setObjectAcl(path.bucket, path.key, aclControl="public-read"), path
        )
        assert await shop.objects.is_public(path) is True
        assert await shop.objects.is_public(shop.place.join("not there")) is not True
        # What somebody shared stays shared when something else is said about it.
        await shop.objects.change(path, HeadChange(metadata={"a": "b"}))
        assert await shop.objects.is_public(path) is True


async def test_a_copy_onto_itself_loses_nothing(way: Way) -> None:
    """The Lab behind a proxy that hides that it knows the request of OBS."""
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        shop = opened(way.at(obs_endpoint=proxy.url), f"b-{secrets.token_hex(6)}")
        await shop.storage.create_bucket(shop.place.bucket)
        path = await shop.put()
        proxy.only = re.compile("apiversion")
        proxy.faults.append(Answer(200))
        await shop.objects.set_tags(path, {"team": "vision"})
        await shop.objects.change(path, CHANGE)
        await shop.objects.change(path, HeadChange(storage_class="WARM"))
        await shop.account.ask(
            lambda client: client.setObjectAcl(path.bucket, path.key, aclControl="public-read"), path
        )
        now = await shop.objects.change(path, HeadChange(metadata={"a": "b"}, headers={"cache-control": ""}))
        assert now.metadata == {**CHANGE.metadata, "a": "b"}
        assert now.headers == {"content-disposition": CHANGE.headers["content-disposition"]}
        assert (now.storage_class, now.content_type) == ("WARM", CHANGE.content_type)
        assert await shop.objects.tags(path) == {"team": "vision"}
        assert await shop.objects.is_public(path) is True
        assert not any("metadata" in line for line in proxy.seen)

        await shop.objects.change(path, HeadChange(storage_class="COLD"))
        with pytest.raises(Conflict, match="archived"):
            await shop.objects.change(path, HeadChange(metadata={"a": "c"}))
        shop.account.close()


async def test_trouble_is_said_as_everywhere(way: Way, unused_port: int) -> None:
    shop = opened(way, f"b-{secrets.token_hex(6)}")
    await shop.storage.create_bucket(shop.place.bucket)
    path = await shop.put()
    with pytest.raises(NotFound, match="not there"):
        await shop.objects.facts(shop.place.join("not there"))
    with pytest.raises(InvalidInput):
        await shop.objects.facts(shop.place)
    wrong = opened(way.at(credentials=Credentials(way.credentials.access_key, Secret("wrong" * 8))), path.bucket)
    with pytest.raises(AccessRefused):
        await wrong.objects.facts(path)
    with pytest.raises(KeysRefused):
        await wrong.objects.tags(path)
    dead = opened(way.at(obs_endpoint=f"http://127.0.0.1:{unused_port}"), path.bucket)
    for call in (dead.objects.facts(path), dead.objects.versions(path), dead.objects.restore(path, 3)):
        with pytest.raises(Unreachable):
            await call
    assert await dead.objects.is_public(path) is None
    assert (await dead.objects.link(path, timedelta(hours=1))).address, "made without asking anybody"
    for one in (shop, wrong, dead):
        one.account.close()


async def test_a_bad_line_is_tried_again_and_a_lost_answer_does_no_harm(way: Way) -> None:
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        shop = opened(way.at(obs_endpoint=proxy.url), f"b-{secrets.token_hex(6)}")
        await shop.storage.create_bucket(shop.place.bucket)
        path = await shop.put()
        await shop.objects.change(path, HeadChange(metadata={"zero": "0"}))
        proxy.faults.extend([Answer(503), Reset(), Answer(500)])
        assert (await shop.objects.facts(path)).metadata == {"zero": "0"}
        proxy.only = re.compile("PUT .*metadata")
        proxy.faults.extend([Reset(served=True), Answer(503)])
        assert (await shop.objects.change(path, HeadChange(metadata={"a": "b"}))).metadata == {"zero": "0", "a": "b"}
        shop.account.close()


async def test_a_store_that_knows_no_tags_keeps_its_object(way: Way, tmp_path: Path) -> None:
    """It would take the tags for new content, and their removal for that of the object."""
    with rclone(tmp_path) as url:
        keys = Credentials(ACCESS_KEY, Secret(SECRET_KEY))
        there = way.at(credentials=keys, obs_endpoint=url, signature=Signature.V4, region="us-east-1", path_style="yes")
        async with foreign_shop(there) as shop:
            for content in (b"small", os.urandom(1_000_000)):
                path = await shop.put("k.bin", content)
                calls = (
                    shop.objects.tags(path),
                    shop.objects.set_tags(path, {"team": "vision"}),
                    shop.objects.set_tags(path, {}),
                    shop.objects.versions(path),
                    shop.objects.restore(path, 3),
                    shop.objects.change(path, HeadChange(metadata={"a": "b"})),
                )
                for call in calls:
                    with pytest.raises(AppError):
                        await call
                    assert await shop.content(path) == content
