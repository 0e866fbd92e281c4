"""Bucket policies: the templates there are, and which of them a given policy is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

BUCKET_ACTIONS = (
    "HeadBucket", "ListBucket", "ListBucketVersions", "ListBucketMultipartUploads", "CreateBucket", "DeleteBucket",
    "GetBucketAcl", "PutBucketAcl", "GetBucketCORS", "PutBucketCORS", "GetBucketVersioning", "PutBucketVersioning",
    "GetBucketLocation", "GetBucketLogging", "PutBucketLogging", "GetLifecycleConfiguration",
    "PutLifecycleConfiguration", "GetBucketWebsite", "PutBucketWebsite", "DeleteBucketWebsite", "GetBucketPolicy",
    "PutBucketPolicy", "DeleteBucketPolicy", "GetBucketNotification", "PutBucketNotification",
    "GetBucketStoragePolicy", "PutBucketStoragePolicy", "GetBucketStorage", "GetBucketQuota", "PutBucketQuota",
    "GetBucketTagging", "PutBucketTagging", "DeleteBucketTagging", "GetReplicationConfiguration",
    "PutReplicationConfiguration", "DeleteReplicationConfiguration", "GetEncryptionConfiguration",
    "PutEncryptionConfiguration", "GetBucketInventoryConfiguration", "PutBucketInventoryConfiguration",
    "DeleteBucketInventoryConfiguration", "GetBucketCustomDomainConfiguration",
    "PutBucketCustomDomainConfiguration", "DeleteBucketCustomDomainConfiguration",
    "GetDirectColdAccessConfiguration", "PutDirectColdAccessConfiguration", "DeleteDirectColdAccessConfiguration",
    "GetBucketObjectLockConfiguration", "PutBucketObjectLockConfiguration", "GetBucketPublicAccessBlock",
    "PutBucketPublicAccessBlock", "DeleteBucketPublicAccessBlock", "GetBucketPolicyPublicStatus",
    "GetBucketPublicStatus", "GetBucketRequestPayment", "PutBucketRequestPayment", "GetBucketPolicyStatus",
)  # fmt: skip
OBJECT_ACTIONS = (
    "GetObject", "GetObjectVersion", "PutObject", "DeleteObject", "DeleteObjectVersion", "AbortMultipartUpload",
    "ListMultipartUploadParts", "RestoreObject", "GetObjectAcl", "GetObjectVersionAcl", "PutObjectAcl",
    "PutObjectVersionAcl", "ModifyObjectMetaData", "GetObjectTagging", "PutObjectTagging", "DeleteObjectTagging",
    "GetObjectVersionTagging", "PutObjectVersionTagging", "DeleteObjectVersionTagging", "GetObjectRetention",
    "PutObjectRetention", "GetObjectLegalHold", "PutObjectLegalHold", "GetObjectAttributes",
)  # fmt: skip

_NEGATABLE = {
    "StringEquals": "StringNotEquals",
    "StringEqualsIgnoreCase": "StringNotEqualsIgnoreCase",
    "StringLike": "StringNotLike",
    "NumericEquals": "NumericNotEquals",
    "DateEquals": "DateNotEquals",
    "IpAddress": "NotIpAddress",
}
_ORDERED = tuple(
    f"{kind}{order}{same}" for kind in ("Numeric", "Date") for order in ("LessThan", "GreaterThan")
    for same in ("", "Equals")
)  # fmt: skip
OPERATORS = (*_NEGATABLE, *_NEGATABLE.values(), *_ORDERED, "Bool", "Null")


MOST_BYTES = 20 * 1024
_PREFIX = re.compile(r"^(?:s3|obs):", re.IGNORECASE)
_ARN = re.compile(r"^arn:[^:]*:(?:s3|obs):[^:]*:[^:]*:")
# The name that Amazon gave the language of policies, and still asks for.
_S3_VERSION = "2012-10-17"


class PolicyForm(StrEnum):
    """How a service wants a policy written."""

    OBS = "obs"
    S3 = "s3"


class Template(StrEnum):
    """Policies with a name; two of them exist in an older form, in which they allow more."""

    PRIVATE = "private"
    PUBLIC_READ = "public-read"
    PUBLIC_READ_WRITE = "public-read-write"
    PUBLIC_READ_LIST = "public-read-list"
    PUBLIC_READ_WRITE_DELETE = "public-read-write-delete"


_READ = ("GetObject", "GetObjectVersion")
_READ_LIST = (*_READ, "HeadBucket", "ListBucket")
_ACTIONS: Mapping[Template, tuple[str, ...]] = {
    Template.PUBLIC_READ: (*_READ, "GetBucketLocation", "RestoreObject"),
    Template.PUBLIC_READ_WRITE: (
        "ListBucket",
        "ListBucketVersions",
        "GetBucketLocation",
        "PutObject",
        *_READ,
        "ModifyObjectMetaData",
        "ListBucketMultipartUploads",
        "ListMultipartUploadParts",
        "AbortMultipartUpload",
        "RestoreObject",
        "PutObjectAcl",
        "GetObjectAcl",
        "GetObjectVersionAcl",
    ),
    Template.PUBLIC_READ_LIST: _READ_LIST,
    Template.PUBLIC_READ_WRITE_DELETE: (*_READ_LIST, "PutObject", "DeleteObject", "DeleteObjectVersion"),
}
_NOT_IN_S3 = ("HeadBucket", "ModifyObjectMetaData")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as it counts: names without service and in lower case, resources without ARN."""

    allows: bool
    names: frozenset[str]
    """Whom it is about; “*” is everybody."""
    is_for_others: bool
    """It is about everybody but those named."""
    actions: tuple[str, ...]
    not_actions: bool
    resources: tuple[str, ...]
    not_resources: bool
    has_condition: bool

    @property
    def is_for_anybody(self) -> bool:
        """Also for who has not signed in."""
        return self.is_for_others != ("*" in self.names)


def template_policy(template: Template, bucket: str, form: PolicyForm) -> str:
    """The text to set; empty: there is to be no policy."""
    if template is Template.PRIVATE:
        return ""
    is_s3, actions = form is PolicyForm.S3, _ACTIONS[template]
    place = f"arn:aws:s3:::{bucket}" if is_s3 else bucket
    statement = {
        "Sid": "".join(word.title() for word in template.split("-")) if is_s3 else template.value,
        "Effect": "Allow",
        "Principal": "*" if is_s3 else {"ID": "*"},
        "Action": [f"s3:{action}" for action in actions if action not in _NOT_IN_S3] if is_s3 else actions,
        "Resource": [place, f"{place}/*"],
    }
    return formatted({"Version": _S3_VERSION, "Statement": [statement]} if is_s3 else {"Statement": [statement]})


def formatted(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2)


def same_policy(one: str, other: str) -> bool:
    """Whether two texts say the same, however they are laid out."""
    if not one.strip() or not other.strip():
        return one.strip() == other.strip()
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return one == other


def recognised(policy: str, bucket: str) -> Template | None:
    """Which template this is, spelled and laid out in whatever way; None: one of somebody's own."""
    if not policy.strip():
        return Template.PRIVATE
    statements = statements_of(policy)
    if statements is None:
        return None
    told = _told(statements)
    for template in _ACTIONS:
        for form in PolicyForm:
            known = statements_of(template_policy(template, bucket, form))
            if known is not None and told == _told(known):
                return template
    return None


def statements_of(policy: str) -> tuple[Statement, ...] | None:
    """What a policy says; None: it cannot be read."""
    try:
        document = json.loads(policy)
        listed = document["Statement"]
        return tuple(_statement(one) for one in (listed if isinstance(listed, list) else [listed]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def bare_action(action: str) -> str:
    """Without the name of a service before it."""
    return _PREFIX.sub("", action)


def bare_resource(resource: str) -> str:
    return _ARN.sub("", resource)


def texts_in(value: object) -> tuple[str, ...]:
    """The words of a member that may hold one or a list of them; what is no word is left out."""
    if isinstance(value, str):
        return (value,)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _statement(one: Mapping[str, Any]) -> Statement:
    principal = one["Principal"] if "Principal" in one else one["NotPrincipal"]
    if isinstance(principal, str):
        names = frozenset({principal})
    else:
        names = frozenset(name for value in principal.values() for name in texts_in(value))
    actions = one["Action"] if "Action" in one else one["NotAction"]
    resources = one["Resource"] if "Resource" in one else one["NotResource"]
    if one["Effect"] not in ("Allow", "Deny"):
        raise ValueError(one["Effect"])
    return Statement(
        allows=one["Effect"] == "Allow",
        names=names,
        is_for_others="Principal" not in one,
        actions=tuple(bare_action(name).lower() for name in texts_in(actions)),
        not_actions="Action" not in one,
        resources=tuple(bare_resource(name) for name in texts_in(resources)),
        not_resources="Resource" not in one,
        has_condition=bool(one.get("Condition")),
    )


def _told(statements: Sequence[Statement]) -> frozenset[tuple[object, ...]]:
    """What comes out of it, one action on one kind of resource at a time: how it is grouped does not matter."""
    told: set[tuple[object, ...]] = set()
    for statement in statements:
        if statement.not_actions or statement.not_resources or statement.has_condition or statement.is_for_others:
            told.add((statement,))
            continue
        for action in statement.actions:
            told |= {
                (statement.allows, statement.names, action, resource)
                for resource in statement.resources
                if _is_about(action, resource)
            }
    # The dialect of S3 has no word for these; where they are missing it is the same template.
    return frozenset(row for row in told if len(row) == 1 or row[2] not in _WITHOUT_WORD)


_WITHOUT_WORD = frozenset(name.lower() for name in _NOT_IN_S3)
OF_BUCKETS = frozenset(name.lower() for name in BUCKET_ACTIONS)
OF_OBJECTS = frozenset(name.lower() for name in OBJECT_ACTIONS)


def _is_about(action: str, resource: str) -> bool:
    if action in OF_BUCKETS:
        return "/" not in resource
    return "/" in resource or action not in OF_OBJECTS
