"""What the documents that a bucket keeps must hold: the elements of both dialects' references, and their values."""

from __future__ import annotations

import re

from traindeck.lab.obs.documents import Node, Shape, check_shape, child, children, first, leaves, local, needed, texts
from traindeck.lab.obs.errors import InvalidArgument, InvalidRequest, MalformedXML
from traindeck.lab.obs.records import S3_CLASSES, STORAGE_CLASSES, whole_number
from traindeck.lab.obs.request import TOKEN

MAX_CORS_RULES = 100
_MAX_ID = 255
_MAX_AGE = 2**31 - 1
_STATUS = leaves("Status")
_GRANT: Shape = {
    "Grantee": leaves("ID", "DisplayName", "URI", "Canned", "EmailAddress"),
    **leaves("Permission", "Delivered"),
}
ACL: Shape = {
    "Owner": leaves("ID", "DisplayName"),
    **leaves("Delivered"),
    "AccessControlList": {"Grant*": _GRANT},
}
TAGGING: Shape = {"TagSet": {"Tag*": leaves("Key", "Value")}}
VERSIONING = leaves("Status", "MfaDelete")


_CORS: Shape = {
    "CORSRule*": leaves("ID", "AllowedMethod*", "AllowedOrigin*", "AllowedHeader*", "ExposeHeader*", "MaxAgeSeconds")
}


def check_cors(root: Node) -> None:
    check_shape(root, _CORS)
    rules = list(children(root, "CORSRule"))
    if not rules or len(rules) > MAX_CORS_RULES:
        raise MalformedXML
    for rule in rules:
        methods, origins = texts(rule, "AllowedMethod"), texts(rule, "AllowedOrigin")
        if not methods or not origins:
            raise MalformedXML
        if len(name := child(rule, "ID") or "") > _MAX_ID:
            raise InvalidArgument("ID", name, "The ID of a rule is at most 255 characters long.")
        if any(method not in ("GET", "PUT", "HEAD", "POST", "DELETE") for method in methods):
            raise InvalidRequest("Found unsupported HTTP method in CORS config.")
        if not all(TOKEN.fullmatch(one) for one in texts(rule, "ExposeHeader")):
            raise InvalidRequest("An ExposeHeader is not the name of a header.")
        age = child(rule, "MaxAgeSeconds")
        if age is not None and whole_number(age.strip(), _MAX_AGE) is None:
            raise InvalidArgument("MaxAgeSeconds", age)
        if any(one.count("*") > 1 for one in (*origins, *texts(rule, "AllowedHeader"))):
            raise InvalidRequest("An AllowedOrigin or AllowedHeader can hold one wildcard.")


_REDIRECT = leaves("HostName", "Protocol", "HttpRedirectCode", "ReplaceKeyPrefixWith", "ReplaceKeyWith")
_WEBSITE: Shape = {
    "IndexDocument": leaves("Suffix"),
    "ErrorDocument": leaves("Key"),
    "RedirectAllRequestsTo": leaves("HostName", "Protocol"),
    "RoutingRules": {
        "RoutingRule*": {
            "Condition": leaves("KeyPrefixEquals", "HttpErrorCodeReturnedEquals"),
            "Redirect": _REDIRECT,
        }
    },
}


def check_website(root: Node) -> None:
    check_shape(root, _WEBSITE)
    index, everything = first(root, "IndexDocument"), first(root, "RedirectAllRequestsTo")
    if everything is not None:
        if len(root) > 1:
            raise InvalidRequest("RedirectAllRequestsTo cannot be provided in conjunction with other elements.")
        needed(everything, "HostName")
        _check_protocol(everything)
        return
    if index is None:
        raise MalformedXML
    suffix = child(index, "Suffix")
    if not suffix or "/" in suffix:
        raise InvalidArgument("IndexDocument", suffix or "", "The IndexDocument Suffix is not well formed")
    if (failure := first(root, "ErrorDocument")) is not None:
        needed(failure, "Key")
    for rules in children(root, "RoutingRules"):
        for rule in children(rules, "RoutingRule"):
            _check_route(rule)


def _check_route(rule: Node) -> None:
    condition, redirect = first(rule, "Condition"), first(rule, "Redirect")
    if redirect is None or len(redirect) == 0 or (condition is not None and len(condition) == 0):
        raise MalformedXML
    _check_protocol(redirect)
    if child(redirect, "ReplaceKeyWith") is not None and child(redirect, "ReplaceKeyPrefixWith") is not None:
        raise InvalidRequest("You can only define ReplaceKeyPrefix or ReplaceKey but not both.")
    if not re.fullmatch("30[1-8]", child(redirect, "HttpRedirectCode") or "301"):
        raise InvalidRequest("The provided HTTP redirect code is not valid. Valid codes are 3XX except 300.")
    wanted = child(condition, "HttpErrorCodeReturnedEquals") if condition is not None else None
    if wanted is not None and not re.fullmatch(r"[45]\d\d", wanted):
        raise InvalidRequest("The provided HTTP error code is not valid. Valid codes are 4XX or 5XX.")


def _check_protocol(node: Node) -> None:
    if child(node, "Protocol") not in (None, "http", "https"):
        raise InvalidRequest("Invalid protocol, protocol can be http or https.")


_RULES = {"FilterRule*": leaves("Name", "Value")}
# What is told, and the element that says whom: those of OBS, then those of S3.
_TARGETS = {
    "TopicConfiguration": "Topic",
    "FunctionGraphConfiguration": "FunctionGraph",
    "QueueConfiguration": "Queue",
    "CloudFunctionConfiguration": "CloudFunction",
}
_NOTIFICATION: Shape = {
    f"{name}*": {**leaves("Id", target, "Event*"), "Filter": {"Object": _RULES, "S3Key": _RULES}}
    for name, target in _TARGETS.items()
}
_EVENT = re.compile(
    r"(s3:)?(ObjectCreated:(\*|Put|Post|Copy|CompleteMultipartUpload)|ObjectRemoved:(\*|Delete|DeleteMarkerCreated))"
)


def check_notification(root: Node) -> None:
    check_shape(root, _NOTIFICATION)
    seen: set[str] = set()
    for node in root:
        needed(node, _TARGETS[local(node)])
        events = texts(node, "Event")
        if not events:
            raise MalformedXML
        if odd := [event for event in events if not _EVENT.fullmatch(event)]:
            raise InvalidArgument("Event", odd[0], "The event is not supported for notifications")
        name = child(node, "Id") or ""
        if name and name in seen:
            raise InvalidArgument("Id", name, "Same ID used for multiple configurations. IDs must be unique")
        seen.add(name)
        for rule in node.iter():
            if local(rule) == "FilterRule" and needed(rule, "Name").lower() not in ("prefix", "suffix"):
                raise InvalidArgument("FilterRule", needed(rule, "Name"), "filter rule name must be prefix or suffix")


_ENCRYPTION: Shape = {
    "Rule": {
        "ApplyServerSideEncryptionByDefault": leaves(
            "SSEAlgorithm", "KMSMasterKeyID", "ProjectID", "KMSDataEncryption"
        ),
        **leaves("BucketKeyEnabled"),
        "BlockedEncryptionTypes": leaves("EncryptionType*"),
    }
}


def check_encryption(root: Node) -> None:
    check_shape(root, _ENCRYPTION)
    usual = root.find("{*}Rule/{*}ApplyServerSideEncryptionByDefault")
    if usual is None:
        raise MalformedXML
    # "Configuring Bucket Encryption" of the OBS reference has kms and AES256, the S3 dialect spells the first aws:kms.
    name = needed(usual, "SSEAlgorithm")
    if name not in ("kms", "aws:kms", "AES256"):
        raise MalformedXML
    key_id = (child(usual, "KMSMasterKeyID") or "").strip()
    # It comes back in headers.
    if not key_id.isprintable() or (key_id and name == "AES256"):
        raise InvalidArgument("KMSMasterKeyID", ascii(key_id), "The key is none, or none for this algorithm.")


_TAG = leaves("Key", "Value")
_REPLICATION: Shape = {
    **leaves("Agency", "Role"),
    "Rule*": {
        **leaves("ID", "Prefix", "Status", "Priority", "HistoricalObjectReplication"),
        "Filter": {**leaves("Prefix"), "Tag": _TAG, "And": {**leaves("Prefix"), "Tag*": _TAG}},
        "Destination": leaves("Bucket", "StorageClass", "DeleteData", "Account", "Location"),
        "DeleteMarkerReplication": _STATUS,
        "ExistingObjectReplication": _STATUS,
    },
}
_SWITCHES = ("Status", "HistoricalObjectReplication")


def check_replication(root: Node) -> None:
    check_shape(root, _REPLICATION)
    rules = list(children(root, "Rule"))
    if not rules:
        raise MalformedXML
    for rule in rules:
        needed(rule, "Status")
        target = first(rule, "Destination")
        if target is None or any(child(rule, name) not in (None, "Enabled", "Disabled") for name in _SWITCHES):
            raise MalformedXML
        needed(target, "Bucket")
        if child(target, "StorageClass") not in (None, *STORAGE_CLASSES, *S3_CLASSES):
            raise MalformedXML


_LOGGING: Shape = {
    **leaves("Agency"),
    "LoggingEnabled": {**leaves("TargetBucket", "TargetPrefix"), "TargetGrants": {"Grant*": _GRANT}},
}


def check_logging(root: Node) -> None:
    check_shape(root, _LOGGING)
    if (enabled := first(root, "LoggingEnabled")) is not None:
        needed(enabled, "TargetBucket")


def check_payer(root: Node) -> None:
    check_shape(root, leaves("Payer"))
    if needed(root, "Payer") not in ("BucketOwner", "Requester"):
        raise MalformedXML


def read_quota(root: Node) -> str:
    check_shape(root, leaves("StorageQuota"))
    text = needed(root, "StorageQuota")
    quota = whole_number(text)
    if quota is None:
        raise InvalidArgument("StorageQuota", text)
    return str(quota or "")
