"""Files that say which samples a dataset has and of which class: CSV, JSON, JSON lines, COCO; and cutting them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Protocol

from traindeck.domain.datasets import gentle_json
from traindeck.domain.transfers.packing import sample_of

_FILE_COLUMNS = (
    "file", "filename", "file_name", "filepath", "file_path", "path", "image_path", "img_path", "image_file",
    "image_name", "image", "img", "image_id", "img_id", "source", "audio", "video", "name", "id",
)  # fmt: skip
_CLASS_COLUMNS = (
    "label", "class", "class_name", "label_name", "category", "category_name", "target", "class_id", "label_id",
    "category_id", "classid", "species", "breed", "diagnosis", "y", "labels",
)  # fmt: skip
_HAS_ENDING = re.compile(r".*\.(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{1,5}", re.DOTALL)
_LOOKED_AT = 100
_MOST_CELL = 1 << 20
_LEAST_ROWS = 1


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A sample of an index: what names its file, and its classes (several where it shows several things)."""

    name: str
    classes: tuple[str, ...] = ("",)


@dataclass(frozen=True, slots=True)
class IndexColumns:
    """Which columns are meant, where the user says so."""

    file: str = ""
    label: str = ""


class DatasetIndex(Protocol):
    """What was read of an index."""

    @property
    def rows(self) -> Sequence[IndexRow]: ...

    @property
    def has_classes(self) -> bool: ...

    def cut(self, kept: set[int]) -> str:
        """The same file with nothing but these rows, all else as it was."""
        ...


def read_index(
    name: str, content: str, delimiter: str = ",", columns: IndexColumns | None = None
) -> DatasetIndex | None:
    """None: it is no index of files."""
    columns = columns or IndexColumns()
    ending = name.rpartition(".")[2].lower()
    if ending in ("csv", "tsv"):
        return CsvIndex.read(content, "\t" if ending == "tsv" else delimiter, columns)
    if ending in ("jsonl", "ndjson"):
        return JsonLinesIndex.read(content, columns)
    if ending != "json":
        return None
    try:
        found = gentle_json.loads(content)
    except ValueError:
        return None
    if isinstance(found, dict) and isinstance(found.get("images"), list) and isinstance(found.get("annotations"), list):
        return CocoIndex.read(found)
    return JsonIndex.read(found, columns)


@dataclass(frozen=True, slots=True)
class CsvIndex:
    """Its lines are kept as they were written: quotes, ends and all."""

    head: str
    lines: Sequence[str]
    rows: Sequence[IndexRow]
    has_classes: bool

    @classmethod
    def read(cls, content: str, delimiter: str, columns: IndexColumns) -> CsvIndex | None:
        records = list(_records(content, delimiter))
        if not records:
            return None
        first = [cell.strip() for cell in records[0][1]]
        places = _columns(first, [cells for _, cells in records[1 : _LOOKED_AT + 1]], columns)
        has_head = places is not None and places.has_head
        body = records[1:] if has_head else records
        if places is None or len(body) < _LEAST_ROWS:
            return None
        kept = [(line, cells) for line, cells in body if any(cell.strip() for cell in cells)]
        rows = [
            IndexRow(_cell(cells, places.file), (_cell(cells, places.label),) if places.label is not None else ("",))
            for _, cells in kept
        ]
        head = records[0][0] if has_head else ""
        return cls(head, [line for line, _ in kept], rows, places.label is not None)

    def cut(self, kept: set[int]) -> str:
        return self.head + "".join(line for number, line in enumerate(self.lines) if number in kept)


@dataclass(frozen=True, slots=True)
class _Places:
    file: int
    label: int | None
    has_head: bool


def _records(content: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """Each record with the lines it was written in."""
    lines: list[str] = []

    def fed() -> Iterator[str]:
        for line in StringIO(content, newline=""):
            lines.append(line)
            yield line

    before = csv.field_size_limit(_MOST_CELL)
    try:
        for record in csv.reader(fed(), delimiter=delimiter):
            # The reader asks for a line only when it needs one: what was asked for is this record.
            yield "".join(lines), record
            lines.clear()
    except csv.Error:
        return
    finally:
        csv.field_size_limit(before)


def _columns(first: list[str], sample: list[list[str]], wanted: IndexColumns) -> _Places | None:
    names = [cell.lower() for cell in first]
    if wanted.file or wanted.label:
        asked = [wanted.file.lower(), wanted.label.lower()]
        if any(name and name not in names for name in asked):
            return None
    file = _place_of(names, (wanted.file.lower(),) if wanted.file else _FILE_COLUMNS)
    label = _place_of(names, (wanted.label.lower(),) if wanted.label else _CLASS_COLUMNS)
    has_head = file is not None or label is not None
    rows = sample if has_head else [first, *sample]
    by_ending = next((place for place in range(len(first)) if _names_files(rows, place)), None)
    if by_ending is not None and not wanted.file:
        file = by_ending if file is None or not _names_files(rows, file) else file
        has_head = has_head or not _HAS_ENDING.fullmatch(first[by_ending])
    if file is None:
        return None
    if label == file:
        label = None
    if label is None and not wanted.label and len(first) == 2:
        label = 1 - file
    return _Places(file, label, has_head)


def _place_of(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


def _names_files(rows: Sequence[Sequence[str]], place: int) -> bool:
    cells = [row[place].strip() for row in rows if place < len(row) and row[place].strip()]
    return bool(cells) and sum(_HAS_ENDING.fullmatch(cell) is not None for cell in cells) * 10 >= len(cells) * 8


def _cell(cells: Sequence[str], place: int | None) -> str:
    return cells[place].strip() if place is not None and place < len(cells) else ""


@dataclass(frozen=True, slots=True)
class JsonLinesIndex:
    lines: Sequence[str]
    rows: Sequence[IndexRow]
    has_classes: bool

    @classmethod
    def read(cls, content: str, columns: IndexColumns) -> JsonLinesIndex | None:
        lines = [line for line in content.splitlines() if line.strip()]
        try:
            found = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            return None
        rows = _rows_of(found, columns)
        return None if rows is None else cls(lines, *rows)

    def cut(self, kept: set[int]) -> str:
        return "".join(f"{line}\n" for number, line in enumerate(self.lines) if number in kept)


@dataclass(frozen=True, slots=True)
class JsonIndex:
    """A list of objects, or an object from files to classes; maybe inside one more object."""

    found: Any
    key: str | None
    rows: Sequence[IndexRow]
    has_classes: bool

    @classmethod
    def read(cls, found: Any, columns: IndexColumns) -> JsonIndex | None:
        places: list[tuple[str | None, Any]] = [(None, found)]
        if isinstance(found, dict):
            places += list(found.items())[:_LOOKED_AT]
        for key, part in places:
            if isinstance(part, list) and (rows := _rows_of(part, columns)) is not None:
                return cls(found, key, *rows)
            if isinstance(part, dict) and (mapped := _mapped(part)) is not None:
                return cls(found, key, mapped, True)
        return None

    def cut(self, kept: set[int]) -> str:
        part = self.found if self.key is None else self.found[self.key]
        cut: Any
        if isinstance(part, list):
            cut = [one for number, one in enumerate(part) if number in kept]
        else:
            cut = {name: one for number, (name, one) in enumerate(part.items()) if number in kept}
        whole = cut if self.key is None else self.found | {self.key: cut}
        return gentle_json.dumps(whole)


def _rows_of(found: Sequence[Any], columns: IndexColumns) -> tuple[list[IndexRow], bool] | None:
    if not found or not all(isinstance(one, dict) for one in found):
        return None
    keys = {str(key).lower(): key for one in found[:_LOOKED_AT] for key in one}
    words = [[_plain(one.get(key)) for key in keys.values()] for one in found[:_LOOKED_AT]]
    places = _columns(list(keys), words, columns)
    if places is None:
        return None
    order = list(keys.values())
    file, label = order[places.file], None if places.label is None else order[places.label]
    rows = [IndexRow(_plain(one.get(file)), _classes(one.get(label)) if label is not None else ("",)) for one in found]
    return rows, label is not None


def _mapped(found: dict[str, Any]) -> list[IndexRow] | None:
    """`{"a.jpg": "cat"}`."""
    names = list(found)
    if not names or not all(isinstance(value, str | int | list) for value in found.values()):
        return None
    if not _names_files([[name] for name in names[:_LOOKED_AT]], 0):
        return None
    return [IndexRow(name, _classes(value)) for name, value in found.items()]


def _classes(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(dict.fromkeys(_plain(one) for one in value if not isinstance(one, list | dict))) or ("",)
    return (_plain(value),)


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


@dataclass(frozen=True, slots=True)
class CocoIndex:
    """Images with what is on them; one without annotations has a class of its own."""

    found: dict[str, Any]
    rows: Sequence[IndexRow]
    has_classes: bool = True

    @classmethod
    def read(cls, found: dict[str, Any]) -> CocoIndex | None:
        images = [one for one in found["images"] if isinstance(one, dict)]
        if len(images) != len(found["images"]) or not all(isinstance(one.get("file_name"), str) for one in images):
            return None
        names = {
            one.get("id"): str(one.get("name"))
            for one in found.get("categories") or ()
            if isinstance(one, dict) and isinstance(one.get("id"), int | str)
        }
        shown: dict[Any, dict[str, None]] = {}
        for one in found["annotations"]:
            if isinstance(one, dict) and isinstance(one.get("image_id"), int | str):
                category = one.get("category_id")
                known = names.get(category, str(category)) if isinstance(category, int | str) else ""
                shown.setdefault(one["image_id"], {})[known] = None
        rows = [IndexRow(one["file_name"], tuple(shown.get(_id(one), {"": None}))) for one in images]
        return cls(found, rows)

    def cut(self, kept: set[int]) -> str:
        images = [one for number, one in enumerate(self.found["images"]) if number in kept]
        ids = {_id(one) for one in images}
        annotations = [
            one for one in self.found["annotations"] if isinstance(one, dict) and _id(one, "image_id") in ids
        ]
        whole = self.found | {"images": images, "annotations": annotations}
        return gentle_json.dumps(whole)


def _id(one: dict[str, Any], key: str = "id") -> int | str | None:
    """What is no number and no word is no id: it may be anything."""
    value = one.get(key)
    return value if isinstance(value, int | str) else None


class RowNames:
    """Finds the rows of an index that a listed file belongs to.

    Indexes name files from their own folder on, from the root, from elsewhere, or by their stems alone.
    """

    def __init__(self, rows: Iterable[IndexRow], folder: str = "") -> None:
        """`folder`: the one the index stands in; empty, or ends with a slash."""
        self._folder = folder
        self._exact: dict[str, list[int]] = {}
        self._samples: dict[str, list[int]] = {}
        self._endings: dict[int, str] = {}
        for number, row in enumerate(rows):
            name = _normal(row.name)
            if not name:
                continue
            self._exact.setdefault(name, []).append(number)
            self._endings[number] = _ending(name)
            sample = sample_of(name)
            self._samples.setdefault(sample, []).append(number)
            bare = sample.rpartition("/")[2]
            if bare != sample:
                self._samples.setdefault(bare, []).append(number)

    def rows_of(self, name: str) -> tuple[Sequence[int], bool]:
        """The rows, and whether it is the very file they name; what goes with such a file has another ending."""
        for suffix in self._suffixes(name):
            if found := self._exact.get(suffix):
                return found, True
        ending = _ending(name)
        for suffix in self._suffixes(sample_of(name)):
            found = [row for row in self._samples.get(suffix, ()) if self._endings[row] != ending]
            if found:
                # A row that gives no ending means the file by its stem.
                return found, not self._endings[found[0]]
        return (), False

    def _suffixes(self, name: str) -> Iterator[str]:
        if self._folder and name.startswith(self._folder):
            yield name[len(self._folder) :]
        parts = name.split("/")
        for start in range(max(0, len(parts) - _MOST_PARTS), len(parts)):
            yield "/".join(parts[start:])


_MOST_PARTS = 8
_FROM_ELSEWHERE = re.compile(r"[A-Za-z]:/|/|~/|(?:obs|s3)://")


def _normal(name: str) -> str:
    name = name.strip().replace("\\", "/")
    while name.startswith("./"):
        name = name[2:]
    if _FROM_ELSEWHERE.match(name):  # of another computer: its last two parts are what may be the same here
        return "/".join(name.rstrip("/").split("/")[-2:])
    return "/".join(part for part in name.split("/") if part not in ("", ".."))


def _ending(name: str) -> str:
    last = name.rpartition("/")[2]
    return last.partition(".")[2].lower()
