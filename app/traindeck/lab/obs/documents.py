"""XML that comes in: read safely, looked into without its namespaces, and kept in a plain form."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from traindeck.lab.obs.answers import text
from traindeck.lab.obs.errors import MalformedXML

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
