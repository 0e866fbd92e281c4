"""Copying, moving and renaming within an account: names that are taken are asked about; what was moved goes back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import count, groupby
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import Conflict, InvalidInput
from traindeck.domain.storage.objects import MAX_KEY_BYTES, ObjectPath, outermost
from traindeck.domain.texts import Text, text
from traindeck.domain.transfers.orders import relocation_of
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.storage.deleting import News, finished, topic_of

if TYPE_CHECKING:
    from traindeck.services.transfers import Transfers


OBJECTS = "application/x-traindeck-objects"
"""The MIME type; another window of this program understands it too."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What is carried from one place to another."""

    profile: str
    paths: tuple[ObjectPath, ...]
    is_cut: bool = False

    def to_bytes(self) -> bytes:
        places = [[path.bucket, path.key] for path in self.paths]
        return json.dumps({"profile": self.profile, "cut": self.is_cut, "places": places}).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Carried | None:
        """None: somebody else's, or another version's."""
        try:
            values = json.loads(content)
            paths = tuple(ObjectPath(str(bucket), str(key)) for bucket, key in values["places"])
            return cls(str(values["profile"]), paths, values["cut"] is True)
        except (ValueError, TypeError, KeyError):
            return None

    def to_text(self) -> str:
        return "\n".join(str(path) for path in self.paths)


class CutObjects(QObject):
    """What was cut and not yet pasted, to be shown dimmed."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._profile = ""
        self._paths: frozenset[ObjectPath] = frozenset()

    def put(self, profile: str, paths: Iterable[ObjectPath]) -> None:
        before, self._paths = self._paths, frozenset(paths)
        self._profile = profile
        if before != self._paths:
            self.changed.emit()

    def clear(self) -> None:
        self.put("", ())

    def has(self, profile: str, path: ObjectPath) -> bool:
        return path in self._paths and profile == self._profile

    def __bool__(self) -> bool:
        return bool(self._paths)


class Taken(Enum):
    """What becomes of those whose names are taken."""

    REPLACE = "replace"
    KEEP_BOTH = "both"
    SKIP = "skip"


AskTaken = Callable[[ObjectPath, Sequence[str]], Awaitable[Taken | None]]
"""Asks once for all of the names in a folder; None: nothing at all is to be done."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An object or folder, and the name it is to have."""

    path: ObjectPath
    name: str


class Moving(QObject):
    """Every copy and move that a window begins."""

    touched = Signal(object)
    """What is in this folder is other than it was."""
    arrived = Signal(object)
    """This folder came with all that is below it."""
    news = Signal(object)
    """News."""
    appeared = Signal(str, object)
    """In this account, what is there from now on under this name: it is selected wherever it is shown."""

    def __init__(self, mover: Transfers, scope: TaskScope) -> None:
        super().__init__()
        self._mover = mover
        self._scope = scope
        self._numbers = count(1)

    def put(
        self,
        carried: Carried,
        profile: str,
        target: ObjectPath,
        ask: AskTaken,
        done: Callable[[], None] | None = None,
    ) -> None:
        """Bring what is carried into a folder; `ask` is asked where names are taken there."""
        target = target.as_folder()

        async def put() -> None:
            if carried.profile != profile:
                raise InvalidInput(
                    text("These objects belong to another account: “{profile}”.", profile=carried.profile),
                    text("Objects cannot be copied between two accounts. Download them, then upload them here."),
                )
            paths = [path for path in outermost(carried.paths) if not path.is_bucket]
            if carried.is_cut:
                paths = [path for path in paths if path.parent != target]
            for path in paths:
                if path.holds(target):
                    raise InvalidInput(
                        text("“{target}” is inside “{source}”.", target=str(target), source=str(path)),
                        text("Select a path outside of it."),
                    )
            wanted, is_loss = await self._agreed(profile, target, [_Wanted(path, _name(path)) for path in paths], ask)
            if wanted:
                await self._carry_out(profile, wanted, target, is_cut=carried.is_cut)
                self._tell(profile, wanted, target, is_cut=carried.is_cut, can_undo=not is_loss)
            if done is not None:
                done()

        words = text("Copying to {target}…", target=str(target))
        self._start(put, text("Moving to {target}…", target=str(target)) if carried.is_cut else words)

    def rename(self, profile: str, path: ObjectPath, name: str) -> None:
        words = text("Renaming “{old}” to “{name}”…", old=path.name, name=name)
        self._start(partial(self._rename, profile, path, name), words)

    def make_folder(self, profile: str, folder: ObjectPath) -> None:
        async def make() -> None:
            await self._mover.make_folder(profile, folder)
            self.touched.emit(folder.parent)
            self.appeared.emit(profile, folder)
            # Where its place is not open, this alone tells that it is there.
            message = text("Created the folder “{name}”.", name=folder.name)
            self.news.emit(News(message, None, topic_of(profile, folder)))

        self._start(make, text("Creating {place}…", place=str(folder)))

    def _start(self, work: Callable[[], Awaitable[None]], words: Text) -> None:
        self._scope.start(f"move #{next(self._numbers)}", work, words=words)

    async def _agreed(
        self, profile: str, target: ObjectPath, wanted: list[_Wanted], ask: AskTaken
    ) -> tuple[list[_Wanted], bool]:
        """With names that are free, or may be written over; and whether any of them is."""
        taken = await self._mover.taken(profile, target, [entry.name for entry in wanted])
        twice = {name for name, times in Counter(entry.name for entry in wanted).items() if times > 1}
        beside = [entry for entry in wanted if entry.path.parent == target]  # a copy beside itself has another name
        meant = [entry for entry in wanted if entry.path.parent != target and entry.name in taken | twice]
        answer: Taken | None = Taken.KEEP_BOTH
        if meant:
            answer = await ask(target, sorted({entry.name for entry in meant}))
        if answer is None:
            return [], False
        if answer is Taken.SKIP:
            skipped = {entry for entry in meant if entry.name in taken}
            wanted = [entry for entry in wanted if entry not in skipped]
        renamed = [*beside, *(meant if answer is Taken.KEEP_BOTH else _later(meant, twice))]
        numbered_ones = set(renamed)
        kept = [entry for entry in wanted if entry not in numbered_ones]
        renamed = [entry for entry in wanted if entry in numbered_ones]
        free = await self._with_free_names(profile, target, renamed, {one.name for one in kept} | taken)
        return [*kept, *free], bool(meant) and answer is Taken.REPLACE

    async def _with_free_names(
        self, profile: str, target: ObjectPath, wanted: Sequence[_Wanted], used: set[str]
    ) -> list[_Wanted]:
        used, found, left, number = set(used), list[_Wanted](), list(wanted), 1
        while left:
            number += 1
            offered = {entry: numbered(_name(entry.path), number) for entry in left}
            used |= await self._mover.taken(profile, target, sorted(set(offered.values())))
            left = []
            for entry, name in offered.items():
                if name in used:
                    left.append(entry)
                else:
                    used.add(name)
                    found.append(_Wanted(entry.path, name))
        return found

    async def _rename(self, profile: str, path: ObjectPath, name: str) -> None:
        check_name(name, path)
        entry = _Wanted(path, name + ("/" if path.is_folder else ""))
        if entry.name == _name(path):
            return
        if await self._mover.taken(profile, path.parent, [entry.name]):
            raise Conflict(
                text("“{name}” already exists.", name=name),
                text("Enter another name, or move the existing item first."),
            )
        await self._carry_out(profile, [entry], path.parent, is_cut=True)
        there = path.parent.join(entry.name)
        self.appeared.emit(profile, there)
        message = text("Renamed “{old}” to “{name}”.", old=path.name, name=name)
        self.news.emit(News(message, partial(self.rename, profile, there, path.name), topic_of(profile, there)))

    def _tell(
        self, profile: str, wanted: Sequence[_Wanted], target: ObjectPath, *, is_cut: bool, can_undo: bool
    ) -> None:
        name, there = wanted[0].path.name, target.join(wanted[0].name)
        if len(wanted) > 1:
            count = f"{len(wanted):,}"
            message = text("Copied {count} objects and folders to {target}.", count=count, target=str(target))
            if is_cut:
                message = text("Moved {count} objects and folders to {target}.", count=count, target=str(target))
        elif is_cut:
            message = text("Moved “{name}” to {target}.", name=name, target=str(target))
        else:
            message = text("Copied “{name}” to {target}.", name=name, target=str(target))
        undo = partial(self._bring_back, profile, tuple(wanted), target) if is_cut and can_undo else None
        self.news.emit(News(message, undo, topic_of(profile, there)))

    def _bring_back(self, profile: str, moved: Sequence[_Wanted], place: ObjectPath) -> None:
        """Each to the folder it came from, under the name it had."""
        self._start(partial(self._take_back, profile, moved, place), text("Undoing the move…"))

    async def _take_back(self, profile: str, moved: Sequence[_Wanted], place: ObjectPath) -> None:
        origins: dict[ObjectPath, list[_Wanted]] = {}
        for entry in moved:
            back = _Wanted(place.join(entry.name), _name(entry.path))
            origins.setdefault(entry.path.parent, []).append(back)
        for origin, wanted in origins.items():
            if taken := await self._mover.taken(profile, origin, [entry.name for entry in wanted]):
                raise Conflict(
                    text("“{name}” already exists.", name=min(taken).rstrip("/")),
                    text("Nothing was moved back. Rename or move the existing item, then move the objects manually."),
                )
        for origin, wanted in origins.items():
            await self._carry_out(profile, wanted, origin, is_cut=True)
        self.news.emit(News(text("The move was undone."), None, topic_of(profile, moved[0].path)))

    async def _carry_out(
        self,
        profile: str,
        wanted: Sequence[_Wanted],
        target: ObjectPath,
        *,
        is_cut: bool,
    ) -> None:
        ordered = groupby(sorted(wanted, key=lambda entry: entry.path), key=lambda entry: entry.path.bucket)
        orders = [
            relocation_of(profile, [(entry.path, entry.name) for entry in same], target, keeps_source=not is_cut)
            for _, same in ordered
        ]
        numbers = [await self._mover.begin(order) for order in orders]
        try:
            trouble = await finished(self._mover, numbers)
        finally:
            for folder in {target, *(entry.path.parent for entry in wanted if is_cut)}:
                self.touched.emit(folder)
            for entry in wanted:
                if entry.path.is_folder:
                    self.arrived.emit(target.join(entry.name))
        if trouble is not None:
            raise trouble


def check_name(name: str, path: ObjectPath) -> None:
    """Raises where no object or folder should be called so."""
    trouble = None
    if not name or name.strip(".") == "" or name.strip() != name:
        trouble = text("“{name}” cannot be a name.", name=name)
    elif "/" in name or "\\" in name or not name.isprintable():
        trouble = text("“{name}” contains a slash or a character that cannot be shown.", name=ascii(name)[1:-1])
    elif len((path.parent.key + name).encode()) >= MAX_KEY_BYTES:
        trouble = text("This name is too long: with its folders it has more than 1,024 bytes.")
    if trouble is not None:
        raise InvalidInput(trouble, text("Enter another name."))


def numbered(name: str, number: int) -> str:
    """`a (2).txt`, `folder (2)/`: beside what has the name already."""
    if name.endswith("/"):
        return f"{name[:-1]} ({number})/"
    stem, dot, ending = name.rpartition(".")
    return f"{stem} ({number}).{ending}" if dot and stem else f"{name} ({number})"


def _name(path: ObjectPath) -> str:
    return path.key[len(path.parent.key) :]


def _later(wanted: Sequence[_Wanted], twice: set[str]) -> list[_Wanted]:
    """All but the first of each name: two cannot have it."""
    seen: set[str] = set()
    later = []
    for entry in wanted:
        if entry.name in twice and entry.name in seen:
            later.append(entry)
        seen.add(entry.name)
    return later
