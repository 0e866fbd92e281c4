"""Access control lists: who was granted what on a bucket or an object."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from traindeck.lab.obs.answers import element
from traindeck.lab.obs.errors import InvalidArgument, MalformedXML
from traindeck.lab.obs.settings import child, children, first, needed, parsed
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
        owner = f"<Owner>{_id(self.owner, dialect)}</Owner>"
        delivered = element("Delivered", False) if of_object and dialect is Dialect.OBS else ""
        return f"{owner}{delivered}<AccessControlList>{grants}</AccessControlList>"


def stored_acl(owner: str, text: str) -> Acl:
    """As it was kept with the bucket or object; without one the owner has everything, others nothing."""
    if not text:
        return Acl(owner, (Grant(owner, FULL_CONTROL),))
    return Acl(owner, tuple(Grant(*row) for row in json.loads(text)))


def canned_acl(name: str, owner: str, bucket_owner: str, *, of_object: bool) -> Acl:
    extra: Mapping[str, Iterable[Grant]] = {
        "private": (),
        "public-read": (Grant(EVERYONE, READ),),
        "public-read-write": (Grant(EVERYONE, READ), Grant(EVERYONE, WRITE)),
        "authenticated-read": (Grant(AUTHENTICATED, READ),),
    }
    only_object: Mapping[str, Iterable[Grant]] = {
        "bucket-owner-read": (Grant(bucket_owner, READ),),
        "bucket-owner-full-control": (Grant(bucket_owner, FULL_CONTROL),),
        # A header for buckets is not refused on objects: the SDK sends what it was given.
        "public-read-delivered": (Grant(EVERYONE, READ),),
        "public-read-write-delivered": (Grant(EVERYONE, READ), Grant(EVERYONE, WRITE)),
    }
    only_bucket: Mapping[str, Iterable[Grant]] = {
        "public-read-delivered": (Grant(EVERYONE, READ, True),),
        "public-read-write-delivered": (Grant(EVERYONE, READ, True), Grant(EVERYONE, WRITE, True)),
        "log-delivery-write": (Grant(LOG_DELIVERY, WRITE), Grant(LOG_DELIVERY, READ_ACP)),
        "bucket-owner-full-control": (),
    }
    grants = {**extra, **(only_object if of_object else only_bucket)}.get(name)
    if grants is None:
        raise InvalidArgument("acl", name)
    own = Grant(owner, FULL_CONTROL)
    return Acl(owner, (own, *(grant for grant in grants if grant != own)))


def granted_acl(headers: Mapping[str, str], owner: str) -> Acl | None:
    """From headers such as x-obs-grant-read: id=…; None where there are none."""
    names = {
        "grant-read": (READ, False),
        "grant-write": (WRITE, False),
        "grant-read-acp": (READ_ACP, False),
        "grant-write-acp": (WRITE_ACP, False),
        "grant-full-control": (FULL_CONTROL, False),
        "grant-read-delivered": (READ, True),
        "grant-full-control-delivered": (FULL_CONTROL, True),
    }
    found: list[Grant] = []
    for name, (permission, delivered) in names.items():
        for one in headers.get(name, "").split(","):
            kind, equals, value = one.strip().partition("=")
            value = value.strip("\"' ")
            if not one.strip():
                continue
            if not equals or kind.lower() not in ("id", "uri") or not value:
                raise InvalidArgument(name, headers[name])
            found.append(Grant(_group(value) if kind.lower() == "uri" else value, permission, delivered))
    return Acl(owner, (Grant(owner, FULL_CONTROL), *found)) if found else None


def parsed_acl(body: bytes, owner: str) -> Acl:
    """From a document of either dialect; the owner cannot be changed by it."""
    root = parsed(body, "AccessControlPolicy")
    owner_node, listed = first(root, "Owner"), first(root, "AccessControlList")
    if listed is None:
        raise MalformedXML
    if owner_node is not None and (given := child(owner_node, "ID")) and given.strip() != owner:
        raise InvalidArgument("Owner", given, "The owner of an ACL cannot be changed.")
    grants: list[Grant] = []
    for node in children(listed, "Grant"):
        grantee = first(node, "Grantee")
        permission = needed(node, "Permission")
        if grantee is None or permission not in PERMISSIONS:
            raise MalformedXML
        delivered = (child(node, "Delivered") or "").strip().lower() == "true"
        grants.append(Grant(_grantee(child(grantee, "ID"), child(grantee, "Canned"), child(grantee, "URI")),
                            permission, delivered))  # fmt: skip
    if len(grants) > MAX_GRANTS:
        raise MalformedXML(f"An ACL has at most {MAX_GRANTS} grants.")
    return Acl(owner, tuple(grants))


def _grantee(identity: str | None, canned: str | None, uri: str | None) -> str:
    if identity and identity.strip():
        return identity.strip()
    if canned is not None:
        if canned.strip() != "Everyone":
            raise MalformedXML
        return EVERYONE
    if uri is None:
        raise MalformedXML
    return _group(uri.strip())


def _group(uri: str) -> str:
    for name, known in _GROUPS.items():
        if uri == known or known.endswith("/" + uri.rpartition("/")[2]):
            return name
    raise InvalidArgument("Grantee", uri, "Invalid group uri")


def _grant_xml(grant: Grant, dialect: Dialect, of_object: bool) -> str:
    permission = element("Permission", grant.permission)
    if dialect is Dialect.S3:
        if grant.grantee in _GROUPS:
            who = f'<Grantee {_XSI} xsi:type="Group">{element("URI", _GROUPS[grant.grantee])}</Grantee>'
        else:
            who = f'<Grantee {_XSI} xsi:type="CanonicalUser">{_id(grant.grantee, dialect)}</Grantee>'
        return f"<Grant>{who}{permission}</Grant>"
    who = element("Canned", "Everyone") if grant.grantee in _GROUPS else _id(grant.grantee, dialect)
    delivered = "" if of_object else element("Delivered", grant.delivered)
    return f"<Grant><Grantee>{who}</Grantee>{permission}{delivered}</Grant>"


def _id(owner: str, dialect: Dialect) -> str:
    return element("ID", owner) + (element("DisplayName", owner) if dialect is Dialect.S3 else "")
