"""Pascal VOC: the lists below ImageSets say which pictures are used for what, and which show a class."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.etree import ElementTree

from traindeck.domain.datasets.index_files import IndexRow

_LIST = re.compile(r"(?:.*/)?ImageSets/[^/]+/([^/]+)\.txt")
_CLASS_LIST = re.compile(r"([A-Za-z][\w-]*)_(?:train|val|trainval|test)")
_ANNOTATION = re.compile(r"(?:.*/)?Annotations/[^/]+\.xml")
MOST_ANNOTATION_BYTES = 1 << 20


def is_list_name(name: str) -> bool:
    return _LIST.fullmatch(name) is not None


def is_annotation_name(name: str) -> bool:
    return _ANNOTATION.fullmatch(name) is not None


def class_of_list(name: str) -> str:
    """Of `ImageSets/Main/cat_train.txt` it is cat; empty: the list is of all classes."""
    found = _LIST.fullmatch(name)
    match = _CLASS_LIST.fullmatch(found[1]) if found else None
    return match[1] if match else ""


def classes_in(annotation: bytes) -> tuple[str, ...] | None:
    """What is on the picture; None: it is no annotation, or could hurt the reader."""
    if b"<!" in annotation.replace(b"<!--", b""):  # entities that grow; annotations have none
        return None
    try:
        root = ElementTree.fromstring(annotation)
    except (ElementTree.ParseError, ValueError, LookupError):
        return None
    names = [(one.findtext("name") or "").strip() for one in root.iter("object")]
    return tuple(dict.fromkeys(name for name in names if name))


@dataclass(slots=True)
class VocIndex:
    """Pictures by their stems, with their classes, out of the lists, or of the annotations where no list has them."""

    lists: dict[str, str] = field(default_factory=dict)
    annotated: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def has_class_lists(self) -> bool:
        return any(map(class_of_list, self.lists))

    @property
    def rows(self) -> list[IndexRow]:
        found: dict[str, dict[str, None]] = {}
        for name, content in self.lists.items():
            label = class_of_list(name)
            for stem, sign in _entries(content):
                classes = found.setdefault(stem, {})
                if label and sign != "-1":
                    classes[label] = None
        for stem, classes_there in self.annotated.items():
            found.setdefault(stem, {}).update(dict.fromkeys(classes_there))
        return [IndexRow(stem, tuple(classes) or ("",)) for stem, classes in found.items()]

    def cut(self, kept: Iterable[str]) -> dict[str, str]:
        """The lists with nothing but these stems."""
        stems = set(kept)
        return {name: "".join(_kept_lines(content, stems)) for name, content in self.lists.items()}


def _entries(content: str) -> list[tuple[str, str]]:
    found = (line.split() for line in content.splitlines())
    return [(words[0].rpartition("/")[2], words[-1] if len(words) > 1 else "1") for words in found if words]


def _kept_lines(content: str, stems: set[str]) -> list[str]:
    lines = content.splitlines(keepends=True)
    return [line for line in lines if (words := line.split()) and words[0].rpartition("/")[2] in stems]
