"""XML from services, parsed by expat within bounds: bytes, elements, levels, attributes, and no document type."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from xml.parsers import expat

from traindeck.services.http import bounds

# The SDK removes it before it parses, so that text which was no XML may become some.
_CUT_BY_SDK = re.compile(rb'xmlns="http.*?"')


class Tag:
    """The end of an element in a flat document; equal to nothing but itself, so no text is mistaken for it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class NoXml(ValueError):
    """The text is not well-formed."""


def parsed(xml: str | bytes) -> ET.Element:
    """Return the root, with the names of its own namespace written bare; ValueError if the document is unusable."""
    parser = expat.ParserCreate("utf-8", "}")
    builder = _Builder()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.tree.end
    parser.CharacterDataHandler = builder.tree.data
    _parse(parser, _within_bounds(xml))
    root = builder.tree.close()
    level = [root]
    for _ in range(bounds.LEVELS):
        level = [child for node in level for child in node]
    if level:
        raise ValueError("deeper than any is")
    return root


def flat(xml: str | bytes, tags: Iterable[Tag]) -> list[object] | None:
    """Return texts and ends of elements in document order, or None if a tree is needed: other elements, attributes.

    Half the time of a tree, because expat calls nothing but list.append. Blanks before an element merge with its text.
    """
    known: dict[str, object] = {tag.name: tag for tag in tags} | {"xmlns": "xmlns"}
    body = _within_bounds(xml)
    if body.count(b"=") > bounds.ATTRIBUTES:
        return None
    names = dict(known)  # expat adds each name that it meets, and hands on what is here for it
    parser = expat.ParserCreate("utf-8", None, names)
    parser.buffer_text = True
    found: list[object] = []
    parser.EndElementHandler = found.append
    parser.CharacterDataHandler = found.append
    _parse(parser, body)
    return found if len(names) == len(known) else None


def unfit(xml: bytes) -> str:
    """Return why the SDK may not parse this document, or an empty text. Text that is no XML is harmless."""
    found = _CUT_BY_SDK.search(xml)
    try:
        parsed(xml.replace(found[0], b"") if found else xml)
    except NoXml:
        return ""
    except ValueError as error:
        return str(error)
    return ""


class _Builder:
    """Builds the tree with the names as ElementTree spells them, and counts attributes."""

    def __init__(self) -> None:
        self.tree = ET.TreeBuilder()
        self._attributes = 0
        self._own = ""
        self._names: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if attributes:
            self._attributes += len(attributes)
            if self._attributes > bounds.ATTRIBUTES:
                raise ValueError("more attributes than any has")
            attributes = {self._name(key): value for key, value in attributes.items()}
        if not self._names:
            self._own = name[: name.rfind("}") + 1]
        self.tree.start(self._names.get(name) or self._name(name), attributes)

    def _name(self, name: str) -> str:
        bare = name.removeprefix(self._own)
        known = self._names[name] = "{" + bare if "}" in bare else bare
        return known


def _within_bounds(xml: str | bytes) -> bytes:
    """Checks by counting, before anything is parsed: expat would keep all attributes of a tag before it calls."""
    body = (xml.encode("utf-8") if isinstance(xml, str) else xml).strip()
    if len(body) > bounds.ANSWER_BYTES:
        raise ValueError("longer than any is")
    if body.count(b"<") > bounds.ELEMENTS:
        raise ValueError("more elements than any has")
    window = bounds.TAG_BYTES
    if any(body.find(b"<", at, at + window) < 0 for at in range(0, len(body) - window + 1, window)):
        raise ValueError("a longer piece than any has")
    return body


def _parse(parser: expat.XMLParserType, body: bytes) -> None:
    parser.StartDoctypeDeclHandler = _refuse_declarations
    try:
        parser.Parse(body, True)
    except expat.ExpatError as error:
        raise NoXml(str(error)) from error


def _refuse_declarations(*_: object) -> None:
    """No service declares anything, and what is declared may be repeated without end."""
    raise ValueError("a document type of its own")
