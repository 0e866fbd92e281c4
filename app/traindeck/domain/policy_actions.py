"""The words of bucket policies: what may be allowed, and under which conditions."""

from __future__ import annotations

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
