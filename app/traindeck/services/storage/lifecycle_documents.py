"""Lifecycle rules as the XML of object stores; a rule that says more than ours can is left as it came."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import date

from traindeck.domain.bucket_settings import COLD, WARM
from traindeck.domain.lifecycle import LifecycleRule
from traindeck.services.storage.setting_documents import child, number_of, xml_of

_S3_NAMES = {WARM: "STANDARD_IA", COLD: "GLACIER"}
_OBS_NAMES = {there: here for here, there in _S3_NAMES.items()}
_OLD = "NoncurrentVersion"
_ABORT = "AbortIncompleteMultipartUpload"
_ACTIONS = ("Expiration", "Transition", f"{_OLD}Expiration", f"{_OLD}Transition", _ABORT)
_KNOWN = ("ID", "Prefix", "Filter", "Status", *_ACTIONS)


class _Beyond(Exception):
    """The rule says something that ours cannot."""


def class_of(name: str) -> str:
    """As OBS calls it."""
    return _OBS_NAMES.get(name, name)


def class_for(name: str, *, is_s3: bool) -> str:
    """As the dialect calls it."""
    return _S3_NAMES.get(name, name) if is_s3 else name


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
        days, to = number_of(found, name), class_of(found.findtext("StorageClass") or "")
        if days is None or to not in _S3_NAMES or to in moves:
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
    for to, days in rule.moves:
        move = ET.SubElement(node, "Transition")
        child(move, "Days", str(days))
        child(move, "StorageClass", class_for(to, is_s3=is_s3))
    if rule.expire_days is not None:
        child(ET.SubElement(node, "Expiration"), "Days", str(rule.expire_days))
    elif rule.expire_date is not None:
        child(ET.SubElement(node, "Expiration"), "Date", f"{rule.expire_date.isoformat()}T00:00:00Z")
    for to, days in rule.old_moves:
        move = ET.SubElement(node, f"{_OLD}Transition")
        child(move, "NoncurrentDays", str(days))
        child(move, "StorageClass", class_for(to, is_s3=is_s3))
    if rule.old_expire_days is not None:
        child(ET.SubElement(node, f"{_OLD}Expiration"), "NoncurrentDays", str(rule.old_expire_days))
    if rule.abort_days is not None:
        child(ET.SubElement(node, _ABORT), "DaysAfterInitiation", str(rule.abort_days))
