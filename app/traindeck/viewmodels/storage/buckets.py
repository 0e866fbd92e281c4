"""A bucket to be made: its name is looked at while it is typed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.storage.buckets import (
    NOTHING,
    BucketContents,
    NewBucket,
    name_note,
    name_problem,
)
from traindeck.domain.storage.objects import count_words, size_words
from traindeck.domain.storage.policies import Template
from traindeck.domain.texts import Text, text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.ports import Access
from traindeck.viewmodels.ports import ConfirmLoss, Loss

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connections


@dataclass(frozen=True, slots=True)
class NewBucketState:
    wanted: NewBucket = field(default_factory=partial(NewBucket, ""))
    region: str = ""
    storage_classes: tuple[str, ...] = ()
    problem: Text | None = None
    note: Text | None = None
    trouble: AppError | None = None
    is_busy: bool = False

    @property
    def can_be_made(self) -> bool:
        return not self.is_busy and not self.problem and bool(self.wanted.name)


class NewBucketForm(QObject):
    """One attempt; `made` names the bucket that is there now."""

    changed = Signal()
    made = Signal(str)

    def __init__(self, profile: str, connections: Connections, scope: TaskScope) -> None:
        super().__init__()
        self._profile = profile
        self._connections = connections
        self._scope = scope
        self._task = f"new bucket {id(self)}"
        self.state = NewBucketState()

    def start(self) -> None:
        """Look up what can be chosen."""
        self._scope.start(f"{self._task} choices", self._look)

    def name(self, typed: str) -> None:
        wanted = replace(self.state.wanted, name=typed.strip())
        problem = name_problem(wanted.name) if wanted.name else None
        self._become(replace(self.state, wanted=wanted, problem=problem, note=name_note(wanted.name), trouble=None))

    def choose_class(self, name: str) -> None:
        self._become(replace(self.state, wanted=replace(self.state.wanted, storage_class=name)))

    def choose_template(self, template: Template) -> None:
        self._become(replace(self.state, wanted=replace(self.state.wanted, template=template)))

    def submit(self) -> None:
        if self.state.can_be_made:
            self._become(replace(self.state, is_busy=True, trouble=None))
            # The attempt before has said its last word, but may not be over.
            self._scope.start(self._task, self._make, Repeat.REPLACE)

    def stop(self) -> None:
        """Nobody waits for it any more."""
        self._scope.cancel(f"{self._task} choices")

    async def _look(self) -> None:
        try:
            access = (await self._connections.open(self._profile)).access
        except AppError as error:
            self._become(replace(self.state, trouble=error))
            return
        self._become(replace(self.state, region=access.region, storage_classes=access.storage_classes))

    async def _make(self) -> None:
        wanted = self.state.wanted
        try:
            await (await self._connections.open(self._profile)).access.create(wanted)
        except AppError as error:
            # Said in the dialog, where it can be put right.
            self._become(replace(self.state, trouble=error))
            return
        finally:
            self._become(replace(self.state, is_busy=False))
        self.made.emit(wanted.name)

    def _become(self, state: NewBucketState) -> None:
        self.state = state
        self.changed.emit()


# Somebody may still be writing into it; what came meanwhile was not meant to stay either.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Removal:
    """A bucket on its way out."""

    profile: str
    bucket: str
    is_counting: bool = True
    seen: BucketContents = NOTHING
    gone: BucketContents = NOTHING

    @property
    def sentence(self) -> Text:
        if self.is_counting:
            return text("Counting what is in “{bucket}”: {count} so far…", bucket=self.bucket, count=_number(self.seen))
        return text(
            "Emptying “{bucket}”: {done} of {all}…", bucket=self.bucket, done=_number(self.gone), all=_number(self.seen)
        )

    @property
    def share(self) -> float | None:
        """How much of it is done, from 0 to 1; None: nobody knows."""
        if self.is_counting or not self.seen.count:
            return None
        return min(1.0, self.gone.count / self.seen.count)


class BucketRemovals(QObject):
    """All that are under way, each by its name."""

    changed = Signal()
    removed = Signal(str, str)
    """A bucket of this profile is gone."""
    touched = Signal(str, str)
    """Something in it was deleted, and it is still there."""

    def __init__(self, connections: Connections, scope: TaskScope) -> None:
        super().__init__()
        self._connections = connections
        self._scope = scope
        self._running: dict[tuple[str, str], Removal] = {}

    @property
    def running(self) -> list[Removal]:
        return list(self._running.values())

    def remove(self, profile: str, buckets: Iterable[str], confirm: ConfirmLoss) -> None:
        for bucket in buckets:
            self._scope.start(_task(profile, bucket), partial(self._remove, profile, bucket, confirm))

    def stop(self, removal: Removal) -> None:
        """What is deleted already stays deleted."""
        self._scope.cancel(_task(removal.profile, removal.bucket))

    async def _remove(self, profile: str, bucket: str, confirm: ConfirmLoss) -> None:
        access = (await self._connections.open(profile)).access
        key = (profile, bucket)
        self._running[key] = Removal(profile, bucket)
        self.changed.emit()
        is_gone = False
        try:
            contents = await access.count(bucket, partial(self._seen, key))
            if not await confirm(_loss(bucket, contents)):
                return
            if not contents.is_empty:
                self._running[key] = replace(self._running[key], is_counting=False, seen=contents)
                self.changed.emit()
            await self._empty_and_remove(access, key, contents)
            is_gone = True
        finally:
            last = self._running.pop(key)
            self.changed.emit()
            if is_gone:
                self.removed.emit(profile, bucket)
            elif last.gone.count:
                self.touched.emit(profile, bucket)

    async def _empty_and_remove(self, access: Access, key: tuple[str, str], contents: BucketContents) -> None:
        """Only what the user has seen counted is emptied: an empty bucket that is none any more stays."""
        if contents.is_empty:
            await access.remove(key[1])
            return
        for _ in range(_ROUNDS - 1):
            await access.empty(key[1], partial(self._gone, key))
            try:
                await access.remove(key[1])
            except Conflict:
                continue
            return
        await access.empty(key[1], partial(self._gone, key))
        await access.remove(key[1])

    def _seen(self, key: tuple[str, str], so_far: BucketContents) -> None:
        self._running[key] = replace(self._running[key], seen=so_far)
        self.changed.emit()

    def _gone(self, key: tuple[str, str], so_far: BucketContents) -> None:
        self._running[key] = replace(self._running[key], gone=so_far)
        self.changed.emit()


def contents_words(contents: BucketContents) -> Text:
    """One line for each kind of what is in it."""
    lines: list[Text] = []
    size = size_words(contents.size_bytes)
    if contents.objects or contents.old_versions:
        lines.append(text("Objects: {count}", count=count_words(contents.objects)))
    if contents.old_versions:
        lines.append(text("Older versions of them: {count}", count=count_words(contents.old_versions)))
    if contents.markers:
        lines.append(text("Marks of deleted objects: {count}", count=count_words(contents.markers)))
    if contents.size_bytes:
        lines.append(text("Together {size}", size=size))
    if contents.fragments:
        lines.append(text("Unfinished uploads: {count}", count=count_words(contents.fragments)))
    joined = lines[0]
    for line in lines[1:]:
        joined = text("{some}\n{more}", some=joined, more=line)
    return joined


def _loss(bucket: str, contents: BucketContents) -> Loss:
    if contents.is_empty:
        hint = text("Its name stays blocked for about half an hour; then anybody can take it.")
        return Loss(text("Delete the empty bucket “{bucket}”?", bucket=bucket), (hint,), text("Delete"))
    return Loss(
        text("Delete the bucket “{bucket}” with everything in it?", bucket=bucket),
        (
            contents_words(contents),
            text("All of it is deleted for good, older versions as well: nothing can be brought back."),
        ),
        text("Empty and delete"),
        text("{bucket}", bucket=bucket),
    )


def _number(contents: BucketContents) -> str:
    return count_words(contents.count)


def _task(profile: str, bucket: str) -> str:
    return f"delete the bucket {profile} {bucket}"
