"""The documents that can be stored with a bucket: their names, roots and rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from traindeck.lab.obs.errors import InvalidArgument, InvalidRequest, MalformedXML, ObsError
from traindeck.lab.obs.records import whole_number
from traindeck.lab.obs.request import element, text

Node = ElementTree.Element
# More than any document of the dialects needs.
MAX_DEPTH = 30


def parsed(body: bytes, *roots: str) -> Node:
    """The root, which must be one of `roots` where any are given."""
    # A document type is the door to entities that grow without end, and no request has one.
    if b"<!DOCTYPE" in body:
        raise MalformedXML
    try:
        root = ElementTree.fromstring(body)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise MalformedXML from error
    if roots and local(root) not in roots:
        raise MalformedXML
    return root


def local(node: Node) -> str:
    return node.tag.rpartition("}")[2]


def children(node: Node, name: str) -> Iterator[Node]:
    return (child for child in node if local(child) == name)


def first(node: Node, name: str) -> Node | None:
    return next(children(node, name), None)


def child(node: Node, name: str) -> str | None:
    """The text of the first child of this name; "" where it is empty."""
    found = first(node, name)
    return None if found is None else found.text or ""


def texts(node: Node, name: str) -> tuple[str, ...]:
    return tuple((one.text or "").strip() for one in children(node, name))


def needed(node: Node, name: str) -> str:
    value = child(node, name)
    if not value or not value.strip():
        raise MalformedXML
    return value.strip()


def inner(node: Node, depth: int = 0) -> str:
    """The content as text, without namespaces and attributes, which no stored document needs."""
    if depth > MAX_DEPTH:
        raise MalformedXML
    if len(node) == 0:
        return text(node.text or "")
    return "".join(f"<{local(one)}>{inner(one, depth + 1)}</{local(one)}>" for one in node)


MAX_LIFECYCLE = 20 * 1024
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


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


def _lifecycle(root: Node) -> None:
    rules = list(children(root, "Rule"))
    if not rules or len(rules) > 1000:
        raise MalformedXML
    seen: set[str] = set()
    for rule in rules:
        name = child(rule, "ID") or ""
        if len(name) > 255 or (name and name in seen):
            raise InvalidArgument("ID", name, "The ID of a rule must be unique and at most 255 characters long.")
        seen.add(name)
        if needed(rule, "Status") not in ("Enabled", "Disabled"):
            raise MalformedXML
        actions = [one for one in rule if local(one) not in ("ID", "Prefix", "Filter", "Status")]
        if not actions:
            raise MalformedXML("A rule needs at least one action.")
        for action in actions:
            days = child(action, "Days") or child(action, "NoncurrentDays") or child(action, "DaysAfterInitiation")
            if days is not None and not whole_number(days.strip()):
                raise InvalidArgument("Days", days, "The number of days must be a positive integer.")


def _cors(root: Node) -> None:
    rules = list(children(root, "CORSRule"))
    if not rules or len(rules) > 100:
        raise MalformedXML
    for rule in rules:
        methods, origins = texts(rule, "AllowedMethod"), texts(rule, "AllowedOrigin")
        if not methods or not origins:
            raise MalformedXML
        if any(method not in ("GET", "PUT", "HEAD", "POST", "DELETE") for method in methods):
            raise InvalidRequest("Found unsupported HTTP method in CORS config.")
        if not all(_TOKEN.fullmatch(one) for one in texts(rule, "ExposeHeader")):
            raise InvalidRequest("An ExposeHeader is not the name of a header.")
        age = child(rule, "MaxAgeSeconds")
        if age is not None and whole_number(age.strip()) is None:
            raise InvalidArgument("MaxAgeSeconds", age)
        if any(one.count("*") > 1 for one in (*origins, *texts(rule, "AllowedHeader"))):
            raise InvalidRequest("An AllowedOrigin or AllowedHeader can hold one wildcard.")


def _with_one_of(*paths: str) -> Callable[[Node], None]:
    def check(root: Node) -> None:
        if all(root.find(path) is None for path in paths):
            raise MalformedXML

    return check


def _payer(root: Node) -> None:
    if needed(root, "Payer") not in ("BucketOwner", "Requester"):
        raise MalformedXML


def _access_block(root: Node) -> str:
    """All four in one spelling: they are looked for in the text that is kept."""
    told = dict.fromkeys(("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"), "false")
    for node in root:
        name, value = local(node), (node.text or "").strip().lower()
        if name not in told or value not in ("true", "false"):
            raise MalformedXML
        told[name] = value
    return "".join(element(name, value) for name, value in told.items())


def _quota(root: Node) -> str:
    text = needed(root, "StorageQuota")
    quota = whole_number(text)
    if quota is None:
        raise InvalidArgument("StorageQuota", text)
    return str(quota or "")


MAX_OF_BUCKET = 20
MAX_OF_OBJECT = 10
_FORBIDDEN = frozenset(",|<>=*\\")


def tags_of(root: Node, *, of_object: bool) -> dict[str, str]:
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
        *("lifecycle", "LifecycleConfiguration", "LifecycleConfiguration", _lifecycle, "NoSuchLifecycleConfiguration"),
        digest_needed=True,
    ),
    Setting("cors", "CORSConfiguration", "BucketCORS", _cors, "NoSuchCORSConfiguration", digest_needed=True),
    Setting(
        *("website", "WebsiteConfiguration", "BucketWebsite"),
        _with_one_of("{*}IndexDocument", "{*}RedirectAllRequestsTo"),
        missing="NoSuchWebsiteConfiguration",
        removing="Delete",
    ),
    Setting(
        *("encryption", "ServerSideEncryptionConfiguration", "EncryptionConfiguration"),
        _with_one_of("{*}Rule/{*}ApplyServerSideEncryptionByDefault"),
        missing="NoSuchEncryptionConfiguration",
    ),
    Setting(
        *("replication", "ReplicationConfiguration", "ReplicationConfiguration", _with_one_of("{*}Rule")),
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
    Setting("quota", "Quota", "BucketQuota", _quota, usual="0", element="StorageQuota", removing=""),
    Setting("logging", "BucketLoggingStatus", "BucketLogging", removing=""),
    Setting("notification", "NotificationConfiguration", "BucketNotification", removing=""),
    Setting(
        *("requestPayment", "RequestPaymentConfiguration", "BucketRequestPayment", _payer),
        usual="<Payer>BucketOwner</Payer>",
        removing="",
    ),
)
