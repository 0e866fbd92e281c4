"""Whether the asking account, or nobody in particular, may do what a request wants, and who was granted what."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from traindeck.lab.obs.documents import Node, check_shape, child, children, first, needed, parsed
from traindeck.lab.obs.errors import (
    AccessDenied,
    InvalidArgument,
    InvalidRequest,
    MalformedXML,
    NoSuchKey,
    ObsError,
)
from traindeck.lab.obs.policy import Asker, policy_of
from traindeck.lab.obs.records import BucketInfo, ObjectInfo
from traindeck.lab.obs.request import ObsRequest, element, identity
from traindeck.lab.obs.setting_rules import ACL
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.signing.signatures import Dialect

PERMISSIONS = ("READ", "WRITE", "READ_ACP", "WRITE_ACP", "FULL_CONTROL")
READ, WRITE, READ_ACP, WRITE_ACP, FULL_CONTROL = PERMISSIONS
# Stand where otherwise the id of an account does.
EVERYONE, AUTHENTICATED, LOG_DELIVERY = "*", "authenticated", "log-delivery"
MAX_GRANTS = 100
_GROUPS = {
    EVERYONE: "http://acs.amazonaws.com/groups/global/AllUsers",
    AUTHENTICATED: "http://acs.amazonaws.com/groups/global/AuthenticatedUsers",
    LOG_DELIVERY: "http://acs.amazonaws.com/groups/s3/LogDelivery",
}
_XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'


@dataclass(frozen=True, slots=True)
class Grant:
    """One permission of one grantee; `delivered` means for the objects of the bucket, too."""

    grantee: str
    permission: str
    delivered: bool = False


@dataclass(frozen=True, slots=True)
class Acl:
    """The grants; the owner may always read and change them."""

    owner: str
    grants: tuple[Grant, ...]

    def allows(self, account: str | None, permission: str, *, public: bool, delivered_only: bool = False) -> bool:
        names = {EVERYONE} if public else set()
        if account is not None:
            names |= {account, AUTHENTICATED} if public else {account}
        return any(
            grant.grantee in names
            and grant.permission in (permission, FULL_CONTROL)
            and (grant.delivered or not delivered_only)
            for grant in self.grants
        )

    @property
    def is_public(self) -> bool:
        return any(grant.grantee in (EVERYONE, AUTHENTICATED) for grant in self.grants)

    def text(self) -> str:
        return json.dumps([[grant.grantee, grant.permission, grant.delivered] for grant in self.grants])

    def xml(self, dialect: Dialect, *, of_object: bool) -> str:
        grants = "".join(_grant_xml(grant, dialect, of_object) for grant in self.grants)
        owner = f"<Owner>{identity(self.owner, dialect)}</Owner>"
        delivered = element("Delivered", False) if of_object and dialect is Dialect.OBS else ""
        return f"{owner}{delivered}<AccessControlList>{grants}</AccessControlList>"


def stored_acl(owner: str, text: str) -> Acl:
    """As it was kept with the bucket or object; without one the owner has everything, others nothing."""
    if not text:
        return Acl(owner, (Grant(owner, FULL_CONTROL),))
    return Acl(owner, tuple(Grant(*row) for row in json.loads(text)))


_READ, _WRITE = Grant(EVERYONE, READ), Grant(EVERYONE, WRITE)
_CANNED: Mapping[str, tuple[Grant, ...]] = {
    "private": (),
    "public-read": (_READ,),
    "public-read-write": (_READ, _WRITE),
    "authenticated-read": (Grant(AUTHENTICATED, READ),),
}
_CANNED_ON_BUCKET: Mapping[str, tuple[Grant, ...]] = {
    **_CANNED,
    "public-read-delivered": (Grant(EVERYONE, READ, True),),
    "public-read-write-delivered": (Grant(EVERYONE, READ, True), Grant(EVERYONE, WRITE, True)),
    "log-delivery-write": (Grant(LOG_DELIVERY, WRITE), Grant(LOG_DELIVERY, READ_ACP)),
    "bucket-owner-full-control": (),
}


def canned_acl(name: str, owner: str, bucket_owner: str, *, of_object: bool) -> Acl:
    on_object = {
        **_CANNED,
        "bucket-owner-read": (Grant(bucket_owner, READ),),
        "bucket-owner-full-control": (Grant(bucket_owner, FULL_CONTROL),),
        # A header for buckets is not refused on objects: the SDK sends what it was given.
        "public-read-delivered": (_READ,),
        "public-read-write-delivered": (_READ, _WRITE),
    }
    grants = (on_object if of_object else _CANNED_ON_BUCKET).get(name)
    if grants is None:
        raise InvalidArgument("acl", name)
    own = Grant(owner, FULL_CONTROL)
    return Acl(owner, (own, *(grant for grant in grants if grant != own)))


GRANT_HEADERS = {
    "grant-read": (READ, False),
    "grant-write": (WRITE, False),
    "grant-read-acp": (READ_ACP, False),
    "grant-write-acp": (WRITE_ACP, False),
    "grant-full-control": (FULL_CONTROL, False),
    "grant-read-delivered": (READ, True),
    "grant-full-control-delivered": (FULL_CONTROL, True),
}


def header_acl(request: ObsRequest, owner: str, bucket: BucketInfo | None = None) -> Acl | None:
    """The one that the headers ask for: by name, or grant by grant; None where they do not, or want the usual one."""
    name, granted = request.ours("acl"), _granted_acl(request, owner)
    if name and granted:
        raise InvalidRequest("Specifying both canned ACLs and header grants is not allowed.")
    if granted or name in (None, "", "private"):
        return granted
    return canned_acl(name or "", owner, bucket.owner if bucket else owner, of_object=bool(request.key))


def check_public(bucket: BucketInfo, acl: Acl) -> None:
    """Raise where the bucket does not take an ACL as open as this."""
    if acl.is_public and blocks(bucket, "BlockPublicAcls"):
        raise AccessDenied("The bucket does not take ACLs that make something public.")


def _granted_acl(request: ObsRequest, owner: str) -> Acl | None:
    """From headers such as x-obs-grant-read: id=…, which are all that is granted then."""
    headers = request.our_headers()
    found: list[Grant] = []
    for name, (permission, delivered) in GRANT_HEADERS.items():
        for one in headers.get(name, "").split(","):
            kind, equals, value = one.strip().partition("=")
            value = value.strip("\"' ")
            if not one.strip():
                continue
            read = _GRANTEES.get(kind.strip().lower())
            if not equals or read is None or not value:
                raise InvalidArgument(name, headers[name])
            found.append(Grant(read(request, value), permission, delivered))
    return Acl(owner, tuple(found)) if found else None


def parsed_acl(request: ObsRequest, body: bytes, owner: str) -> Acl:
    """From a document of either dialect; the owner cannot be changed by it."""
    try:
        return _parsed(request, body, owner)
    except MalformedXML as error:  # both services have a code of its own for this one
        raise ObsError(400, "MalformedACLError", error.message) from error


def _parsed(request: ObsRequest, body: bytes, owner: str) -> Acl:
    root = parsed(body, "AccessControlPolicy")
    check_shape(root, ACL)
    owner_node, listed = first(root, "Owner"), first(root, "AccessControlList")
    if listed is None:
        raise MalformedXML
    if owner_node is not None and (given := child(owner_node, "ID")) and given.strip() != owner:
        raise InvalidArgument("Owner", given, "The owner of an ACL cannot be changed.")
    grants: list[Grant] = []
    for node in children(listed, "Grant"):
        grantee, permission = first(node, "Grantee"), needed(node, "Permission")
        if grantee is None or permission not in PERMISSIONS:
            raise MalformedXML
        delivered = (child(node, "Delivered") or "").strip().lower() == "true"
        grants.append(Grant(_grantee(request, grantee), permission, delivered))
    if len(grants) > MAX_GRANTS:
        raise MalformedXML(f"An ACL has at most {MAX_GRANTS} grants.")
    return Acl(owner, tuple(grants))


def _grantee(request: ObsRequest, node: Node) -> str:
    if (child(node, "Canned") or "").strip() == "Everyone":
        return EVERYONE
    for name, read in (("ID", _account), ("EmailAddress", _by_mail), ("URI", _group)):
        if value := (child(node, name) or "").strip():
            return read(request, value)
    raise MalformedXML


def _account(request: ObsRequest, domain_id: str) -> str:
    if not request.is_account(domain_id):
        raise InvalidArgument("CanonicalUser/ID", domain_id, "Invalid id")
    return domain_id


def _by_mail(_: ObsRequest, address: str) -> str:
    """No account of the Lab has an address."""
    message = "The e-mail address you provided does not match any account on record."
    raise ObsError(400, "UnresolvableGrantByEmailAddress", message, details={"EmailAddress": address})


def _group(_: ObsRequest, uri: str) -> str:
    for name, known in _GROUPS.items():
        if uri == known or known.endswith("/" + uri.rpartition("/")[2]):
            return name
    raise InvalidArgument("Grantee", uri, "Invalid group uri")


_GRANTEES: Mapping[str, Callable[[ObsRequest, str], str]] = {"id": _account, "emailaddress": _by_mail, "uri": _group}


def _grant_xml(grant: Grant, dialect: Dialect, of_object: bool) -> str:
    group, permission = _GROUPS.get(grant.grantee), element("Permission", grant.permission)
    who = identity(grant.grantee, dialect)
    if dialect is Dialect.S3:
        kind, who = ("Group", element("URI", group)) if group else ("CanonicalUser", who)
        return f'<Grant><Grantee {_XSI} xsi:type="{kind}">{who}</Grantee>{permission}</Grant>'
    who = element("Canned", "Everyone") if group else who
    delivered = "" if of_object else element("Delivered", grant.delivered)
    return f"<Grant><Grantee>{who}</Grantee>{permission}{delivered}</Grant>"


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

    def bucket(self, request: ObsRequest, action: str, *, key: str = "") -> BucketInfo:
        """The bucket, where the action on it (or on a key in it, there or not) is allowed."""
        found = self._store.existing(request.bucket)
        if not self._may(request, found, action, key):
            raise AccessDenied
        return found

    def object(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo, action: str) -> None:
        """Raise where the action on this object is not allowed."""
        if not self._may_on_object(request, bucket, info, action):
            raise AccessDenied

    def expected(self, bucket: BucketInfo | None, owner: str | None) -> None:
        """Raise where the client says whose the bucket is, and it is not."""
        if owner is not None and bucket is not None and bucket.owner != owner:
            raise AccessDenied("The bucket is not that of the expected owner.")

    def missing(self, request: ObsRequest, bucket: BucketInfo, error: NoSuchKey) -> Exception:
        """What to answer about a key that is not there: only who may list learns that it is not."""
        return error if self._may(request, bucket, "ListBucket", "") else AccessDenied()

    def _may(self, request: ObsRequest, bucket: BucketInfo, action: str, key: str) -> bool:
        verdict = self._by_policy(request, bucket, action, key)
        if verdict is not None:
            return verdict
        account, permission = request.asker, _ON_BUCKET.get(action)
        if account == bucket.owner or permission is None:
            return account == bucket.owner
        return bucket_acl(bucket).allows(account, permission, public=not blocks(bucket, "IgnorePublicAcls"))

    def _may_on_object(self, request: ObsRequest, bucket: BucketInfo, info: ObjectInfo, action: str) -> bool:
        verdict = self._by_policy(request, bucket, action, info.key)
        if verdict is not None:
            return verdict
        account, permission = request.asker, _ON_OBJECT.get(action)
        if account == (info.traits.owner or bucket.owner):
            return True
        if permission is None:
            return account == bucket.owner
        public = not blocks(bucket, "IgnorePublicAcls")
        if object_acl(bucket, info).allows(account, permission, public=public):
            return True
        return bucket_acl(bucket).allows(account, permission, public=public, delivered_only=True)

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
        policy = policy_of(text)
        # Blocked is whatever a public policy allows, also to those it names.
        may_allow = is_owner or not (blocks(bucket, "RestrictPublicBuckets") and policy.is_public)
        return policy.verdict(asker, action, resource, may_allow=may_allow)


def read_action(version: str | None) -> str:
    return "GetObject" if version is None else "GetObjectVersion"


def bucket_acl(bucket: BucketInfo) -> Acl:
    return stored_acl(bucket.owner, bucket.settings.get("acl", ""))


def object_acl(bucket: BucketInfo, info: ObjectInfo) -> Acl:
    return stored_acl(info.traits.owner or bucket.owner, info.traits.acl)


def blocks(bucket: BucketInfo, name: str) -> bool:
    return f"<{name}>true</{name}>" in bucket.settings.get("publicAccessBlock", "")


def _context(request: ObsRequest) -> Mapping[str, str]:
    found = {name.lower(): value for name, value in request.query.items()}
    for name in _CONTEXT_HEADERS:
        if (value := request.ours(name)) is not None:
            found[f"x-obs-{name}"] = found[f"x-amz-{name}"] = value
    for name, header in (("referer", "referer"), ("useragent", "user-agent")):
        if (given := request.raw.header(header)) is not None:
            found[name] = given
    found["sourceip"] = request.http.remote or ""
    found["securetransport"] = "false"
    found["currenttime"] = datetime.now(UTC).isoformat()
    found["epochtime"] = str(int(time.time()))
    return found
