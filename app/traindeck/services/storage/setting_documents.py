"""Tags and CORS rules as the XML of object stores; what nobody here knows of is kept as it came."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from traindeck.domain.bucket_settings import CorsRule, Tags
from traindeck.services.storage.documents import is_writable

_CORS = ("ID", "AllowedOrigin", "AllowedMethod", "AllowedHeader", "ExposeHeader", "MaxAgeSeconds")


def xml_of(root: ET.Element | None) -> str:
    """One spelling of a document, to compare by and to send."""
    return "" if root is None else ET.tostring(root, encoding="unicode")


def child(parent: ET.Element, name: str, content: str) -> ET.Element:
    if not is_writable(content):
        raise ValueError(f"{name} holds what no document can")
    node = ET.SubElement(parent, name)
    node.text = content
    return node


def number_of(node: ET.Element, name: str) -> int | None:
    """ValueError: it is there and is no number."""
    words = node.findtext(name)
    return int(words) if words is not None else None


def texts_of(node: ET.Element, name: str) -> tuple[str, ...]:
    return tuple((found.text or "").strip() for found in node.iterfind(name))


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
    return CorsRule(
        texts_of(node, "AllowedOrigin"),
        texts_of(node, "AllowedMethod"),
        texts_of(node, "AllowedHeader"),
        texts_of(node, "ExposeHeader"),
        age,
        node.findtext("ID") or "",
        tuple(others),
        xml_of(node),
    )


def cors_document(rules: tuple[CorsRule, ...]) -> ET.Element:
    root = ET.Element("CORSConfiguration")
    root.extend(_cors_element(rule) for rule in rules)
    return root


def _cors_element(rule: CorsRule) -> ET.Element:
    known = ET.fromstring(rule.source) if rule.source else None
    if known is not None and _read_cors_rule(known) == rule:
        return known
    node = ET.Element("CORSRule")
    if rule.id:
        child(node, "ID", rule.id)
    for name, values in (
        ("AllowedOrigin", rule.origins),
        ("AllowedMethod", rule.methods),
        ("AllowedHeader", rule.headers),
    ):
        for value in values:
            child(node, name, value)
    if rule.max_age_s is not None:
        child(node, "MaxAgeSeconds", str(rule.max_age_s))
    for value in rule.exposed:
        child(node, "ExposeHeader", value)
    if known is not None:
        # A number that is none was not shown, so it was not changed either.
        kept = [*rule.others] if rule.max_age_s is None else [name for name in rule.others if name != "MaxAgeSeconds"]
        node.extend(found for found in known if found.tag in kept)
    return node
