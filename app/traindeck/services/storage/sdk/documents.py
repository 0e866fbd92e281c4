"""Tags and CORS rules as the XML of object stores; what nobody here knows of is kept as it came."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from datetime import date

from traindeck.domain.storage.access import Acl, Grant, Grantees, Permission
from traindeck.domain.storage.bucket_settings import COLD, WARM, CorsRule, LifecycleRule, Tags
from traindeck.services.storage.documents import document, is_writable, our_class, s3_class

_CORS = ("ID", "AllowedOrigin", "AllowedMethod", "AllowedHeader", "ExposeHeader", "MaxAgeSeconds")


def xml_of(root: ET.Element | None) -> str:
    """One spelling of a document, to compare by and to send."""
    return "" if root is None else ET.tostring(root, encoding="unicode")


def child(parent: ET.Element, name: str, content: object) -> None:
    words = str(content)
    if not is_writable(words):
        raise ValueError(f"{name} holds what no document can")
    ET.SubElement(parent, name).text = words


def number_of(node: ET.Element, name: str) -> int | None:
    """ValueError: it is there and is no number."""
    words = node.findtext(name)
    return int(words) if words is not None else None


def read_tags(root: ET.Element) -> Tags:
    return tuple((node.findtext("Key") or "", node.findtext("Value") or "") for node in root.iterfind("TagSet/Tag"))


def tags_document(tags: Tags) -> ET.Element:
    root = ET.Element("Tagging")
    listed = ET.SubElement(root, "TagSet")
    for key, value in tags:
        tag = ET.SubElement(listed, "Tag")
        child(tag, "Key", key)
        child(tag, "Value", value)
    return root


def read_cors(root: ET.Element) -> tuple[CorsRule, ...]:
    return tuple(_read_cors_rule(node) for node in root.iterfind("CORSRule"))


def _read_cors_rule(node: ET.Element) -> CorsRule:
    others = [found.tag for found in node if found.tag not in _CORS]
    try:
        age = number_of(node, "MaxAgeSeconds")
    except ValueError:
        age = None
        others.append("MaxAgeSeconds")
    origins, methods, headers, exposed = (
        tuple((found.text or "").strip() for found in node.iterfind(name))
        for name in ("AllowedOrigin", "AllowedMethod", "AllowedHeader", "ExposeHeader")
    )
    return CorsRule(origins, methods, headers, exposed, age, node.findtext("ID") or "", tuple(others), xml_of(node))


def cors_document(rules: tuple[CorsRule, ...]) -> ET.Element:
    root = ET.Element("CORSConfiguration")
    root.extend(_cors_element(rule) for rule in rules)
    return root


def _cors_element(rule: CorsRule) -> ET.Element:
    known = ET.fromstring(rule.source) if rule.source else None
    if known is not None and _read_cors_rule(known) == rule:
        return known
    node = ET.Element("CORSRule")
    written = {
        "ID": (rule.id,) if rule.id else (),
        "AllowedOrigin": rule.origins,
        "AllowedMethod": rule.methods,
        "AllowedHeader": rule.headers,
        "MaxAgeSeconds": () if rule.max_age_s is None else (rule.max_age_s,),
        "ExposeHeader": rule.exposed,
    }
    for name, values in written.items():
        for value in values:
            child(node, name, value)
    if known is not None:
        # A number that is none was not shown, so it was not changed either.
        kept = [*rule.others] if rule.max_age_s is None else [name for name in rule.others if name != "MaxAgeSeconds"]
        node.extend(found for found in known if found.tag in kept)
    return node


_OLD = "NoncurrentVersion"
_ABORT = "AbortIncompleteMultipartUpload"
_ACTIONS = ("Expiration", "Transition", f"{_OLD}Expiration", f"{_OLD}Transition", _ABORT)
_KNOWN = ("ID", "Prefix", "Filter", "Status", *_ACTIONS)


class _Beyond(Exception):
    """The rule says something that ours cannot."""


def read_lifecycle(root: ET.Element) -> tuple[LifecycleRule, ...]:
    return tuple(_read(node) for node in root.iterfind("Rule"))


def _read(node: ET.Element) -> LifecycleRule:
    others = tuple(found.tag for found in node if found.tag not in _KNOWN)
    name, is_enabled = node.findtext("ID") or "", node.findtext("Status") == "Enabled"
    try:
        expire_days, expire_date = _expiration(node)
        return LifecycleRule(
            name,
            _prefix(node),
            is_enabled,
            expire_days,
            expire_date,
            _moves(node, "Transition", "Days"),
            _only_number(node, f"{_OLD}Expiration", "NoncurrentDays"),
            _moves(node, f"{_OLD}Transition", "NoncurrentDays"),
            _only_number(node, _ABORT, "DaysAfterInitiation"),
            others,
            source=xml_of(node),
        )
    except (_Beyond, ValueError):
        named = tuple(found.tag for found in node if found.tag not in ("ID", "Prefix", "Status"))
        prefix = node.findtext("Prefix") or node.findtext("Filter/Prefix") or node.findtext("Filter/And/Prefix") or ""
        return LifecycleRule(name, prefix, is_enabled, others=named, is_locked=True, source=xml_of(node))


def _only(node: ET.Element | None, *names: str) -> None:
    if node is not None and any(found.tag not in names for found in node):
        raise _Beyond


def _prefix(node: ET.Element) -> str:
    narrowed = node.find("Filter")
    if narrowed is None:
        return node.findtext("Prefix") or ""
    _only(narrowed, "Prefix")
    return narrowed.findtext("Prefix") or ""


def _expiration(node: ET.Element) -> tuple[int | None, date | None]:
    found = node.find("Expiration")
    if found is None:
        return None, None
    _only(found, "Days", "Date")
    days, on = number_of(found, "Days"), found.findtext("Date")
    if (days is None) == (on is None):
        raise _Beyond
    return days, date.fromisoformat(on[:10]) if on else None


def _only_number(node: ET.Element, action: str, name: str) -> int | None:
    found = node.find(action)
    if found is None:
        return None
    _only(found, name)
    return number_of(found, name)


def _moves(node: ET.Element, action: str, name: str) -> tuple[tuple[str, int], ...]:
    moves: dict[str, int] = {}
    for found in node.iterfind(action):
        _only(found, name, "StorageClass")
        days, to = number_of(found, name), our_class(found.findtext("StorageClass") or "")
        if days is None or to not in (WARM, COLD) or to in moves:
            raise _Beyond
        moves[to] = days
    return tuple(sorted(moves.items(), key=lambda move: move[1]))


def lifecycle_document(rules: tuple[LifecycleRule, ...], *, is_s3: bool) -> ET.Element:
    root = ET.Element("LifecycleConfiguration")
    root.extend(_element(rule, is_s3=is_s3) for rule in rules)
    return root


def _element(rule: LifecycleRule, *, is_s3: bool) -> ET.Element:
    known = ET.fromstring(rule.source) if rule.source else None
    if known is not None and (rule.is_locked or _read(known) == rule):
        return known
    node = ET.Element("Rule")
    if rule.id:
        child(node, "ID", rule.id)
    narrowed = known is not None and known.find("Filter") is not None
    child(ET.SubElement(node, "Filter") if narrowed else node, "Prefix", rule.prefix)
    child(node, "Status", "Enabled" if rule.is_enabled else "Disabled")
    _add_actions(node, rule, is_s3=is_s3)
    if known is not None:
        node.extend(found for found in known if found.tag not in _KNOWN)
    return node


def _add_actions(node: ET.Element, rule: LifecycleRule, *, is_s3: bool) -> None:
    def add(action: str, **content: object) -> None:
        under = ET.SubElement(node, action)
        for name, value in content.items():
            child(under, name, value)

    spelled = s3_class if is_s3 else str
    for to, days in rule.moves:
        add("Transition", Days=days, StorageClass=spelled(to))
    if rule.expire_days is not None:
        add("Expiration", Days=rule.expire_days)
    elif rule.expire_date is not None:
        add("Expiration", Date=f"{rule.expire_date.isoformat()}T00:00:00Z")
    for to, days in rule.old_moves:
        add(f"{_OLD}Transition", NoncurrentDays=days, StorageClass=spelled(to))
    if rule.old_expire_days is not None:
        add(f"{_OLD}Expiration", NoncurrentDays=rule.old_expire_days)
    if rule.abort_days is not None:
        add(_ABORT, DaysAfterInitiation=rule.abort_days)


_GROUPS = {
    "Everyone": Grantees.EVERYONE,
    "AllUsers": Grantees.EVERYONE,
    "AuthenticatedUsers": Grantees.AUTHENTICATED,
    "LogDelivery": Grantees.LOG_DELIVERY,
}


def policy_of(content: object) -> str:
    """ValueError: it is something else than a policy, as of a service that knows none."""
    if not isinstance(content, str) or not isinstance(json.loads(content), dict):
        raise ValueError("expected a policy")
    return content


def acl_of(xml: str) -> Acl:
    """ValueError: this is no list of grants."""
    root = document(xml, "AccessControlPolicy")
    delivered = root.findtext("Delivered")
    return Acl(
        root.findtext("Owner/ID") or "",
        tuple(_grant(node) for node in root.iterfind("AccessControlList/Grant")),
        None if delivered is None else delivered.strip() == "true",
    )


def _grant(node: ET.Element) -> Grant:
    kind, account = _grantee(node.find("Grantee"))
    permission = Permission((node.findtext("Permission") or "").strip())
    return Grant(kind, permission, account, (node.findtext("Delivered") or "").strip() == "true")


def _grantee(node: ET.Element | None) -> tuple[Grantees, str]:
    if node is None:
        return Grantees.UNKNOWN, ""
    group = node.findtext("Canned") or node.findtext("URI")
    if group is not None:
        known = _GROUPS.get(group.strip().rpartition("/")[2])
        return (known, "") if known else (Grantees.UNKNOWN, group.strip())
    identity = (node.findtext("ID") or "").strip()
    return (Grantees.ACCOUNT, identity) if identity else (Grantees.UNKNOWN, "".join(node.itertext()).strip())
