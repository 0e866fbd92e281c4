"""Copying, moving and renaming within an account: names that are taken are asked about, the rest is a transfer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import count, groupby

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError, Conflict, InvalidInput
from traindeck.domain.objects import MAX_KEY_BYTES, ObjectPath, outermost, size_words
from traindeck.domain.texts import text
from traindeck.domain.transfers import TransferState, relocation_of
from traindeck.runtime.tasks import TaskScope
from traindeck.services.transfers import Transfer
from traindeck.viewmodels.object_clipboard import Carried
from traindeck.viewmodels.ports import Confirm, Relocator


class Taken(Enum):
    """What becomes of those whose names are taken."""

    REPLACE = "replace"
    KEEP_BOTH = "both"
    SKIP = "skip"


AskTaken = Callable[[ObjectPath, Sequence[str]], Awaitable[Taken | None]]
"""Asks once for all of the names in a folder; None: nothing at all is to be done."""


@dataclass(frozen=True, slots=True)
class _Wish:
    """An object or folder, and the name it is to have."""

    path: ObjectPath
    name: str


class Moving(QObject):
    """Every copy and move that a window begins."""

    touched = Signal(object)
    """What is in this folder is other than it was."""
    arrived = Signal(object)
    """This folder came with all that is below it."""

    def __init__(self, mover: Relocator, scope: TaskScope) -> None:
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
        confirm: Confirm | None = None,
        done: Callable[[], None] | None = None,
    ) -> None:
        """Bring what is carried into a folder; `confirm` is asked before whole folders are moved."""
        self._start(partial(self._put, carried, profile, target.as_folder(), ask, confirm, done))

    def rename(self, profile: str, path: ObjectPath, name: str) -> None:
        self._start(partial(self._rename, profile, path, name))

    def _start(self, work: Callable[[], Awaitable[None]]) -> None:
        self._scope.start(f"move #{next(self._numbers)}", work)

    async def _put(
        self,
        carried: Carried,
        profile: str,
        target: ObjectPath,
        ask: AskTaken,
        confirm: Confirm | None,
        done: Callable[[], None] | None,
    ) -> None:
        if carried.profile != profile:
            raise InvalidInput(
                text("These objects are of another account: “{profile}”.", profile=carried.profile),
                text("No service copies between two accounts. Download them, then upload them here."),
            )
        paths = [path for path in outermost(carried.paths) if not path.is_bucket]
        if carried.is_cut:
            paths = [path for path in paths if path.parent != target]
        for path in paths:
            if path.holds(target):
                raise InvalidInput(
                    text("“{target}” is inside “{source}”.", target=str(target), source=str(path)),
                    text("Choose a place outside of it."),
                )
        wishes = await self._agreed(profile, target, [_Wish(path, _name(path)) for path in paths], ask)
        if wishes:
            await self._carry_out(profile, wishes, target, is_cut=carried.is_cut, confirm=confirm)
        if done is not None:
            done()

    async def _agreed(
        self, profile: str, target: ObjectPath, wishes: list[_Wish], ask: AskTaken
    ) -> list[_Wish]:
        """With names that are free, or may be written over."""
        taken = await self._mover.taken(profile, target, [wish.name for wish in wishes])
        twice = _repeated([wish.name for wish in wishes])
        beside = [wish for wish in wishes if wish.path.parent == target]  # a copy beside itself has another name
        meant = [wish for wish in wishes if wish.path.parent != target and wish.name in taken | twice]
        answer: Taken | None = Taken.KEEP_BOTH
        if meant:
            answer = await ask(target, sorted({wish.name for wish in meant}))
        if answer is None:
            return []
        if answer is Taken.SKIP:
            skipped = {wish for wish in meant if wish.name in taken}
            wishes = [wish for wish in wishes if wish not in skipped]
        renamed = [*beside, *(meant if answer is Taken.KEEP_BOTH else _later(meant, twice))]
        numbered_ones = set(renamed)
        kept = [wish for wish in wishes if wish not in numbered_ones]
        renamed = [wish for wish in wishes if wish in numbered_ones]
        return [*kept, *await self._with_free_names(profile, target, renamed, {one.name for one in kept} | taken)]

    async def _with_free_names(
        self, profile: str, target: ObjectPath, wishes: Sequence[_Wish], used: set[str]
    ) -> list[_Wish]:
        used, found, left, number = set(used), list[_Wish](), list(wishes), 1
        while left:
            number += 1
            offered = {wish: numbered(_name(wish.path), number) for wish in left}
            used |= await self._mover.taken(profile, target, sorted(set(offered.values())))
            left = []
            for wish, name in offered.items():
                if name in used:
                    left.append(wish)
                else:
                    used.add(name)
                    found.append(_Wish(wish.path, name))
        return found

    async def _rename(self, profile: str, path: ObjectPath, name: str) -> None:
        check_name(name, path)
        wish = _Wish(path, name + ("/" if path.is_folder else ""))
        if wish.name == _name(path):
            return
        if await self._mover.taken(profile, path.parent, [wish.name]):
            raise Conflict(
                text("There is something called “{name}” already.", name=name),
                text("Choose another name, or move that away first."),
            )
        await self._carry_out(profile, [wish], path.parent, is_cut=True)

    async def _carry_out(
        self,
        profile: str,
        wishes: Sequence[_Wish],
        target: ObjectPath,
        *,
        is_cut: bool,
        confirm: Confirm | None = None,
    ) -> None:
        orders = [
            relocation_of(profile, [(wish.path, wish.name) for wish in same], target, keeps_source=not is_cut)
            for same in _by_bucket(wishes)
        ]
        numbers: list[int] = []
        if confirm is not None and is_cut and any(wish.path.is_folder for wish in wishes):
            planned = [await self._mover.planned(order, is_preview=True) for order in orders]
            if not await self._is_meant(planned, target, confirm):
                return
            numbers = [row.id for row in planned]
        else:
            numbers = [await self._mover.begin(order) for order in orders]
        troubles: list[AppError] = []
        try:
            for number in numbers:
                try:
                    await self._mover.finished(number)
                except AppError as error:
                    troubles.append(error)
        finally:
            for folder in {target, *(wish.path.parent for wish in wishes if is_cut)}:
                self.touched.emit(folder)
            for wish in wishes:
                if wish.path.is_folder:
                    self.arrived.emit(target.join(wish.name))
        if troubles:
            raise troubles[0]

    async def _is_meant(self, planned: Sequence[Transfer], target: ObjectPath, confirm: Confirm) -> bool:
        is_meant = False
        try:
            if all(row.state is TransferState.READY for row in planned):
                files = sum(row.files for row in planned)
                size = size_words(sum(row.total_bytes or 0 for row in planned))
                place = str(target)
                question = text("Move {count} objects ({size}) to {target}?", count=files, size=size, target=place)
                is_meant = await confirm(question, text("Move"))
        finally:
            for row in planned:
                if is_meant:
                    self._mover.say_yes(row.id)
                else:
                    await asyncio.shield(self._mover.drop(row.id))
        return is_meant


def check_name(name: str, path: ObjectPath) -> None:
    """Raises where no object or folder should be called so."""
    trouble = None
    if not name or name.strip(".") == "" or name.strip() != name:
        trouble = text("“{name}” cannot be a name.", name=name)
    elif "/" in name or "\\" in name or not name.isprintable():
        trouble = text("“{name}” holds a slash or a character that cannot be shown.", name=ascii(name)[1:-1])
    elif len((path.parent.key + name).encode()) >= MAX_KEY_BYTES:
        trouble = text("This name is too long: with its folders it has more than 1,024 bytes.")
    if trouble is not None:
        raise InvalidInput(trouble, text("Choose another name."))


def numbered(name: str, number: int) -> str:
    """`a (2).txt`, `folder (2)/`: beside what has the name already."""
    if name.endswith("/"):
        return f"{name[:-1]} ({number})/"
    stem, dot, ending = name.rpartition(".")
    return f"{stem} ({number}).{ending}" if dot and stem else f"{name} ({number})"


def _name(path: ObjectPath) -> str:
    return path.key[len(path.parent.key) :]


def _repeated(names: Sequence[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}


def _later(wishes: Sequence[_Wish], twice: set[str]) -> list[_Wish]:
    """All but the first of each name: two cannot have it."""
    seen: set[str] = set()
    later = []
    for wish in wishes:
        if wish.name in twice and wish.name in seen:
            later.append(wish)
        seen.add(wish.name)
    return later


def _by_bucket(wishes: Sequence[_Wish]) -> list[list[_Wish]]:
    ordered = sorted(wishes, key=lambda wish: wish.path)
    return [list(same) for _, same in groupby(ordered, key=lambda wish: wish.path.bucket)]
