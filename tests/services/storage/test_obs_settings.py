"""Bucket settings through the real SDK against a real Lab in three dialects, and stores that lack most of them."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, closing
from datetime import date
from pathlib import Path

import pytest

from support.servers.faults import Answer, FaultyProxy
from support.servers.lab_process import LabProcess
from support.servers.secure import SecureFront
from support.stores.foreign_stores import ACCESS_KEY, SECRET_KEY, moto, rclone
from support.stores.lab_clients import obs_client, s3_client
from support.stores.way import Way
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature
from traindeck.domain.errors import (
    Conflict,
    InvalidInput,
    NoRight,
    NotFound,
    NotOffered,
    ServiceTrouble,
    Unreachable,
)
from traindeck.domain.storage.bucket_settings import CorsRule, LifecycleRule, Versioning
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import Connection

DIALECTS = ["obs", "v2", "v4"]

pytestmark = pytest.mark.usefixtures("no_waiting")


def connected(way: Way) -> AbstractContextManager[Connection]:
    return closing(Connection(way.profile, way.credentials, way.calls))


Speaking = Callable[[str], AbstractAsyncContextManager[tuple[Connection, str]]]
Foreign = tuple[str, Way]


@pytest.fixture
def speaking(way: Way, tmp_path: Path) -> Speaking:
    """A new bucket, spoken to in a dialect; OBS's own needs the bucket in the host name."""

    @asynccontextmanager
    async def speak(dialect: str) -> AsyncIterator[tuple[Connection, str]]:
        bucket = f"b-{secrets.token_hex(6)}"
        if dialect != "obs":
            with connected(way.at(signature=Signature(dialect))) as connection:
                await connection.storage.create_bucket(bucket)
                yield connection, bucket
            return
        names = ("localhost", f"{bucket}.localhost")
        async with SecureFront(tmp_path, way.profile.obs_endpoint, *names) as front:
            there = way.at(obs_endpoint=front.url, signature=Signature.OBS, ca_file=str(front.ca_file))
            with connected(there) as connection:
                await connection.storage.create_bucket(bucket)
                yield connection, bucket

    return speak


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_facts_of_a_bucket(speaking: Speaking, lab: LabProcess, dialect: str) -> None:
    async with speaking(dialect) as (connection, bucket):
        facts = await connection.settings.facts(bucket)
        assert facts.region == lab.region and facts.created is not None and facts.obs_version == "3.0"
        assert (facts.objects, facts.size_bytes, facts.quota_bytes) == (0, 0, 0)
        assert facts.versioning is Versioning.NEVER and facts.encryption == "" and facts.storage_class == "STANDARD"
        assert not facts.unknown


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_is_set_is_there_afterwards(speaking: Speaking, lab: LabProcess, dialect: str) -> None:
    async with speaking(dialect) as (connection, bucket):
        settings = connection.settings
        await settings.set_versioning(bucket, enabled=True)
        await settings.set_quota(bucket, 10 * 10**9)
        await settings.set_storage_class(bucket, "WARM")
        facts = await settings.facts(bucket)
        assert (facts.versioning, facts.quota_bytes, facts.storage_class) == (Versioning.ENABLED, 10**10, "WARM")
        await settings.set_versioning(bucket, enabled=False)
        await settings.set_quota(bucket, 0)
        facts = await settings.facts(bucket)
        assert (facts.versioning, facts.quota_bytes) == (Versioning.SUSPENDED, 0)
        # The vendor's SDK sees the same.
        with closing(obs_client(lab)) as client:
            assert client.getBucketStoragePolicy(bucket).body.storageClass == "WARM"


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_tags_come_and_go(speaking: Speaking, dialect: str) -> None:
    async with speaking(dialect) as (connection, bucket):
        settings = connection.settings
        none = await settings.tags(bucket)
        assert none.tags == () and none.seen == ""
        tags = (("team", "视觉"), ("cost centre", ""))
        some = await settings.set_tags(bucket, tags, none.seen)
        assert some.tags == tags == (await settings.tags(bucket)).tags
        assert (await settings.set_tags(bucket, (), some.seen)).tags == ()
        # Removing what is not there sends nothing, and the bucket stays.
        assert (await settings.set_tags(bucket, (), "")).tags == ()
        assert bucket in [found.name for found in await connection.storage.buckets()]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_cors_rules_are_kept_whole(speaking: Speaking, lab: LabProcess, dialect: str) -> None:
    async with speaking(dialect) as (connection, bucket):
        settings = connection.settings
        rule = CorsRule(("https://a.example", "https://*.b.example"), ("GET", "PUT"), ("*",), ("ETag",), 3600, "web")
        other = CorsRule(("*",), ("HEAD",))
        now = await settings.set_cors(bucket, (rule, other), "")
        assert now.rules == (rule, other)
        seen = s3_client(lab).get_bucket_cors(Bucket=bucket)["CORSRules"]
        assert seen[0]["AllowedOrigins"] == list(rule.origins) and seen[0]["MaxAgeSeconds"] == 3600
        assert (await settings.set_cors(bucket, (other,), now.seen)).rules == (other,)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_lifecycle_rules_are_kept_whole(speaking: Speaking, lab: LabProcess, dialect: str) -> None:
    async with speaking(dialect) as (connection, bucket):
        settings = connection.settings
        rules = (
            LifecycleRule("logs", "logs/", expire_days=365, moves=(("WARM", 30), ("COLD", 90)), abort_days=7),
            LifecycleRule("old", "", False, old_expire_days=30, old_moves=(("WARM", 10),)),
            LifecycleRule("once", "tmp/", expire_date=date(2031, 5, 1)),
        )
        now = await settings.set_lifecycle(bucket, rules, "")
        assert now.rules == rules
        seen = s3_client(lab).get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
        assert seen[0]["Expiration"]["Days"] == 365 and seen[2]["Expiration"]["Date"].date() == date(2031, 5, 1)
        classes = [move["StorageClass"] for move in seen[0]["Transitions"]]
        assert classes == (["WARM", "COLD"] if dialect == "obs" else ["STANDARD_IA", "GLACIER"])
        assert (await settings.set_lifecycle(bucket, (), now.seen)).rules == ()


async def test_what_others_wrote_stays_as_it_is(way: Way, lab: LabProcess, speaking: Speaking) -> None:
    async with speaking("v2") as (connection, bucket):
        s3_client(lab).put_bucket_lifecycle_configuration(
            Bucket=bucket,
            LifecycleConfiguration={
                "Rules": [
                    {
                        "ID": "tagged",
                        "Status": "Enabled",
                        "Filter": {"And": {"Prefix": "a/", "Tags": [{"Key": "k", "Value": "v"}]}},
                        "Expiration": {"Days": 3},
                    },
                    {"ID": "plain", "Status": "Enabled", "Filter": {"Prefix": "b/"}, "Expiration": {"Days": 5}},
                    {"ID": "markers", "Status": "Enabled", "Filter": {"Prefix": "c/"},
                     "Expiration": {"ExpiredObjectDeleteMarker": True}},
                ]
            },
        )  # fmt: skip
        before = s3_client(lab).get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
        now = await connection.settings.lifecycle(bucket)
        tagged, plain, markers = now.rules
        assert tagged.is_locked and markers.is_locked and "Filter" in tagged.others
        assert plain == LifecycleRule("plain", "b/", expire_days=5)
        changed = LifecycleRule("plain", "b/", expire_days=6, source=plain.source)
        await connection.settings.set_lifecycle(bucket, (tagged, changed, markers), now.seen)
        after = s3_client(lab).get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
        assert (after[0], after[2]) == (before[0], before[2])
        assert after[1] == before[1] | {"Expiration": {"Days": 6}}


async def test_a_change_by_somebody_else_is_not_overwritten(lab: LabProcess, speaking: Speaking) -> None:
    async with speaking("v2") as (connection, bucket):
        seen = await connection.settings.set_tags(bucket, (("a", "1"),), "")
        s3_client(lab).put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "b", "Value": "2"}]})
        with pytest.raises(Conflict, match="by someone else"):
            await connection.settings.set_tags(bucket, (("c", "3"),), seen.seen)
        assert (await connection.settings.tags(bucket)).tags == (("b", "2"),)


async def test_what_cannot_be_taken_is_not_sent(speaking: Speaking) -> None:
    async with speaking("v2") as (connection, bucket):
        settings = connection.settings
        for wrong in ((("a" * 37, ""),), (("a", "1"), ("a", "2")), (("x=y", ""),), (("", "v"),)):
            with pytest.raises(InvalidInput):
                await settings.set_tags(bucket, wrong, "")
        with pytest.raises(InvalidInput, match="origin"):
            await settings.set_cors(bucket, (CorsRule((), ("GET",)),), "")
        with pytest.raises(InvalidInput, match="before the transition"):
            rule = LifecycleRule("x", "", expire_days=10, moves=(("WARM", 30),))
            await settings.set_lifecycle(bucket, (rule,), "")
        with pytest.raises(InvalidInput, match="20 KB"):
            many = tuple(LifecycleRule(f"rule {n}", f"{n}/" + "x" * 300, expire_days=1) for n in range(100))
            await settings.set_lifecycle(bucket, many, "")
        with pytest.raises(InvalidInput, match="quota"):
            await settings.set_quota(bucket, 2**63)
        facts = await settings.facts(bucket)
        assert facts.quota_bytes == 0 and (await settings.lifecycle(bucket)).rules == ()


async def test_without_the_right_or_the_network(
    way: Way, lab: LabProcess, unused_port: int, speaking: Speaking
) -> None:
    async with speaking("v2") as (connection, bucket):
        policy = (
            f'{{"Statement":[{{"Effect":"Deny","Principal":{{"ID":"*"}},"Action":["PutBucketTagging",'
            f'"GetBucketQuota","GetLifecycleConfiguration"],"Resource":"{bucket}"}}]}}'
        )
        with closing(obs_client(lab)) as client:
            assert client.setBucketPolicy(bucket, policy).status < 300
        with pytest.raises(NoRight):
            await connection.settings.set_tags(bucket, (("a", "1"),), "")
        with pytest.raises(NoRight):
            await connection.settings.lifecycle(bucket)
        facts = await connection.settings.facts(bucket)
        assert facts.quota_bytes is None and "do not have permission" in str(facts.unknown["quota_bytes"])
        assert facts.versioning is Versioning.NEVER
        with pytest.raises(NotFound):
            await connection.settings.facts("no-such-bucket-anywhere")
        nowhere = way.at(obs_endpoint=f"http://127.0.0.1:{unused_port}")
        with connected(nowhere) as dead, pytest.raises(Unreachable):
            await dead.settings.facts(bucket)


async def test_an_answer_of_somebody_else_is_no_setting(way: Way, tmp_path: Path, speaking: Speaking) -> None:
    async with speaking("v2") as (_, bucket), FaultyProxy(way.profile.obs_endpoint) as proxy:
        proxy.faults.extend([Answer(200, b"<html>Sign in</html>")] * 20)
        with connected(way.at(obs_endpoint=proxy.url)) as between, pytest.raises(ServiceTrouble):
            await between.settings.tags(bucket)


@pytest.fixture(params=["moto", "rclone"])
def foreign(request: pytest.FixtureRequest, tmp_path: Path, calls: BlockingCalls) -> Iterator[Foreign]:
    with (moto if request.param == "moto" else rclone)(tmp_path) as url:
        profile = Profile(
            "s3", Provider.MODELARTS, "us-east-1", obs_endpoint=url, signature=Signature.V4, path_style=True
        )
        yield request.param, Way(profile, Credentials(ACCESS_KEY, Secret(SECRET_KEY)), calls)


async def test_a_store_that_lacks_them_says_so_and_loses_nothing(foreign: Foreign) -> None:
    name, way = foreign
    with connected(way) as connection:
        settings = connection.settings
        await connection.storage.create_bucket("bucket-one")
        facts = await settings.facts("bucket-one")
        assert facts.quota_bytes is None and facts.objects is None and "quota_bytes" in facts.unknown
        for refused in (settings.set_quota("bucket-one", 5), settings.set_storage_class("bucket-one", "WARM")):
            with pytest.raises(NotOffered):
                await refused
        if name == "moto":
            await settings.set_versioning("bucket-one", enabled=True)
            assert (await settings.facts("bucket-one")).versioning is Versioning.ENABLED
            tags = (("A=b", "x" * 200),)
            now = await settings.set_tags("bucket-one", tags, "")
            assert now.tags == tags and (await settings.set_tags("bucket-one", (), now.seen)).tags == ()
            rule = CorsRule(("*",), ("GET",), max_age_s=5)
            cors = await settings.set_cors("bucket-one", (rule,), "")
            assert [found.origins for found in cors.rules] == [("*",)]
            assert (await settings.set_cors("bucket-one", (), cors.seen)).rules == ()
            lifecycle = LifecycleRule("r", "logs/", expire_days=90, moves=(("WARM", 30),))
            kept = await settings.set_lifecycle("bucket-one", (lifecycle,), "")
            assert kept.rules == (lifecycle,)
            assert (await settings.set_lifecycle("bucket-one", (), kept.seen)).rules == ()
        else:
            for asking in (settings.tags("bucket-one"), settings.cors("bucket-one"), settings.lifecycle("bucket-one")):
                with pytest.raises(NotOffered):
                    await asking
        assert "bucket-one" in [found.name for found in await connection.storage.buckets()]


@pytest.mark.parametrize(
    ("part", "page", "unknown"),
    [
        ("quota", b"<Quota><StorageQuota>unlimited</StorageQuota></Quota>", "quota_bytes"),
        ("quota", b"<Quota/>", "quota_bytes"),
        ("versioning", b"<VersioningConfiguration><Status>Frozen</Status></VersioningConfiguration>", "versioning"),
    ],
)
async def test_what_is_said_in_unknown_words_stays_unknown(way: Way, part: str, page: bytes, unknown: str) -> None:
    bucket = f"b-{secrets.token_hex(6)}"
    async with FaultyProxy(way.profile.obs_endpoint) as proxy:
        with connected(way.at(obs_endpoint=proxy.url)) as between:
            await between.storage.create_bucket(bucket)
            proxy.only = re.compile(rf"\?{part}$")
            proxy.faults.extend([Answer(200, page, {"Content-Type": "application/xml"})] * 20)
            facts = await between.settings.facts(bucket)
        assert getattr(facts, unknown) is None and unknown in facts.unknown
        assert facts.objects == 0 and set(facts.unknown) == {unknown}
