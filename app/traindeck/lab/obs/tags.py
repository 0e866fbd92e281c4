"""Tags of buckets and objects."""

from __future__ import annotations

from collections.abc import Mapping

from traindeck.lab.obs.answers import element
from traindeck.lab.obs.documents import child, children, first, parsed
from traindeck.lab.obs.errors import MalformedXML, ObsError

MAX_OF_BUCKET = 20
MAX_OF_OBJECT = 10
_FORBIDDEN = frozenset(",|<>=*\\")


def parsed_tags(body: bytes, *, of_object: bool) -> dict[str, str]:
    listed = first(parsed(body, "Tagging"), "TagSet")
    if listed is None:
        raise MalformedXML
    tags: dict[str, str] = {}
    for node in children(listed, "Tag"):
        key, value = child(node, "Key"), child(node, "Value")
        if key is None:
            raise MalformedXML
        if key in tags:
            raise _invalid("Two tags have the same key.")
        tags[key] = value or ""
    check_tags(tags, of_object=of_object)
    return tags


def check_tags(tags: Mapping[str, str], *, of_object: bool) -> None:
    limit = MAX_OF_OBJECT if of_object else MAX_OF_BUCKET
    longest_key, longest_value = (128, 256) if of_object else (36, 43)
    if len(tags) > limit:
        raise _invalid(f"There are more than {limit} tags.")
    for key, value in tags.items():
        if not key or len(key) > longest_key or len(value) > longest_value:
            raise _invalid("The key or value of a tag is empty or too long.")
        if not of_object and _FORBIDDEN & set(key + value):
            raise _invalid("The key or value of a tag holds a character it must not.")


def tags_xml(tags: Mapping[str, str]) -> str:
    inside = "".join(f"<Tag>{element('Key', key)}{element('Value', value)}</Tag>" for key, value in tags.items())
    return f"<TagSet>{inside}</TagSet>"


def _invalid(message: str) -> ObsError:
    return ObsError(400, "InvalidTagError", message)
