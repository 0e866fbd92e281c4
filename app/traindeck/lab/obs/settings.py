"""The documents that can be stored with a bucket: their names, roots and rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from traindeck.lab.obs.documents import Node, check_shape, child, children, first, leaves, local
from traindeck.lab.obs.errors import MalformedXML, ObsError
from traindeck.lab.obs.lifecycle import check_lifecycle
from traindeck.lab.obs.locks import SETTING, read_configuration
from traindeck.lab.obs.request import element
from traindeck.lab.obs.setting_rules import (
    TAGGING,
    check_cors,
    check_encryption,
    check_logging,
    check_notification,
    check_payer,
    check_replication,
    check_website,
    read_quota,
)

MAX_LIFECYCLE = 20 * 1024


@dataclass(frozen=True, slots=True)
class Setting:
    """One sub-resource; where `missing` is empty, a bucket without it answers with an empty document."""

    name: str
    root: str
    action: str
    # What is kept of the document, None where all of it is; raises where it breaks the rules.
    read: Callable[[Node], str | None] = lambda root: None
    missing: str = ""
    usual: str = ""
    # Around what is kept, where that is a value alone.
    element: str = ""
    put_status: int = 200
    # Whose right it is to remove it: who may "Put", or who may "Delete" it; "" where it stays.
    removing: str = "Put"
    digest_needed: bool = False


def _access_block(root: Node) -> str:
    """All four in one spelling: they are looked for in the text that is kept."""
    told = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), "false")
    check_shape(root, leaves(*told))
    for node in root:
        name, value = local(node), (node.text or "").strip().lower()
        if value not in ("true", "false"):
            raise MalformedXML
        told[name] = value
    return "".join(element(name, value) for name, value in told.items())


MAX_OF_BUCKET = 20
MAX_OF_OBJECT = 10
_FORBIDDEN = frozenset(",|<>=*\\")


def tags_of(root: Node, *, of_object: bool) -> dict[str, str]:
    check_shape(root, TAGGING)
    listed = first(root, "TagSet")
    if listed is None:
        raise MalformedXML
    tags: dict[str, str] = {}
    for node in children(listed, "Tag"):
        key, value = child(node, "Key"), child(node, "Value")
        if key is None:
            raise MalformedXML
        if key in tags:
            raise _invalid("Two tags have the same key.")
        tags[key] = value or ""
    check_tags(tags, of_object=of_object)
    return tags


def check_tags(tags: Mapping[str, str], *, of_object: bool) -> None:
    limit = MAX_OF_OBJECT if of_object else MAX_OF_BUCKET
    longest_key, longest_value = (128, 256) if of_object else (36, 43)
    if len(tags) > limit:
        raise _invalid(f"There are more than {limit} tags.")
    for key, value in tags.items():
        if not key or len(key) > longest_key or len(value) > longest_value:
            raise _invalid("The key or value of a tag is empty or too long.")
        if not of_object and _FORBIDDEN & set(key + value):
            raise _invalid("The key or value of a tag holds a character it must not.")


def tags_xml(tags: Mapping[str, str]) -> str:
    inside = "".join(f"<Tag>{element('Key', key)}{element('Value', value)}</Tag>" for key, value in tags.items())
    return f"<TagSet>{inside}</TagSet>"


def _invalid(message: str) -> ObsError:
    return ObsError(400, "InvalidTagError", message)


SETTINGS = (
    Setting(
        *(
            "lifecycle",
            "LifecycleConfiguration",
            "LifecycleConfiguration",
            check_lifecycle,
            "NoSuchLifecycleConfiguration",
        ),
        digest_needed=True,
    ),
    Setting("cors", "CORSConfiguration", "BucketCORS", check_cors, "NoSuchCORSConfiguration", digest_needed=True),
    Setting(
        *("website", "WebsiteConfiguration", "BucketWebsite", check_website),
        missing="NoSuchWebsiteConfiguration",
        removing="Delete",
    ),
    Setting(
        *("encryption", "ServerSideEncryptionConfiguration", "EncryptionConfiguration", check_encryption),
        missing="NoSuchEncryptionConfiguration",
    ),
    Setting(
        *("replication", "ReplicationConfiguration", "ReplicationConfiguration", check_replication),
        missing="ReplicationConfigurationNotFoundError",
    ),
    Setting(
        *("publicAccessBlock", "PublicAccessBlockConfiguration", "BucketPublicAccessBlock", _access_block),
        missing="NoSuchPublicAccessBlockConfiguration",
    ),
    Setting(
        *("tagging", "Tagging", "BucketTagging"),
        lambda root: tags_xml(tags_of(root, of_object=False)),
        "NoSuchTagSet",
        put_status=204,
        removing="Delete",
        digest_needed=True,
    ),
    Setting(SETTING, "ObjectLockConfiguration", "BucketObjectLockConfiguration", read_configuration, removing=""),
    Setting("quota", "Quota", "BucketQuota", read_quota, usual="0", element="StorageQuota", removing=""),
    Setting("logging", "BucketLoggingStatus", "BucketLogging", check_logging, removing=""),
    Setting("notification", "NotificationConfiguration", "BucketNotification", check_notification, removing=""),
    Setting(
        *("requestPayment", "RequestPaymentConfiguration", "BucketRequestPayment", check_payer),
        usual="<Payer>BucketOwner</Payer>",
        removing="",
    ),
)
