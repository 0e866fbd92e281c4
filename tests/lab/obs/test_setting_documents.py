"""Documents stored with a bucket are held against what the services document: elements, values, their combinations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from obs import DateTime, Expiration, Lifecycle, NoncurrentVersionExpiration, ObsClient, Rule, Transition

from lab.obs.test_obs_limits import document
from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire

XML = "MalformedXML"
ARGUMENT = "InvalidArgument"
REQUEST = "InvalidRequest"


@pytest.fixture(scope="module")
def wire(lab: LabProcess) -> Wire:
    wire = Wire(lab)
    assert wire.put("/documents", b"").status == 200
    return wire


def put(wire: Wire, name: str, root: str, content: str) -> str:
    answer = document(wire, "PUT", f"/documents?{name}", f"<{root}>{content}</{root}>")
    return answer.code if answer.status >= 300 else "kept"


DAYS = "<Expiration><Days>3</Days></Expiration>"
MOVE = "<Transition><Days>{}</Days><StorageClass>{}</StorageClass></Transition>"
OLD_MOVE = (
    "<NoncurrentVersionTransition><NoncurrentDays>{}</NoncurrentDays>"
    "<StorageClass>{}</StorageClass></NoncurrentVersionTransition>"
)
TAG = "<Tag><Key>a</Key><Value>1</Value></Tag>"


def dated(text: str) -> str:
    return f"<Expiration><Date>{text}</Date></Expiration>"


def rule(actions: str, scope: str = "<Prefix>a/</Prefix>", more: str = "", status: str = "Enabled") -> str:
    return f"<Rule>{more}{scope}<Status>{status}</Status>{actions}</Rule>"


LIFECYCLES = {
    **dict.fromkeys(
        (
            rule(dated("2031-01-01T00:00:00Z")),
            rule(dated("2031-01-01T00:00:00.000Z")),
            rule(dated("2031-01-01T08:00:00+08:00")),
            rule(dated("2031-01-01")),
            rule(MOVE.format(1, "WARM") + MOVE.format(2, "DEEP_ARCHIVE") + DAYS),
            rule(MOVE.format(30, "STANDARD_IA") + MOVE.format(60, "GLACIER")),
            rule(OLD_MOVE.format(30, "WARM") + OLD_MOVE.format(60, "COLD")),
            rule(DAYS, f"<Filter><And><Prefix>a</Prefix>{TAG}</And></Filter>"),
            rule(DAYS, f"<Filter>{TAG}</Filter>"),
            rule(DAYS, "<Filter/>"),
            rule("<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"),
            # Prefixes may overlap: the service then takes what ends first.
            rule(DAYS) + rule(DAYS, "<Prefix>a/b</Prefix>"),
        ),
        "kept",
    ),
    rule(dated("2031-01-01T10:00:00Z")): ARGUMENT,
    rule(dated("2031-01-01T00:00:00.001Z")): ARGUMENT,
    rule(dated("2031-01-01T00:00:00+08:00")): ARGUMENT,
    rule(dated("20310101")): XML,
    rule(dated("1.1.2031")): XML,
    rule(dated("2031-02-30T00:00:00Z")): XML,
    rule("<Expiration><Days>3</Days><Date>2031-01-01T00:00:00Z</Date></Expiration>"): XML,
    rule("<Expiration/>"): XML,
    rule(DAYS + DAYS): XML,
    rule("<Expiration><Days>0</Days></Expiration>"): ARGUMENT,
    rule("<Expiration><Days>2147483648</Days></Expiration>"): ARGUMENT,
    rule("<Expiration><Days>many</Days></Expiration>"): ARGUMENT,
    rule("<Expiration><Days>1</Days><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"): XML,
    rule("<Expiration><ExpiredObjectDeleteMarker>maybe</ExpiredObjectDeleteMarker></Expiration>"): XML,
    rule("<Evaporation><Days>3</Days></Evaporation>"): XML,
    rule("<Expiration><Days>3</Days><Weeks>1</Weeks></Expiration>"): XML,
    rule(DAYS, more="<Note>x</Note>"): XML,
    rule(DAYS, status="enabled"): XML,
    rule(DAYS, more=f"<ID>{'i' * 256}</ID>"): ARGUMENT,
    rule(DAYS, more="<ID>i</ID>") + rule(DAYS, "<Prefix>b</Prefix>", "<ID>i</ID>"): ARGUMENT,
    rule(DAYS, ""): XML,
    rule(DAYS, "<Prefix>a</Prefix><Filter><Prefix>a</Prefix></Filter>"): XML,
    rule(DAYS, f"<Filter><Prefix>a</Prefix>{TAG}</Filter>"): XML,
    rule(DAYS, "<Filter><Suffix>a</Suffix></Filter>"): XML,
    rule(DAYS, f"<Filter><And>{TAG}{TAG}</And></Filter>"): REQUEST,
    rule(DAYS, "<Filter><Tag><Key/><Value>1</Value></Tag></Filter>"): "InvalidTagError",
    rule("<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation>"
         "</AbortIncompleteMultipartUpload>", f"<Filter>{TAG}</Filter>"): REQUEST,
    rule(MOVE.format(30, "LUKEWARM")): XML,
    rule("<Transition><Days>30</Days></Transition>"): XML,
    rule(MOVE.format(60, "WARM") + MOVE.format(30, "COLD")): ARGUMENT,
    rule(MOVE.format(30, "WARM") + MOVE.format(60, "WARM")): REQUEST,
    rule(OLD_MOVE.format(60, "WARM") + OLD_MOVE.format(30, "COLD")): ARGUMENT,
    rule(MOVE.format(30, "WARM") + DAYS): ARGUMENT,
    rule(MOVE.format(30, "WARM") + dated("2031-01-01T00:00:00Z")): REQUEST,
    rule(OLD_MOVE.format(30, "WARM") + "<NoncurrentVersionExpiration><NoncurrentDays>30</NoncurrentDays>"
         "</NoncurrentVersionExpiration>"): ARGUMENT,
    rule("<NoncurrentVersionExpiration/>"): XML,
    rule("<AbortIncompleteMultipartUpload/>"): XML,
    rule(""): XML,
    "": XML,
}  # fmt: skip


def test_lifecycles(wire: Wire) -> None:
    assert {text: put(wire, "lifecycle", "LifecycleConfiguration", text) for text in LIFECYCLES} == LIFECYCLES


def cors(content: str) -> str:
    return f"<CORSRule><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin>{content}</CORSRule>"


def route(redirect: str, condition: str = "") -> str:
    index = "<IndexDocument><Suffix>i.html</Suffix></IndexDocument>"
    rules = f"<RoutingRules><RoutingRule>{condition}<Redirect>{redirect}</Redirect></RoutingRule></RoutingRules>"
    return index + rules


def usual(content: str, more: str = "") -> str:
    named = "ApplyServerSideEncryptionByDefault"
    return f"<Rule><{named}>{content}</{named}>{more}</Rule>"


def topic(content: str = "<Topic>urn:t</Topic><Event>ObjectCreated:*</Event>") -> str:
    return f"<TopicConfiguration><Id>1</Id>{content}</TopicConfiguration>"


def filtered(name: str) -> str:
    one = f"<FilterRule><Name>{name}</Name><Value>a</Value></FilterRule>"
    return topic(f"<Topic>urn:t</Topic><Event>ObjectCreated:Put</Event><Filter><Object>{one}</Object></Filter>")


def replica(status: str = "Enabled", target: str = "<Bucket>b</Bucket>", more: str = "") -> str:
    return f"<Rule><Prefix/><Status>{status}</Status><Destination>{target}</Destination>{more}</Rule>"


DOCUMENTS = {
    ("cors", "CORSConfiguration"): {
        cors("<ID>1</ID><AllowedHeader>x-*</AllowedHeader><MaxAgeSeconds>9</MaxAgeSeconds>"): "kept",
        cors("<AllowedMehtod>GET</AllowedMehtod>"): XML,
        cors("<MaxAgeSeconds>1</MaxAgeSeconds><MaxAgeSeconds>2</MaxAgeSeconds>"): XML,
        cors("<MaxAgeSeconds>soon</MaxAgeSeconds>"): ARGUMENT,
        cors(f"<ID>{'i' * 256}</ID>"): ARGUMENT,
        "<Rule/>": XML,
    },
    ("website", "WebsiteConfiguration"): {
        "<IndexDocument><Suffix>i.html</Suffix></IndexDocument><ErrorDocument><Key>e</Key></ErrorDocument>": "kept",
        "<RedirectAllRequestsTo><HostName>h</HostName><Protocol>https</Protocol></RedirectAllRequestsTo>": "kept",
        route("<HostName>h</HostName>", "<Condition><KeyPrefixEquals>a</KeyPrefixEquals></Condition>"): "kept",
        "<IndexDocument><Suffix>a/i.html</Suffix></IndexDocument>": ARGUMENT,
        "<IndexDocument><Suffix/></IndexDocument>": ARGUMENT,
        "<IndexDocument><File>i</File></IndexDocument>": XML,
        "<RedirectAllRequestsTo><HostName>h</HostName><Protocol>ftp</Protocol></RedirectAllRequestsTo>": REQUEST,
        "<RedirectAllRequestsTo><Protocol>http</Protocol></RedirectAllRequestsTo>": XML,
        "<RedirectAllRequestsTo><HostName>h</HostName></RedirectAllRequestsTo>"
        "<IndexDocument><Suffix>i</Suffix></IndexDocument>": REQUEST,
        "<ErrorDocument><Key>e</Key></ErrorDocument>": XML,
        route("<Protocol>gopher</Protocol>"): REQUEST,
        route("<ReplaceKeyWith>a</ReplaceKeyWith><ReplaceKeyPrefixWith>b</ReplaceKeyPrefixWith>"): REQUEST,
        route("<HttpRedirectCode>200</HttpRedirectCode>"): REQUEST,
        route(
            "<HostName>h</HostName>",
            "<Condition><HttpErrorCodeReturnedEquals>200</HttpErrorCodeReturnedEquals></Condition>",
        ): REQUEST,
        route(""): XML,
    },
    ("notification", "NotificationConfiguration"): {
        "": "kept",
        topic(): "kept",
        filtered("prefix"): "kept",
        filtered("middle"): ARGUMENT,
        topic("<Topic>urn:t</Topic><Event>ObjectTouched:*</Event>"): ARGUMENT,
        topic("<Topic>urn:t</Topic>"): XML,
        topic("<Event>ObjectCreated:*</Event>"): XML,
        topic() + topic(): ARGUMENT,
        "<Mail/>": XML,
    },
    ("encryption", "ServerSideEncryptionConfiguration"): {
        usual("<SSEAlgorithm>kms</SSEAlgorithm><KMSMasterKeyID>1</KMSMasterKeyID>"): "kept",
        usual("<SSEAlgorithm>aws:kms</SSEAlgorithm>", "<BucketKeyEnabled>true</BucketKeyEnabled>"): "kept",
        usual("<SSEAlgorithm>AES256</SSEAlgorithm>"): "kept",
        usual("<SSEAlgorithm>ROT13</SSEAlgorithm>"): XML,
        usual("<SSEAlgorithm>AES256</SSEAlgorithm><KMSMasterKeyID>1</KMSMasterKeyID>"): ARGUMENT,
        usual("<SSEAlgorithm>kms</SSEAlgorithm><KMSMasterKeyID>1&#13;&#10;Set-Cookie: a</KMSMasterKeyID>"): ARGUMENT,
        usual("<SSEAlgorithm>kms</SSEAlgorithm><Salt>1</Salt>"): XML,
        usual("") + usual(""): XML,
        "<Rule/>": XML,
    },
    ("replication", "ReplicationConfiguration"): {
        "<Agency>a</Agency>"
        + replica(more="<HistoricalObjectReplication>Enabled</HistoricalObjectReplication>"): "kept",
        replica("On"): XML,
        replica(target=""): XML,
        replica(target="<Bucket>b</Bucket><StorageClass>LUKEWARM</StorageClass>"): XML,
        replica(more="<Speed>9</Speed>"): XML,
        "": XML,
    },
    ("logging", "BucketLoggingStatus"): {
        "": "kept",
        "<Agency>a</Agency><LoggingEnabled><TargetBucket>b</TargetBucket></LoggingEnabled>": "kept",
        "<LoggingEnabled><TargetPrefix>b</TargetPrefix></LoggingEnabled>": XML,
        "<LoggingEnabled><TargetBucket>b</TargetBucket><Level>9</Level></LoggingEnabled>": XML,
        "<LoggingDisabled/>": XML,
    },
    ("tagging", "Tagging"): {
        f"<TagSet>{TAG}</TagSet>": "kept",
        f"<TagSet>{TAG}</TagSet><TagSet/>": XML,
        "<TagSet><Tag><Key>a</Key><Value>1</Value><Colour>red</Colour></Tag></TagSet>": XML,
    },
    ("quota", "Quota"): {
        "<StorageQuota>9</StorageQuota>": "kept",
        "<StorageQuota>-9</StorageQuota>": ARGUMENT,
        "<StorageQuota>9</StorageQuota><Unit>GB</Unit>": XML,
        "<StorageQuota>0</StorageQuota>": "kept",
    },
    ("requestPayment", "RequestPaymentConfiguration"): {
        "<Payer>BucketOwner</Payer>": "kept",
        "<Payer>Somebody</Payer>": XML,
        "<Payer>BucketOwner</Payer><Payer>BucketOwner</Payer>": XML,
    },
    ("versioning", "VersioningConfiguration"): {
        "<Status>Suspended</Status>": "kept",
        "<Status>Suspended</Status><Until>never</Until>": XML,
    },
    ("acl", "AccessControlPolicy"): {
        "<AccessControlList/>": "kept",
        "<AccessControlList/><Comment/>": "MalformedACLError",
        "<AccessControlList>": "MalformedACLError",
        "<AccessControlList><Grant><Grantee><Canned>Everyone</Canned></Grantee><Permission>READ</Permission>"
        "<Until>2031</Until></Grant></AccessControlList>": "MalformedACLError",
    },
}  # fmt: skip


@pytest.mark.parametrize(("name", "root"), DOCUMENTS)
def test_other_documents(wire: Wire, name: str, root: str) -> None:
    wanted = DOCUMENTS[name, root]
    assert {text: put(wire, name, root, text) for text in wanted} == wanted


def test_clients_write_what_is_taken(client: ObsClient, s3: Any, bucket: str) -> None:
    rules = [
        Rule(id="a", prefix="a", status="Enabled", expiration=Expiration(date=DateTime(2031, 1, 1))),
        Rule(
            id="b", prefix="b", status="Enabled", transition=[Transition(days=30, storageClass="WARM")],
            expiration=Expiration(days=60), noncurrentVersionExpiration=NoncurrentVersionExpiration(9),
        ),
    ]  # fmt: skip
    assert client.setBucketLifecycle(bucket, Lifecycle(rule=rules)).status == 200
    wanted = {"ID": "c", "Status": "Enabled", "Filter": {"And": {"Prefix": "p", "Tags": [{"Key": "k", "Value": "v"}]}}}
    moment = datetime(2031, 1, 1, tzinfo=UTC)
    s3.put_bucket_lifecycle_configuration(
        Bucket=bucket, LifecycleConfiguration={"Rules": [{**wanted, "Expiration": {"Date": moment}}]}
    )
    with pytest.raises(ClientError) as failed:
        later = {**wanted, "Expiration": {"Date": moment.replace(hour=1)}}
        s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [later]})
    assert failed.value.response["Error"]["Code"] == ARGUMENT
