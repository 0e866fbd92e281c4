"""Who may reach a bucket, through the real SDK against a real Lab, in its three dialects."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from support.servers.anybody import Anybody
from support.servers.faults import Answer, FaultyProxy, Reset
from support.servers.lab_process import LabProcess, account_in
from support.servers.secure import SecureFront
from support.stores.foreign_stores import ACCESS_KEY, SECRET_KEY, rclone
from support.stores.lab_clients import obs_client, s3_client
from support.stores.way import Way
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature
from traindeck.domain.errors import (
    Conflict,
    InvalidInput,
    KeysRefused,
    NoRight,
    NotFound,
    NotOffered,
    ServiceTrouble,
    Unreachable,
)
from traindeck.domain.storage.access import (
    Ability,
    Acl,
    CannedAcl,
    Grant,
    Grantees,
    Openness,
    Permission,
)
from traindeck.domain.storage.buckets import BucketContents, NewBucket
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import PolicyForm, Template, same_policy, template_policy
from traindeck.lab.accounts import LabAccount
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.storage.sdk.access import ObsAccess
from traindeck.services.storage.sdk.buckets import ObsStorage

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def bucket() -> str:
    return f"b-{secrets.token_hex(6)}"


@pytest.fixture
def anybody(lab: LabProcess) -> Anybody:
    return Anybody(lab.obs)


@pytest.fixture(scope="module")
def guest(lab: LabProcess) -> LabAccount:
    return account_in(lab.root, "guest")


@pytest.fixture(params=["obs", "v2", "v4"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Reach:
    """Both adapters over one account."""

    def __init__(self, way: Way) -> None:
        self.account = ObsStorage(way.profile, way.credentials, way.calls)
        self.access = ObsAccess(self.account)
        self.storage = self.account
        self.way = way
        self.put = way.put


@asynccontextmanager
async def reach(way: Way, dialect: str, bucket: str, folder: Path) -> AsyncIterator[Reach]:
    if dialect != "obs":
        found = Reach(way.at(signature=dialect))
        yield found
        found.account.close()
        return
    async with SecureFront(folder, way.profile.obs_endpoint, "localhost", f"{bucket}.localhost") as front:
        found = Reach(way.at(obs_endpoint=front.url, signature="obs", ca_file=str(front.ca_file)))
        yield found
        found.account.close()


async def test_the_templates_open_and_close_a_bucket_for_anybody(
    way: Way, dialect: str, bucket: str, tmp_path: Path, anybody: Anybody
) -> None:
    async with reach(way, dialect, bucket, tmp_path) as on:
        await on.storage.create_bucket(bucket)
        await on.put(b"x", ObjectPath(bucket, "k"))
        assert await on.access.policy(bucket) == ""
        assert (await on.access.exposure(bucket)).openness is Openness.PRIVATE

        def tried() -> tuple[int, int, int, int]:
            key, other = f"/{bucket}/k", f"/{bucket}/{secrets.token_hex(4)}"
            return anybody.get(key), anybody.get(f"/{bucket}/"), anybody.put(other), anybody.delete(other)

        expected = {
            Template.PRIVATE: (403, 403, 403, 403),
            Template.PUBLIC_READ: (200, 403, 403, 403),
            Template.PUBLIC_READ_LIST: (200, 200, 403, 403),
            Template.PUBLIC_READ_WRITE: (200, 200, 200, 403),
            Template.PUBLIC_READ_WRITE_DELETE: (200, 200, 200, 204),
        }
        for template in (*Template, Template.PRIVATE):
            await on.access.set_policy(bucket, template_policy(template, bucket, on.access.form))
            assert tried() == expected[template], template
            found = await on.access.exposure(bucket)
            assert found.template is template
            asked = (Ability.READ, Ability.LIST, Ability.WRITE, Ability.DELETE)
            says = tuple(ability in found.anybody for ability in asked)
            assert says == tuple(status < 300 for status in expected[found.template or Template.PRIVATE]), template
            assert found.is_public is (template is not Template.PRIVATE)


async def test_grants_of_a_bucket_open_it_and_keep_their_others(
    way: Way, dialect: str, bucket: str, tmp_path: Path, anybody: Anybody, guest: LabAccount
) -> None:
    place = ObjectPath(bucket)
    async with reach(way, dialect, bucket, tmp_path) as on:
        await on.storage.create_bucket(bucket)
        before = await on.access.acl(place)
        assert [grant.permission for grant in before.grants] == [Permission.FULL_CONTROL]
        assert before.is_of_owner(before.grants[0])
        wanted = Acl(
            before.owner,
            (
                *before.grants,
                Grant(Grantees.ACCOUNT, Permission.READ, guest.domain_id),
                Grant(Grantees.EVERYONE, Permission.READ),
            ),
        )
        await on.access.set_acl(place, wanted)
        assert (await on.access.acl(place)).is_same(wanted)
        assert anybody.get(f"/{bucket}/") == 200
        assert anybody.put(f"/{bucket}/new") == 403
        found = await on.access.exposure(bucket)
        assert (found.openness, found.anybody, found.has_others) == (
            Openness.PUBLIC_READ, frozenset({Ability.LIST}), True,
        )  # fmt: skip
        await on.access.set_acl(place, wanted.without_public())
        assert anybody.get(f"/{bucket}/") == 403
        assert (await on.access.exposure(bucket)).openness is Openness.CUSTOM
        await on.access.set_canned_acl(place, CannedAcl.PUBLIC_READ_WRITE)
        assert anybody.put(f"/{bucket}/new") == 200
        assert (await on.access.exposure(bucket)).openness is Openness.PUBLIC_READ_WRITE
        await on.access.set_canned_acl(place, CannedAcl.PRIVATE)
        assert anybody.put(f"/{bucket}/new") == 403


async def test_grants_of_an_object_leave_its_content(
    way: Way, dialect: str, bucket: str, tmp_path: Path, anybody: Anybody
) -> None:
    place = ObjectPath(bucket, "folder/ü k")
    async with reach(way, dialect, bucket, tmp_path) as on:
        await on.storage.create_bucket(bucket)
        await on.put(b"content", place)
        target = f"/{bucket}/folder/%C3%BC%20k"
        assert anybody.get(target) == 403
        acl = await on.access.acl(place)
        await on.access.set_acl(place, Acl(acl.owner, (*acl.grants, Grant(Grantees.EVERYONE, Permission.READ))))
        assert anybody.get(target) == 200
        await on.access.set_canned_acl(place, CannedAcl.PRIVATE)
        assert anybody.get(target) == 403
        info = await on.storage.info(place)
        assert info is not None and info.size_bytes == len(b"content")
        with pytest.raises(NotFound):
            await on.access.acl(ObjectPath(bucket, "nothing"))


async def test_grants_handed_on_are_for_the_dialect_that_knows_them(way: Way, bucket: str, tmp_path: Path) -> None:
    delivered = Grant(Grantees.EVERYONE, Permission.READ, delivered=True)
    place = ObjectPath(bucket)
    async with reach(way, "obs", bucket, tmp_path) as on:
        await on.storage.create_bucket(bucket)
        acl = await on.access.acl(place)
        await on.access.set_acl(place, Acl(acl.owner, (*acl.grants, delivered)))
        assert delivered in (await on.access.acl(place)).grants
        assert (await on.access.exposure(bucket)).anybody == {Ability.LIST, Ability.READ}
    async with reach(way, "v2", bucket, tmp_path) as on:
        with pytest.raises(NotOffered, match="apply grants"):
            await on.access.set_acl(place, Acl(acl.owner, (*acl.grants, delivered)))
        with pytest.raises(InvalidInput):
            await on.access.set_acl(place, Acl(acl.owner, ()))


async def test_a_block_on_public_access_is_seen(way: Way, bucket: str, lab: LabProcess) -> None:
    on = Reach(way)
    await on.access.create(NewBucket(bucket, template=Template.PUBLIC_READ))
    assert (await on.access.exposure(bucket)).is_public
    client = s3_client(lab)
    block = {
        "BlockPublicAcls": True,
        "IgnorePublicAcls": True,
        "BlockPublicPolicy": True,
        "RestrictPublicBuckets": True,
    }
    client.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=block)
    client.close()
    found = await on.access.exposure(bucket)
    assert found.is_public is False and found.template is Template.PUBLIC_READ
    on.account.close()


async def test_a_bucket_is_made_as_it_was_wanted(
    way: Way, dialect: str, bucket: str, tmp_path: Path, anybody: Anybody, lab: LabProcess
) -> None:
    async with reach(way, dialect, bucket, tmp_path) as on:
        await on.access.create(NewBucket(bucket, "WARM", Template.PUBLIC_READ))
        await on.put(b"x", ObjectPath(bucket, "k"))
        assert anybody.get(f"/{bucket}/k") == 200
        client = obs_client(lab)
        assert client.getBucketMetadata(bucket).body.storageClass == "WARM"
        client.close()
        with pytest.raises(Conflict, match="already exists"):
            await on.access.create(NewBucket(bucket, "COLD", Template.PUBLIC_READ_WRITE))
        assert anybody.put(f"/{bucket}/k") == 403
        with pytest.raises(InvalidInput):
            await on.access.create(NewBucket("Not-A-Name"))
        with pytest.raises(InvalidInput, match="GOLD"):
            await on.access.create(NewBucket(f"{bucket}-x", "GOLD"))


async def test_a_bucket_that_could_not_be_opened_is_said_to_be_private(way: Way, bucket: str) -> None:
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        on = Reach(way.at(obs_endpoint=proxy.url))
        proxy.only = re.compile("^PUT .*policy")
        refused = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
        proxy.faults.extend([Answer(403, refused, {"Content-Type": "application/xml"})])
        with pytest.raises(NoRight, match=f"“{bucket}” was created and is private"):
            await on.access.create(NewBucket(bucket, template=Template.PUBLIC_READ))
        assert (await on.access.exposure(bucket)).openness is Openness.PRIVATE
        on.account.close()


async def fill(on: Reach, lab: LabProcess, bucket: str) -> BucketContents:
    """Objects with odd names, old versions, a mark of deletion and an unfinished upload."""
    client = obs_client(lab)
    assert client.setBucketVersioning(bucket, "Enabled").status < 300
    for key in ("a", "a", "a", "ü/中", "control\x01\r\n", "plus+%25", "gone"):
        await on.put(b"12345", ObjectPath(bucket, key))
    await on.way.remove(ObjectPath(bucket, "gone"))
    for key in ("big", "big+2"):
        assert client.initiateMultipartUpload(bucket, key).status < 300
    client.close()
    return BucketContents(objects=4, old_versions=3, markers=1, fragments=2, size_bytes=35)


async def test_everything_in_a_bucket_is_counted_and_goes(
    way: Way, dialect: str, bucket: str, tmp_path: Path, lab: LabProcess
) -> None:
    async with reach(way, dialect, bucket, tmp_path) as on:
        await on.storage.create_bucket(bucket)
        expected = await fill(on, lab, bucket)
        told: list[BucketContents] = []
        assert await on.access.count(bucket, told.append) == expected == told[-1]
        with pytest.raises(Conflict, match="not empty"):
            await on.access.remove(bucket)
        told.clear()
        assert await on.access.empty(bucket, told.append) == expected == told[-1]
        assert (await on.access.count(bucket, told.append)).is_empty
        await on.access.remove(bucket)
        assert bucket not in [one.name for one in await on.storage.buckets()]


def put_all(lab: LabProcess, bucket: str, keys: Iterable[str]) -> None:
    """A new bucket with an object of one byte under each key."""
    with closing(obs_client(lab)) as client:
        client.createBucket(bucket)
        for key in keys:
            client.putContent(bucket, key, b"x")


async def test_many_pages_go_through_a_bad_line(way: Way, bucket: str, lab: LabProcess) -> None:
    put_all(lab, bucket, (f"{number % 7}/{number:05}" for number in range(1203)))
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        on = Reach(way.at(obs_endpoint=proxy.url))
        proxy.faults.extend([Reset(), Answer(503)])
        assert await on.access.count(bucket, lambda _: None) == BucketContents(objects=1203, size_bytes=1203)
        proxy.only = re.compile("^POST .*delete")
        proxy.faults.extend([Reset(served=True), Answer(500)])
        assert (await on.access.empty(bucket, lambda _: None)).count == 1203
        assert (await on.access.count(bucket, lambda _: None)).is_empty
        await on.access.remove(bucket)
        on.account.close()


async def test_emptying_ends_at_once_when_it_is_cancelled(way: Way, bucket: str, lab: LabProcess) -> None:
    put_all(lab, bucket, (f"{number:05}" for number in range(1100)))
    on, begun = Reach(way), asyncio.Event()
    work = asyncio.ensure_future(on.access.empty(bucket, lambda _: begun.set()))
    await begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert (await on.access.count(bucket, lambda _: None)).objects <= 1100
    with pytest.raises(Conflict, match="not empty"):
        await on.storage.create_bucket(bucket)
        await on.put(b"x", ObjectPath(bucket, "stays"))
        await on.access.remove(bucket)
    on.account.close()


ODD_ACL = (
    b"<AccessControlPolicy><Owner><ID>o</ID></Owner><AccessControlList><Grant><Grantee><Agency>a</Agency></Grantee>"
    b"<Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>"
)


async def test_grants_that_cannot_be_read_are_not_written_over(way: Way, bucket: str) -> None:
    place = ObjectPath(bucket)
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        on = Reach(way.at(obs_endpoint=proxy.url))
        await on.storage.create_bucket(bucket)
        wanted = await on.access.acl(place)
        proxy.seen.clear()
        proxy.faults.append(Answer(200, ODD_ACL, {"Content-Type": "application/xml"}))
        with pytest.raises(NotOffered, match="not recognized"):
            await on.access.set_acl(place, wanted)
        assert [line.split()[0] for line in proxy.seen] == ["GET"]
        proxy.faults.append(Answer(200, b"<ListBucketResult/>", {"Content-Type": "application/xml"}))
        with pytest.raises(ServiceTrouble, match="cannot be read"):
            await on.access.set_canned_acl(place, CannedAcl.PUBLIC_READ)
        assert not any(line.startswith("PUT") for line in proxy.seen)
        on.account.close()


async def test_what_a_policy_keeps_is_named(way: Way, bucket: str) -> None:
    on = Reach(way)
    await on.storage.create_bucket(bucket)
    for key in ("kept/1", "goes/1", "goes/2"):
        await on.put(b"x", ObjectPath(bucket, key))
    denial = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": ["DeleteObject", "DeleteObjectVersion"],
        "Resource": [f"{bucket}/kept/*"],
    }
    await on.access.set_policy(bucket, json.dumps({"Statement": [denial]}))
    with pytest.raises(Conflict, match=r"1 object could not be deleted: “obs://.*/kept/1”"):
        await on.access.empty(bucket, lambda _: None)
    assert (await on.access.count(bucket, lambda _: None)).objects == 1
    on.account.close()


async def test_who_may_not_look_sees_nothing_claimed(way: Way, bucket: str, guest: LabAccount) -> None:
    on = Reach(way)
    await on.storage.create_bucket(bucket)
    keys = Credentials(guest.access_key, Secret(guest.secret_key))
    other = Reach(way.at(credentials=keys))
    with pytest.raises(NoRight):
        await other.access.policy(bucket)
    with pytest.raises(NoRight):
        await other.access.acl(ObjectPath(bucket))
    found = await other.access.exposure(bucket)
    assert (found.openness, found.is_public) == (Openness.UNKNOWN, None)
    with pytest.raises(NoRight):
        await other.access.set_policy(bucket, template_policy(Template.PUBLIC_READ, bucket, PolicyForm.OBS))
    # One half that can be seen is enough to know that it is public.
    statement = {
        "Effect": "Allow",
        "Principal": {"ID": [f"domain/{guest.domain_id}:user/*"]},
        "Action": ["GetBucketAcl"],
        "Resource": [bucket],
    }
    await on.access.set_policy(bucket, json.dumps({"Statement": [statement]}))
    assert (await other.access.exposure(bucket)).openness is Openness.UNKNOWN
    await on.access.set_canned_acl(ObjectPath(bucket), CannedAcl.PUBLIC_READ)
    assert (await other.access.exposure(bucket)).is_public
    on.account.close()
    other.account.close()


async def test_trouble_is_told_as_what_it_is(way: Way, bucket: str, unused_port: int) -> None:
    dead = Reach(way.at(obs_endpoint=f"http://127.0.0.1:{unused_port}"))
    with pytest.raises(Unreachable):
        await dead.access.exposure(bucket)
    with pytest.raises(Unreachable):
        await dead.access.create(NewBucket(bucket))
    wrong = Reach(way.at(credentials=Credentials(way.credentials.access_key, Secret("wrong"))))
    with pytest.raises(KeysRefused):
        await wrong.access.exposure(bucket)
    on = Reach(way)
    with pytest.raises(NotFound, match="does not exist"):
        await on.access.exposure(bucket)
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        await on.storage.create_bucket(bucket)
        spoilt = Reach(way.at(obs_endpoint=proxy.url))
        page = Answer(200, b"<html>please sign in</html>", {"Content-Type": "text/html"})
        for call in (spoilt.access.policy(bucket), spoilt.access.acl(ObjectPath(bucket))):
            proxy.faults.append(page)
            with pytest.raises(ServiceTrouble, match="web page"):
                await call
        # An empty answer is no policy, and none may be written on the strength of it.
        proxy.faults.append(Answer(200))
        with pytest.raises(ServiceTrouble, match="cannot be read"):
            await spoilt.access.set_policy(bucket, template_policy(Template.PUBLIC_READ, bucket, PolicyForm.OBS))
        assert await on.access.policy(bucket) == ""
    for one in (dead, wrong, on, spoilt):
        one.account.close()


def foreign(name: str, url: str, calls: BlockingCalls) -> Reach:
    profile = Profile(name, Provider.MODELARTS, "us-east-1", obs_endpoint=url, signature=Signature.V4, path_style=True)
    return Reach(Way(profile, Credentials(ACCESS_KEY, Secret(SECRET_KEY)), calls))


async def test_another_store_takes_the_same_in_its_own_words(moto_url: str, calls: BlockingCalls, bucket: str) -> None:
    on = foreign("moto", moto_url, calls)
    assert on.access.form is PolicyForm.S3
    for template in (Template.PUBLIC_READ, Template.PUBLIC_READ_WRITE):
        name = f"{bucket}-{template.value}"
        await on.access.create(NewBucket(name, template=template))
        policy = await on.access.policy(name)
        assert same_policy(policy, template_policy(template, name, PolicyForm.S3))
        assert (await on.access.exposure(name)).template is template
    place = ObjectPath(bucket)
    await on.access.create(NewBucket(bucket))
    acl = await on.access.acl(place)
    await on.access.set_acl(place, Acl(acl.owner, (*acl.grants, Grant(Grantees.EVERYONE, Permission.READ))))
    assert (await on.access.exposure(bucket)).anybody == {Ability.LIST}
    with pytest.raises(NotOffered, match="WARM"):
        await on.access.create(NewBucket(f"{bucket}-warm", "WARM"))
    for key in ("a b", "ü/中", "plus+%25", "tab\there"):
        await on.put(b"12345", ObjectPath(bucket, key))
    assert (await on.access.empty(bucket, lambda _: None)).objects == 4
    await on.access.remove(bucket)
    assert bucket not in [one.name for one in await on.storage.buckets()]
    on.account.close()


async def test_a_store_without_rights_loses_nothing_by_being_asked(
    tmp_path: Path, calls: BlockingCalls, bucket: str
) -> None:
    """It takes a request it does not know for one to make or remove the bucket, or to empty the object."""
    with rclone(tmp_path) as url:
        on = foreign("rclone", url, calls)
        place = ObjectPath(bucket, "k")
        await on.access.create(NewBucket(bucket))
        await on.put(b"content", place)
        with pytest.raises(NotOffered):
            await on.access.set_policy(bucket, template_policy(Template.PUBLIC_READ, bucket, PolicyForm.S3))
        with pytest.raises(NotOffered):
            await on.access.set_policy(bucket, "")
        for canned in (ObjectPath(bucket), place):
            with pytest.raises(NotOffered):
                await on.access.set_canned_acl(canned, CannedAcl.PUBLIC_READ)
        found = await on.storage.info(place)
        assert found is not None and found.size_bytes == len(b"content")
        assert (await on.access.exposure(bucket)).is_public is None
        counted = await on.access.count(bucket, lambda _: None)
        assert (counted.objects, counted.size_bytes) == (1, 7)
        await on.access.empty(bucket, lambda _: None)
        await on.access.remove(bucket)
        assert not (tmp_path / "served" / bucket).exists()
        on.account.close()


async def test_a_new_bucket_whose_policy_got_no_answer_is_not_called_private(way: Way, bucket: str) -> None:
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        on = Reach(way.at(obs_endpoint=proxy.url))
        proxy.only = re.compile(r"^PUT .*\?policy")
        proxy.faults.extend([Reset(served=True)] * 10)
        with pytest.raises(ServiceTrouble) as raised:
            await on.access.create(NewBucket(bucket, template=Template.PUBLIC_READ))
        assert "private" not in str(raised.value) and bucket in str(raised.value)
        assert (await on.access.exposure(bucket)).is_public
        on.account.close()


async def test_a_bucket_whose_removal_got_no_answer_is_removed(way: Way, bucket: str) -> None:
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        on = Reach(way.at(obs_endpoint=proxy.url))
        await on.storage.create_bucket(bucket)
        proxy.faults.append(Reset(served=True))
        await on.access.remove(bucket)
        assert [line for line in proxy.seen if line.startswith("DELETE")] == [f"DELETE /{bucket}"] * 2
        with pytest.raises(NotFound):
            await on.access.remove(bucket)
        on.account.close()


@pytest.mark.parametrize(
    ("what", "page"),
    [
        ("versions", b"<ListVersionsResult><IsTruncated>true</IsTruncated></ListVersionsResult>"),
        ("uploads", b"<ListMultipartUploadsResult><IsTruncated>true</IsTruncated></ListMultipartUploadsResult>"),
    ],
)
async def test_a_listing_that_breaks_off_is_not_taken_for_the_whole(
    way: Way, bucket: str, what: str, page: bytes
) -> None:
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        on = Reach(way.at(obs_endpoint=proxy.url))
        await on.storage.create_bucket(bucket)
        await on.put(b"x", ObjectPath(bucket, "k"))
        proxy.only = re.compile(rf"\?{what}")
        proxy.faults.extend([Answer(200, page, {"Content-Type": "application/xml"})] * 4)
        with pytest.raises(ServiceTrouble, match="cannot be read"):
            await on.access.count(bucket, lambda _: None)
        on.account.close()
