"""Whether the asking account, or nobody in particular, may do what a request wants."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

from traindeck.lab.obs.acl import READ, READ_ACP, WRITE, WRITE_ACP, Acl, stored_acl
from traindeck.lab.obs.errors import AccessDenied, NoSuchBucket, NoSuchKey
from traindeck.lab.obs.policy import Asker, policy_of
from traindeck.lab.obs.records import BucketInfo, ObjectInfo
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.store import ObjectStore

# Which permission of the ACL carries an action; those not named here are the owner's alone.
_ON_BUCKET = {
    **dict.fromkeys(("HeadBucket", "ListBucket", "ListBucketVersions", "ListBucketMultipartUploads"), READ),
    **dict.fromkeys(
        ("PutObject", "DeleteObject", "DeleteObjectVersion", "AbortMultipartUpload", "ListMultipartUploadParts"), WRITE
    ),
    "GetBucketAcl": READ_ACP,
    "PutBucketAcl": WRITE_ACP,
}
_ON_OBJECT = {
    **dict.fromkeys(("GetObject", "GetObjectVersion"), READ),
    **dict.fromkeys(("GetObjectAcl", "GetObjectVersionAcl"), READ_ACP),
    **dict.fromkeys(("PutObjectAcl", "PutObjectVersionAcl"), WRITE_ACP),
}
_POLICY_ACTIONS = frozenset({"GetBucketPolicy", "PutBucketPolicy", "DeleteBucketPolicy"})
# Conditions know them without the name of a service.
_CONTEXT_HEADERS = ("acl", "copy-source", "metadata-directive", "server-side-encryption", "storage-class")


class Access:
    """Decides by the policy of the bucket first, then by ownership and lists of grants."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def bucket(self, request: ObsRequest, action: str, *, name: str = "", key: str = "") -> BucketInfo:
        """The bucket, where the action on it (or on a key in it, there or not) is allowed."""
        found = self._store.bucket(name or request.bucket)
        if found is None:
            raise NoSuchBucket(name or request.bucket)
        if not self._may(request, found, action, key):
            raise AccessDenied
        return found

    def object(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo, action: str) -> None:
        """Raise where the action on this object is not allowed."""
        if not self._may_on_object(request, bucket, info, action):
            raise AccessDenied

    def missing(self, request: ObsRequest, bucket: BucketInfo, error: NoSuchKey) -> Exception:
        """What to answer about a key that is not there: only who may list learns that it is not."""
        return error if self._may(request, bucket, "ListBucket", "") else AccessDenied()

    def _may(self, request: ObsRequest, bucket: BucketInfo, action: str, key: str) -> bool:
        verdict = self._by_policy(request, bucket, action, key)
        if verdict is not None:
            return verdict
        account = request.account.domain_id if request.account else None
        if account == bucket.owner:
            return True
        permission = _ON_BUCKET.get(action)
        acl = stored_acl(bucket.owner, bucket.settings.get("acl", ""))
        public = not _blocks(bucket, "IgnorePublicAcls")
        return permission is not None and acl.allows(account, permission, public=public)

    def _may_on_object(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo, action: str) -> bool:
        verdict = self._by_policy(request, bucket, action, info.key)
        if verdict is not None:
            return verdict
        account = request.account.domain_id if request.account else None
        owner = info.traits.owner or bucket.owner
        if account == owner:
            return True
        permission = _ON_OBJECT.get(action)
        if permission is None:
            return account == bucket.owner
        public = not _blocks(bucket, "IgnorePublicAcls")
        if object_acl(bucket, info).allows(account, permission, public=public):
            return True
        of_bucket = stored_acl(bucket.owner, bucket.settings.get("acl", ""))
        return of_bucket.allows(account, permission, public=public, delivered_only=True)

    def _by_policy(self, request: ObsRequest, bucket: BucketInfo, action: str, key: str) -> bool | None:
        text = bucket.settings.get("policy")
        if not text:
            return None
        account = request.account
        is_owner = account is not None and account.domain_id == bucket.owner
        # An owner who denied everything to everybody must be able to take it back.
        if is_owner and action in _POLICY_ACTIONS:
            return None
        asker = Asker(account.domain_id if account else None, account.user_id if account else None, _context(request))
        resource = f"{bucket.name}/{key}" if key else bucket.name
        public = is_owner or not _blocks(bucket, "RestrictPublicBuckets")
        return policy_of(text).verdict(asker, action, resource, public=public)


def object_acl(bucket: BucketInfo, info: ObjectInfo) -> Acl:
    return stored_acl(info.traits.owner or bucket.owner, info.traits.acl)


def _blocks(bucket: BucketInfo, name: str) -> bool:
    return f"<{name}>true</{name}>" in bucket.settings.get("publicAccessBlock", "")


def _context(request: ObsRequest) -> Mapping[str, str]:
    found = {name.lower(): value for name, value in request.query.items()}
    for name in _CONTEXT_HEADERS:
        value = request.ours(name)
        if value is not None:
            found[f"x-obs-{name}"] = found[f"x-amz-{name}"] = value
    for name, header in (("referer", "referer"), ("useragent", "user-agent")):
        if (given := request.raw.header(header)) is not None:
            found[name] = given
    found["sourceip"] = request.http.remote or ""
    found["securetransport"] = "false"
    found["currenttime"] = datetime.now(UTC).isoformat()
    found["epochtime"] = str(int(time.time()))
    return found
