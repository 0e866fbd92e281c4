"""Who may do what: ACLs and policies between accounts and for nobody in particular, through real clients."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError
from obs import ACL, Grant, Grantee, Group, ObsClient, Owner, Permission, PutObjectHeader

from support.servers.anybody import Anybody
from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire
from support.stores.lab_clients import obs_client
from traindeck.lab.accounts import AccountRefused, Accounts, LabAccount, RefusedAccount
from traindeck.lab.obs.policy import Asker, MalformedPolicy, checked_policy, policy_of


@pytest.fixture(params=["obs", "v2", "v4"])
def owner(lab: LabProcess, request: pytest.FixtureRequest) -> Iterator[ObsClient]:
    with closing(obs_client(lab, request.param)) as client:
        yield client


@pytest.fixture
def guest(lab: LabProcess, other: LabAccount, owner: ObsClient) -> Iterator[ObsClient]:
    with closing(obs_client(lab, owner.signature, access_key=other.access_key, secret_key=other.secret_key)) as client:
        yield client


@pytest.fixture
def nobody(lab: LabProcess, owner: ObsClient) -> Iterator[ObsClient]:
    with closing(obs_client(lab, owner.signature, access_key="", secret_key="")) as client:
        yield client


def get(client: ObsClient, bucket: str, key: str = "k") -> int:
    return int(client.getObject(bucket, key, loadStreamInMemory=True).status)


def policy(bucket: str, *statements: dict[str, Any]) -> str:
    usual = {"Effect": "Allow", "Principal": {"ID": "*"}, "Resource": [bucket, f"{bucket}/*"]}
    merged = [{**usual, **one} for one in statements]
    return json.dumps({"Statement": [{name: value for name, value in one.items() if value} for one in merged]})


# --- ACLs ------------------------------------------------------------------------------------------------------------


def test_canned_acls_of_objects(owner: ObsClient, guest: ObsClient, nobody: ObsClient, bucket: str) -> None:
    owner.putContent(bucket, "k", b"x")
    assert (get(owner, bucket), get(guest, bucket), get(nobody, bucket)) == (200, 403, 403)
    assert owner.setObjectAcl(bucket, "k", aclControl="public-read").status == 200
    assert (get(guest, bucket), get(nobody, bucket)) == (200, 200)
    assert nobody.putContent(bucket, "k", b"changed").errorCode == "AccessDenied"
    assert nobody.deleteObject(bucket, "k").errorCode == "AccessDenied"
    assert nobody.getObjectAcl(bucket, "k").errorCode == "AccessDenied"
    assert owner.setObjectAcl(bucket, "k", aclControl="private").status == 200
    assert get(nobody, bucket) == 403
    assert owner.putContent(bucket, "k", b"x", headers=PutObjectHeader(acl="public-read")).status == 200
    assert get(nobody, bucket) == 200
    assert get(nobody, bucket, "missing") == 403


def test_canned_acls_of_buckets(owner: ObsClient, guest: ObsClient, nobody: ObsClient, bucket: str) -> None:
    owner.putContent(bucket, "k", b"x")
    assert nobody.listObjects(bucket).errorCode == "AccessDenied"
    assert owner.setBucketAcl(bucket, aclControl="public-read").status == 200
    assert [one.key for one in nobody.listObjects(bucket).body.contents] == ["k"]
    assert nobody.headBucket(bucket).status == 200
    assert get(nobody, bucket) == 403
    assert get(nobody, bucket, "missing") == 404
    assert guest.putContent(bucket, "theirs", b"x").status == 403
    assert owner.setBucketAcl(bucket, aclControl="public-read-write").status == 200
    assert guest.putContent(bucket, "theirs", b"x").status == 200
    assert get(owner, bucket, "theirs") == 403
    assert get(guest, bucket, "theirs") == 200
    assert nobody.putContent(bucket, "anybody's", b"x").status == 200
    assert get(nobody, bucket, "anybody's") == 200
    assert nobody.setBucketAcl(bucket, aclControl="private").errorCode == "AccessDenied"
    assert nobody.deleteBucket(bucket).errorCode == "AccessDenied"
    assert owner.deleteObject(bucket, "theirs").status == 204


def test_acls_as_documents(
    owner: ObsClient, guest: ObsClient, nobody: ObsClient, other: LabAccount, bucket: str
) -> None:
    owner.putContent(bucket, "k", b"x")
    before = owner.getObjectAcl(bucket, "k").body
    assert [one.permission for one in before.grants] == ["FULL_CONTROL"]
    grants = [
        Grant(Grantee(grantee_id=before.owner.owner_id), Permission.FULL_CONTROL),
        Grant(Grantee(grantee_id=other.domain_id), Permission.READ),
        Grant(Grantee(group=Group.ALL_USERS), Permission.READ_ACP),
    ]
    wanted = ACL(Owner(owner_id=before.owner.owner_id), grants)
    assert owner.setObjectAcl(bucket, "k", acl=wanted).status == 200
    assert (get(guest, bucket), get(nobody, bucket)) == (200, 403)
    assert nobody.getObjectAcl(bucket, "k").status == 200
    # Nothing in an unsigned question tells its dialect, so this one is signed.
    seen = owner.getObjectAcl(bucket, "k").body
    assert [one.permission for one in seen.grants] == ["FULL_CONTROL", "READ", "READ_ACP"]
    assert seen.grants[1].grantee.grantee_id == other.domain_id
    assert seen.grants[2].grantee.group
    assert owner.setBucketAcl(bucket, acl=ACL(Owner(owner_id=before.owner.owner_id), grants)).status == 200
    assert [one.permission for one in guest.getBucketAcl(bucket).body.grants] == ["FULL_CONTROL", "READ", "READ_ACP"]
    stolen = owner.setObjectAcl(bucket, "k", acl=ACL(Owner(owner_id=other.domain_id), grants))
    assert (stolen.status, stolen.errorCode) == (400, "InvalidArgument")


def test_full_control_is_not_ownership(owner: ObsClient, guest: ObsClient, other: LabAccount, bucket: str) -> None:
    grants = [Grant(Grantee(grantee_id=other.domain_id), Permission.FULL_CONTROL)]
    own = owner.getBucketAcl(bucket).body.owner.owner_id
    assert owner.setBucketAcl(bucket, acl=ACL(Owner(owner_id=own), grants)).status == 200
    assert guest.putContent(bucket, "k", b"x").status == 200
    assert guest.getBucketAcl(bucket).status == 200
    for asked in (guest.getBucketQuota(bucket), guest.getBucketPolicy(bucket), guest.deleteBucket(bucket)):
        assert (asked.status, asked.errorCode) == (403, "AccessDenied")


def test_delivered_grants_reach_the_objects(lab: LabProcess, bucket: str) -> None:
    owner, nobody = obs_client(lab), obs_client(lab, access_key="", secret_key="")
    owner.putContent(bucket, "k", b"x")
    assert owner.setBucketAcl(bucket, aclControl="public-read-delivered").status == 200
    assert get(nobody, bucket) == 200
    assert [bool(one.delivered) for one in owner.getBucketAcl(bucket).body.grants] == [False, True]
    owner.close()
    nobody.close()


# --- policies --------------------------------------------------------------------------------------------------------

READ = {"Action": ["GetObject", "GetObjectVersion", "HeadBucket", "ListBucket"]}
WRITE = {"Action": ["PutObject", "DeleteObject", "DeleteObjectVersion"]}


def test_a_policy_opens_and_closes_a_bucket(owner: ObsClient, nobody: ObsClient, bucket: str) -> None:
    assert owner.getBucketPolicy(bucket).errorCode == "NoSuchBucketPolicy"
    owner.putContent(bucket, "k", b"x")
    text = policy(bucket, READ)
    assert owner.setBucketPolicy(bucket, text).status == 204
    assert json.loads(owner.getBucketPolicy(bucket).body.policyJSON) == json.loads(text)
    assert get(nobody, bucket) == 200
    assert [one.key for one in nobody.listObjects(bucket).body.contents] == ["k"]
    assert nobody.putContent(bucket, "k", b"y").errorCode == "AccessDenied"
    assert owner.setBucketPolicy(bucket, policy(bucket, READ, WRITE)).status == 204
    assert nobody.putContent(bucket, "new", b"y").status == 200
    assert nobody.deleteObject(bucket, "new").status == 204
    assert owner.deleteBucketPolicy(bucket).status == 204
    assert get(nobody, bucket) == 403


def test_denial_wins_over_ownership(owner: ObsClient, bucket: str) -> None:
    owner.putContent(bucket, "secret/k", b"x")
    owner.putContent(bucket, "open/k", b"x")
    denied = {"Effect": "Deny", "Action": "*", "Resource": f"{bucket}/secret/*"}
    assert owner.setBucketPolicy(bucket, policy(bucket, denied)).status == 204
    assert (get(owner, bucket, "secret/k"), get(owner, bucket, "open/k")) == (403, 200)
    everything = {"Effect": "Deny", "Action": "*"}
    assert owner.setBucketPolicy(bucket, policy(bucket, everything)).status == 204
    assert owner.listObjects(bucket).errorCode == "AccessDenied"
    assert owner.deleteBucketPolicy(bucket).status == 204
    assert get(owner, bucket, "secret/k") == 200


def test_policies_for_one_account(
    owner: ObsClient, guest: ObsClient, nobody: ObsClient, other: LabAccount, bucket: str
) -> None:
    owner.putContent(bucket, "k", b"x")
    principal = {"ID": [f"domain/{other.domain_id}:user/*"]}
    text = policy(bucket, {"Principal": principal, "Action": ["Get*", "List*", "PutObject"]})
    assert owner.setBucketPolicy(bucket, text).status == 204
    assert (get(guest, bucket), get(nobody, bucket)) == (200, 403)
    assert guest.putContent(bucket, "from guest", b"x").status == 200
    assert guest.getBucketQuota(bucket).status == 200
    assert guest.deleteObject(bucket, "k").errorCode == "AccessDenied"
    assert guest.copyObject(bucket, "k", bucket, "copy").status == 200


def test_a_blocked_bucket_is_not_public(owner: ObsClient, nobody: ObsClient, bucket: str) -> None:
    owner.putContent(bucket, "k", b"x", headers=PutObjectHeader(acl="public-read"))
    assert owner.setBucketPolicy(bucket, policy(bucket, READ)).status == 204
    assert get(nobody, bucket) == 200
    block = b"<PublicAccessBlockConfiguration>%s</PublicAccessBlockConfiguration>"
    names = ("IgnorePublicAcls", "RestrictPublicBuckets")
    body = block % b"".join(f"<{name}>true</{name}>".encode() for name in names)
    signed = owner.createSignedUrl("PUT", bucket, specialParam="publicAccessBlock", expires=60)
    request = urllib.request.Request(signed.signedUrl, data=body, method="PUT", headers={"Content-Type": ""})
    try:
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200
    except urllib.error.HTTPError as error:
        with error:
            raise AssertionError(error.read()) from None
    assert get(nobody, bucket) == 403
    assert get(owner, bucket) == 200


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[]",
        "{}",
        '{"Statement": []}',
        '{"Statement": [{"Effect": "Perhaps", "Principal": "*", "Action": "*", "Resource": "bkt"}]}',
        '{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "bkt"}]}',
        '{"Statement": [{"Effect": "Allow", "Principal": "*", "Resource": "bkt"}]}',
        '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "other/*"}]}',
        '{"Statement": [{"Effect": "Allow", "Principal": "me", "Action": "*", "Resource": "bkt"}]}',
        '{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "*", "NotAction": "a", "Resource": "bkt"}]}',
        '{"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "bkt", "Condition": {"":{}}}]}',
    ],
)
def test_malformed_policies(text: str) -> None:
    with pytest.raises(MalformedPolicy):
        checked_policy(text.encode(), "bkt")


def test_a_policy_has_a_size(owner: ObsClient, bucket: str) -> None:
    large = policy(bucket, {**READ, "Sid": "x" * 21_000})
    refused = owner.setBucketPolicy(bucket, large)
    assert (refused.status, refused.errorCode) == (400, "MalformedPolicy")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"IpAddress": {"SourceIp": "127.0.0.0/8"}}, True),
        ({"IpAddress": {"SourceIp": ["10.0.0.0/8", "192.168.0.0/16"]}}, None),
        ({"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}}, True),
        ({"StringLike": {"Referer": "http://good*"}}, True),
        ({"StringNotLike": {"Referer": ["http://good*"]}}, None),
        ({"StringEquals": {"prefix": "a/"}}, True),
        ({"StringEquals": {"prefix": "b/"}}, None),
        ({"StringEqualsIgnoreCase": {"Referer": "HTTP://GOOD.example"}}, True),
        ({"NumericLessThan": {"max-keys": "100"}}, True),
        ({"NumericGreaterThanEquals": {"max-keys": 11}}, None),
        ({"DateGreaterThan": {"CurrentTime": "2020-01-01T00:00:00+00:00"}}, True),
        ({"DateLessThan": {"CurrentTime": "2020-01-01T00:00:00+00:00"}}, None),
        ({"Bool": {"SecureTransport": "false"}}, True),
        ({"Null": {"x-obs-acl": "true"}}, True),
        ({"Null": {"Referer": "true"}}, None),
        ({"StringEquals": {"absent": "x"}}, None),
        ({"StringEqualsIfExists": {"absent": "x"}}, True),
    ],
)
def test_conditions_of_policies(condition: dict[str, Any], expected: bool | None) -> None:
    context = {
        "sourceip": "127.0.0.1",
        "referer": "http://good.example",
        "prefix": "a/",
        "max-keys": "10",
        "currenttime": "2024-06-01T00:00:00+00:00",
        "securetransport": "false",
    }
    text = checked_policy(policy("bkt", {"Action": "*", "Condition": condition}).encode(), "bkt")
    assert policy_of(text).verdict(Asker(None, None, context), "ListBucket", "bkt") is expected


# --- accounts --------------------------------------------------------------------------------------------------------


def test_accounts_come_and_go_while_the_lab_runs(lab: LabProcess, bucket: str) -> None:
    accounts = Accounts(lab.root)
    made = accounts.add("passing.by-1")
    client = obs_client(lab, access_key=made.access_key, secret_key=made.secret_key)
    assert client.listBuckets().body.buckets == []
    assert client.getObject(bucket, "k").errorCode == "AccessDenied"
    accounts.remove("passing.by-1")
    assert client.listBuckets().errorCode == "InvalidAccessKeyId"
    client.close()
    for name, reason in (("", "BAD_NAME"), ("a b", "BAD_NAME"), ("lab", "TAKEN")):
        with pytest.raises(AccountRefused) as refused:
            accounts.add(name)
        assert refused.value.reason is RefusedAccount[reason]
    for name, reason in (("nobody", "UNKNOWN"), ("lab", "FIRST")):
        with pytest.raises(AccountRefused) as refused:
            accounts.remove(name)
        assert refused.value.reason is RefusedAccount[reason]


def blocked(s3: Any, bucket: str, *names: str) -> None:
    settings = {name: name in names for name in BLOCKS}
    s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=settings)


BLOCKS = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
PUBLIC = {"ACL": "public-read"}
GROUP = {"GrantRead": 'uri="http://acs.amazonaws.com/groups/global/AuthenticatedUsers"'}


@pytest.mark.parametrize("public", [PUBLIC, {"ACL": "authenticated-read"}, GROUP], ids=["everyone", "users", "grant"])
def test_public_acls_can_be_blocked(s3: Any, bucket: str, public: dict[str, str]) -> None:
    s3.put_object(Bucket=bucket, Key="before", Body=b"x", **public)
    blocked(s3, bucket, "BlockPublicAcls")
    given = s3.get_object_acl(Bucket=bucket, Key="before")
    document = {name: given[name] for name in ("Owner", "Grants")}
    place = {"Bucket": bucket, "Key": "k"}
    calls: list[Callable[[], Any]] = [
        lambda: s3.put_object(**place, Body=b"x", **public),
        lambda: s3.create_multipart_upload(**place, **public),
        lambda: s3.copy_object(**place, CopySource={"Bucket": bucket, "Key": "before"}, **public),
        lambda: s3.put_object_acl(Bucket=bucket, Key="before", **public),
        lambda: s3.put_object_acl(Bucket=bucket, Key="before", AccessControlPolicy=document),
        lambda: s3.put_bucket_acl(Bucket=bucket, **public),
        lambda: s3.put_bucket_acl(Bucket=bucket, AccessControlPolicy=document),
    ]
    for call in calls:
        with pytest.raises(ClientError) as failed:
            call()
        assert failed.value.response["Error"]["Code"] == "AccessDenied"
    assert [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["before"]
    s3.put_object(**place, Body=b"x", ACL="bucket-owner-full-control")
    s3.put_bucket_acl(Bucket=bucket, ACL="private")
    s3.delete_public_access_block(Bucket=bucket)
    s3.put_object(**place, Body=b"x", **public)


def test_what_nobody_uploads_is_not_public_where_that_is_blocked(lab: LabProcess, s3: Any, bucket: str) -> None:
    s3.put_bucket_acl(Bucket=bucket, ACL="public-read-write")
    anybody = Anybody(lab.obs)
    assert anybody.put(f"/{bucket}/before") == 200
    blocked(s3, bucket, "BlockPublicAcls")
    assert anybody.put(f"/{bucket}/after") == 200
    assert [anybody.get(f"/{bucket}/{key}") for key in ("before", "after")] == [200, 403]


def test_public_acls_can_be_ignored(lab: LabProcess, s3: Any, bucket: str) -> None:
    s3.put_bucket_acl(Bucket=bucket, ACL="public-read-write")
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", ACL="public-read")
    anybody = Anybody(lab.obs)
    target = f"/{bucket}/k"
    assert (anybody.get(f"/{bucket}"), anybody.get(target), anybody.put(f"/{bucket}/new")) == (200, 200, 200)
    blocked(s3, bucket, "IgnorePublicAcls")
    assert (anybody.get(f"/{bucket}"), anybody.get(target), anybody.put(target)) == (403, 403, 403)
    assert anybody.delete(target) == 403
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"x"


FIXED = {"Condition": {"IpAddress": {"SourceIp": "192.0.2.0/24"}}}
OPEN: list[dict[str, Any]] = [
    {},
    {"Condition": {"StringLike": {"Referer": "*"}}},
    {"Condition": {"IpAddress": {"SourceIp": "0.0.0.0/0"}}},
    {"Principal": None, "NotPrincipal": {"ID": ["domain/somebody:user/*"]}},
]


@pytest.mark.parametrize("change", OPEN)
def test_public_policies_can_be_blocked(s3: Any, bucket: str, change: dict[str, Any]) -> None:
    text = policy(bucket, {**READ, **change})
    blocked(s3, bucket, "BlockPublicPolicy")
    with pytest.raises(ClientError) as failed:
        s3.put_bucket_policy(Bucket=bucket, Policy=text)
    assert failed.value.response["Error"]["Code"] == "AccessDenied"
    s3.put_bucket_policy(Bucket=bucket, Policy=policy(bucket, {**READ, **FIXED}))
    assert not s3.get_bucket_policy_status(Bucket=bucket)["PolicyStatus"]["IsPublic"]


def test_a_public_policy_can_be_restricted_to_the_owner(
    lab: LabProcess, s3: Any, guest: ObsClient, other: LabAccount, bucket: str
) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    delegated = {**READ, "Principal": {"ID": [f"domain/{other.domain_id}:user/*"]}}
    anybody = Anybody(lab.obs)
    # A policy that is not public goes on to let in whom it names.
    for statements, before, after in (
        ([delegated], (403, 200), (403, 200)),
        ([READ, delegated], (200, 200), (403, 403)),
    ):
        s3.put_bucket_policy(Bucket=bucket, Policy=policy(bucket, *statements))
        blocked(s3, bucket)
        assert (anybody.get(f"/{bucket}/k"), get(guest, bucket)) == before
        blocked(s3, bucket, "RestrictPublicBuckets")
        assert (anybody.get(f"/{bucket}/k"), get(guest, bucket)) == after
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"x"


def test_a_block_is_kept_however_it_is_written(lab: LabProcess, s3: Any, bucket: str) -> None:
    wire = Wire(lab)
    body = (
        b"<PublicAccessBlockConfiguration><BlockPublicAcls>\n true </BlockPublicAcls></PublicAccessBlockConfiguration>"
    )
    assert wire.put(f"/{bucket}?publicAccessBlock", body).status == 200
    shown = s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"]
    assert shown == {name: name == "BlockPublicAcls" for name in BLOCKS}
    with pytest.raises(ClientError):
        s3.put_object(Bucket=bucket, Key="k", Body=b"x", **PUBLIC)


# --- who may be granted something ------------------------------------------------------------------------------------


def test_nobody_unknown_is_granted_anything(lab: LabProcess, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    given = s3.get_object_acl(Bucket=bucket, Key="k")
    stranger = {"Type": "CanonicalUser", "ID": "0" * 32}
    by_mail = {"Type": "AmazonCustomerByEmail", "EmailAddress": "nobody@example.com"}
    for grantee, code in ((stranger, "InvalidArgument"), (by_mail, "UnresolvableGrantByEmailAddress")):
        document = {"Owner": given["Owner"], "Grants": [{"Grantee": grantee, "Permission": "READ"}]}
        header = f'emailAddress="{by_mail["EmailAddress"]}"' if grantee is by_mail else f'id="{stranger["ID"]}"'
        calls: list[Callable[[], Any]] = [
            partial(s3.put_object_acl, Bucket=bucket, Key="k", AccessControlPolicy=document),
            partial(s3.put_bucket_acl, Bucket=bucket, AccessControlPolicy=document),
            partial(s3.put_object, Bucket=bucket, Key="new", Body=b"x", GrantRead=header),
            partial(s3.create_multipart_upload, Bucket=bucket, Key="new", GrantRead=header),
            partial(s3.create_bucket, Bucket=f"{bucket}-new", GrantRead=header),
        ]
        for call in calls:
            with pytest.raises(ClientError) as failed:
                call()
            assert failed.value.response["Error"]["Code"] == code
    assert s3.get_object_acl(Bucket=bucket, Key="k")["Grants"] == given["Grants"]
    wire = Wire(lab)
    grant = b"<Grant><Grantee><ID>stranger</ID></Grantee><Permission>READ</Permission></Grant>"
    obs = b"<AccessControlPolicy><AccessControlList>%s</AccessControlList></AccessControlPolicy>" % grant
    answer = wire.put(f"/{bucket}/k?acl", obs)
    assert (answer.status, answer.code) == (400, "InvalidArgument")


def test_whose_the_objects_are_is_as_asked_or_refused(s3: Any, bucket: str) -> None:
    for wanted, code in (
        ("BucketOwnerEnforced", "NotImplemented"), ("BucketOwnerPreferred", "NotImplemented"), ("Me", "InvalidArgument")
    ):  # fmt: skip
        with pytest.raises(ClientError) as failed:
            s3.create_bucket(Bucket=f"{bucket}-owned", ObjectOwnership=wanted)
        assert failed.value.response["Error"]["Code"] == code
    s3.create_bucket(Bucket=f"{bucket}-owned", ObjectOwnership="ObjectWriter")


def test_grants_in_headers_are_all_there_are(s3: Any, other: LabAccount, bucket: str) -> None:
    own = s3.get_bucket_acl(Bucket=bucket)["Owner"]["ID"]
    s3.put_object(Bucket=bucket, Key="k", Body=b"x", GrantRead=f'id="{other.domain_id}"')
    grants = s3.get_object_acl(Bucket=bucket, Key="k")["Grants"]
    assert [(one["Grantee"]["ID"], one["Permission"]) for one in grants] == [(other.domain_id, "READ")]
    # Its owner needs no grant to read it and to change who may.
    assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == b"x"
    s3.put_object_acl(Bucket=bucket, Key="k", GrantFullControl=f'id="{own}"')
    assert [one["Permission"] for one in s3.get_object_acl(Bucket=bucket, Key="k")["Grants"]] == ["FULL_CONTROL"]
