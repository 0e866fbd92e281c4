"""XML that clients send: parsed, looked through, and held against the elements that the operation knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias
from xml.etree import ElementTree

from traindeck.lab.obs.errors import MalformedXML
from traindeck.lab.obs.request import text

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


def texts(node: Node, name: str) -> tuple[str, ...]:
    return tuple((one.text or "").strip() for one in children(node, name))


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


# The elements below an element by their names, and what is below them; a star says that there may be several.
Shape: TypeAlias = "Mapping[str, Shape]"


def leaves(*names: str) -> dict[str, Shape]:
    return {name: {} for name in names}


def check_shape(node: Node, shape: Shape) -> None:
    """Both services answer an element that their schema does not have, or has only once, with MalformedXML."""
    seen: set[str] = set()
    for one in node:
        name = local(one)
        below = shape.get(name if name in shape else f"{name}*")
        if below is None or (name in shape and name in seen):
            raise MalformedXML
        seen.add(name)
        check_shape(one, below)
