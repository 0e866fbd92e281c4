"""Objects that have another name on this computer, matched with the files of that name: by one rule, both ways."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import (
    System,
    is_possible_part,
    local_part,
    marked_part,
    may_be_changed,
    plain_place,
)
from traindeck.domain.transfers.records import PROBLEM_SCHEME
from traindeck.domain.transfers.sync_rules import Pair

if TYPE_CHECKING:
    from traindeck.services.transfers.local_tree import LocalEntry
    from traindeck.services.transfers.sides import LocalPair, NamedRow


class ChangedNames:
    """Of one folder and its objects. `placed` gives an object's local name; empty: the object is left alone.

    Names sort differently on both sides, so what may have been changed waits until the whole listing went by.
    """

    def __init__(self, placed: Callable[[NamedRow], str], system: System) -> None:
        self._placed = placed
        self._system = system
        self._places: dict[str, str] = {}  # of changed names that were listed, and not paired yet
        self._rows: dict[str, NamedRow] = {}  # by their places
        self._folders: dict[str, str] = {}  # from their places to their names
        self._entries: list[LocalEntry] = []

    async def listed(self, listing: AsyncGenerator[list[NamedRow], None]) -> AsyncGenerator[list[NamedRow], None]:
        """The same, noting which names are others here."""
        async with aclosing(listing):
            async for batch in listing:
                for one in batch:
                    place = self._placed(one)
                    if place not in ("", one.name):
                        self._places[one.name] = place
                        self._folders.update(_folders_above(place, one.name))
                yield batch

    def look_for_marked(self, root: Path, rows: Sequence[NamedRow]) -> None:
        """Find objects whose files kept a mark, though what was in their way is gone from the listing; blocks."""
        known: dict[str, bool] = {}

        def is_there(place: str) -> bool:
            if place not in known:
                known[place] = os.path.lexists(root / place)
            return known[place]

        for row in rows:
            place = self._places.get(row.name) or plain_place(row.name, self._system)
            if not is_there(place) and (marked := _marked_place(row, self._system, is_there)):
                self._places[row.name] = marked
                self._folders.update(_folders_above(marked, row.name))

    def certain(self, pairs: Sequence[LocalPair]) -> list[LocalPair]:
        """What has its own name; the rest waits to be `settled`."""
        found: list[LocalPair] = []
        for pair in pairs:
            entry, row = pair.left, pair.right
            may_be_another = entry is not None and may_be_changed(entry.name)
            place = self._places.pop(row.name, "") if row is not None else ""
            # A file that was made here may have a name that no download would give it.
            is_own = entry is not None and not may_be_another
            if row is not None and place and not is_own:
                self._rows[place] = row
            if entry is not None and may_be_another and (row is None or place):
                self._entries.append(entry)
            elif not place or is_own:
                found.append(pair)
        return found

    @property
    def has_entries(self) -> bool:
        return bool(self._entries)

    def settled(self, root: Path, leaves_out: Callable[[str], bool]) -> list[tuple[LocalPair, str]]:
        """What waited, each with the name of its object, but objects whose local names are left out; blocks."""
        found: dict[str, LocalPair] = {}
        rest: list[LocalEntry] = []
        for entry in self._entries:
            row = self._rows.get(entry.name)
            if row is None or self._has_file(root, row.name):
                rest.append(entry)
            else:
                del self._rows[entry.name]
                found[row.name] = Pair(entry, row)
        left = {row.name: row for place, row in self._rows.items() if not leaves_out(place)}
        for entry in rest:
            name = self._name_of(entry.name)
            if name in found or (name != entry.name and self._has_file(root, name)):
                name = entry.name  # another file here has that name
            if name in found:
                entry.problem, name = _taken(entry.name), f"{PROBLEM_SCHEME}{entry.name}"
            found[name] = Pair(entry, left.pop(name, None))
        found |= {name: Pair(None, row) for name, row in left.items()}
        self._entries, self._rows = [], {}
        return sorted(((pair, name) for name, pair in found.items()), key=lambda one: one[1])

    def _has_file(self, root: Path, name: str) -> bool:
        """Whether there is a file with the object's own name; without case that would be any of them."""
        if self._system.folds_case or not all(map(is_possible_part, name.split("/"))):
            return False
        return os.path.lexists(root / name)

    def _name_of(self, place: str) -> str:
        """What is new in a folder that has another name here goes into that folder."""
        parts = place.split("/")
        for count in range(len(parts) - 1, 0, -1):
            folder = self._folders.get("/".join(parts[:count]))
            if folder is not None:
                return "/".join((folder, *parts[count:]))
        return place


def _marked_place(one: NamedRow, system: System, is_there: Callable[[str], bool]) -> str:
    """Where its file stands, if it or a folder above has a mark; empty: nowhere."""
    *folders, name = one.name.split("/")
    above = {"": False}  # each with whether there is a mark in it
    for part in folders:
        marked = {f"{place}{marked_part(part, '/', system)}/": True for place in above}
        plain = {f"{place}{local_part(part, system)}/": has_mark for place, has_mark in above.items()}
        above = plain | {place: True for place in marked if is_there(place)}
    for place, has_mark in above.items():
        if not name and not one.row.size_bytes:  # a marker of a folder
            ends = [(place, has_mark)]
        else:
            ends = [(place + local_part(name, system), has_mark), (place + marked_part(name, "", system), True)]
        for end, is_marked in ends:
            if is_marked and is_there(end):
                return end
    return ""


def _folders_above(place: str, name: str) -> Iterator[tuple[str, str]]:
    here, there = place.split("/"), name.split("/")
    for count in range(1, min(len(here), len(there))):
        if here[:count] != there[:count]:
            yield "/".join(here[:count]), "/".join(there[:count])


def _taken(name: str) -> AppError:
    return Conflict(
        text("“{name}” would be the same object as another file of this folder.", name=name),
        text("Rename one of them."),
    )
