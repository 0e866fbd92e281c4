"""Whole buckets: made, while the name is looked at as it is typed, set, and removed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.storage.bucket_settings import LifecycleRule, TagLimits, lifecycle_line
from traindeck.domain.storage.buckets import (
    NOTHING,
    BucketContents,
    Ended,
    Held,
    NewBucket,
    UnfinishedUpload,
    name_note,
    name_problem,
)
from traindeck.domain.storage.objects import ObjectPath, count_words, size_words
from traindeck.domain.storage.policies import Template
from traindeck.domain.texts import Text, count_text, say, text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.ports import ConfirmLoss, Loss, Stateful

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connections
    from traindeck.services.storage.sdk.access import ObsAccess
    from traindeck.services.storage.sdk.settings import ObsSettings
    from traindeck.services.storage.unfinished_uploads import UnfinishedUploads


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


class NewBucketForm(Stateful):
    """One attempt; `made` names the bucket that is there now."""

    made = Signal(str)

    def __init__(self, profile: str, connections: Connections, scope: TaskScope) -> None:
        super().__init__()
        self._profile = profile
        self._connections = connections
        self._scope = scope
        self._task = f"new bucket {id(self)}"
        self.state: NewBucketState = NewBucketState()

    def start(self) -> None:
        """Look up what can be chosen."""
        self._scope.start(f"{self._task} choices", self._look)

    def name(self, typed: str) -> None:
        wanted = replace(self.state.wanted, name=typed.strip())
        problem = name_problem(wanted.name) if wanted.name else None
        self._become(wanted=wanted, problem=problem, note=name_note(wanted.name), trouble=None)

    def choose_class(self, name: str) -> None:
        self._become(wanted=replace(self.state.wanted, storage_class=name))

    def choose_template(self, template: Template) -> None:
        self._become(wanted=replace(self.state.wanted, template=template))

    def submit(self) -> None:
        if self.state.can_be_made:
            self._become(is_busy=True, trouble=None)
            # The attempt before has said its last word, but may not be over.
            self._scope.start(self._task, self._make, Repeat.REPLACE)

    def stop(self) -> None:
        """Nobody waits for it any more."""
        self._scope.cancel(f"{self._task} choices")

    async def _look(self) -> None:
        try:
            access = (await self._connections.open(self._profile)).access
        except AppError as error:
            self._become(trouble=error)
            return
        self._become(region=access.region, storage_classes=access.storage_classes)

    async def _make(self) -> None:
        wanted = self.state.wanted
        try:
            await (await self._connections.open(self._profile)).access.create(wanted)
        except AppError as error:
            # Said in the dialog, where it can be put right.
            self._become(trouble=error)
            return
        finally:
            self._become(is_busy=False)
        self.made.emit(wanted.name)


# Somebody may still be writing into it; what came meanwhile was not meant to stay either.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Removal:
    """A bucket on its way out."""

    profile: str
    bucket: str
    is_counting: bool = True
    is_asked: bool = False
    """Counted, and it waits for the user: nothing goes on."""
    seen: BucketContents = NOTHING
    gone: BucketContents = NOTHING

    @property
    def sentence(self) -> Text:
        if self.is_counting:
            return count_text(
                "Counting the contents of “{bucket}”: {count} object so far…",
                "Counting the contents of “{bucket}”: {count} objects so far…",
                self.seen.count,
                bucket=self.bucket,
            )
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
    touched = Signal(str, object)
    """Something in this place was deleted, and the bucket is still there."""

    def __init__(self, connections: Connections, scope: TaskScope) -> None:
        super().__init__()
        self._connections = connections
        self._scope = scope
        self._running: dict[tuple[str, str], Removal] = {}

    @property
    def running(self) -> list[Removal]:
        return [one for one in self._running.values() if not one.is_asked]

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
            contents = await access.count(bucket, lambda so_far: self._tell(key, seen=so_far))
            self._tell(key, is_asked=True)
            if not await confirm(_loss(bucket, contents)):
                return
            self._tell(key, is_asked=False, is_counting=contents.is_empty, seen=contents)
            await self._empty_and_remove(access, key, contents)
            is_gone = True
        finally:
            last = self._running.pop(key)
            self.changed.emit()
            if is_gone:
                self.removed.emit(profile, bucket)
            elif last.gone.count:
                self.touched.emit(profile, ObjectPath(bucket))

    async def _empty_and_remove(self, access: ObsAccess, key: tuple[str, str], contents: BucketContents) -> None:
        """Only what the user has seen counted is emptied: an empty bucket that is none any more stays."""
        if contents.is_empty:
            await access.remove(key[1])
            return

        def tell(so_far: BucketContents) -> None:
            self._tell(key, gone=so_far)

        for left in reversed(range(_ROUNDS)):
            await access.empty(key[1], tell)
            try:
                await access.remove(key[1])
            except Conflict:
                if not left:
                    raise
            else:
                return

    def _tell(self, key: tuple[str, str], **changes: Any) -> None:
        self._running[key] = replace(self._running[key], **changes)
        self.changed.emit()


def contents_words(contents: BucketContents) -> Text:
    """One line for each kind of what is in it."""
    lines: list[Text] = []
    size = size_words(contents.size_bytes)
    if contents.objects or contents.old_versions:
        lines.append(text("Objects: {count}", count=count_words(contents.objects)))
    if contents.old_versions:
        lines.append(text("Previous versions: {count}", count=count_words(contents.old_versions)))
    if contents.markers:
        lines.append(text("Delete markers: {count}", count=count_words(contents.markers)))
    if contents.size_bytes:
        lines.append(text("Total {size}", size=size))
    if contents.fragments:
        lines.append(text("Fragments: {count}", count=count_words(contents.fragments)))
    return reduce(lambda some, more: text("{some}\n{more}", some=some, more=more), lines)


def _loss(bucket: str, contents: BucketContents) -> Loss:
    if contents.is_empty:
        hint = text("Its name is reserved for about half an hour. Then anyone can use it.")
        return Loss(text("Delete the empty bucket “{bucket}”?", bucket=bucket), (hint,), text("Delete"))
    question = text("Delete the bucket “{bucket}” with everything in it?", bucket=bucket)
    final = text("Everything is deleted permanently, including previous versions. This cannot be undone.")
    action, typed = text("Empty and delete"), text("{bucket}", bucket=bucket)
    return Loss(question, (contents_words(contents), final), action, typed)


def _number(contents: BucketContents) -> str:
    return count_words(contents.count)


def _task(profile: str, bucket: str) -> str:
    return f"delete the bucket {profile} {bucket}"


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Matching:
    """What a rule is about now: counted as far as one page of a listing goes."""

    objects: int
    size_bytes: int
    old_enough: int
    is_all: bool


@dataclass(frozen=True, slots=True)
class BucketService:
    """One bucket of one account; every method raises AppError."""

    profile: str
    bucket: str
    accounts: Connections
    unfinished: UnfinishedUploads

    async def ask(self, what: Callable[[ObsSettings, str], Awaitable[Result]]) -> Result:
        """Of the settings of this bucket."""
        return await what((await self.accounts.open(self.profile)).settings, self.bucket)

    async def tag_limits(self) -> TagLimits:
        return (await self.accounts.open(self.profile)).settings.tag_limits

    async def matching(self, rule: LifecycleRule) -> Matching:
        """What the rule would delete as things are; one request, whatever the size of the bucket."""
        storage = (await self.accounts.open(self.profile)).storage
        page = await storage.page(self.bucket, rule.prefix)
        old = [row for row in page.rows if row.modified is not None and _is_due(rule, row.modified)]
        return Matching(len(page.rows), sum(row.size_bytes for row in page.rows), len(old), is_all=not page.next_marker)

    async def each_unfinished(self, take: Callable[[list[UnfinishedUpload]], None]) -> None:
        await self.unfinished.each(self.profile, ObjectPath(self.bucket), take)

    async def measure(self, uploads: Sequence[UnfinishedUpload], take: Callable[[list[Held]], None]) -> None:
        await self.unfinished.measure(self.profile, uploads, take)

    async def end(self, uploads: Sequence[UnfinishedUpload], on_progress: Callable[[int], None]) -> Ended:
        return await self.unfinished.end(self.profile, uploads, on_progress)


def _is_due(rule: LifecycleRule, modified: datetime) -> bool:
    now = datetime.now(UTC)
    if rule.expire_days is not None:
        return now - modified >= timedelta(days=rule.expire_days)
    return rule.expire_date is not None and now.date() >= rule.expire_date


def deleting_words(rule: LifecycleRule, now: Matching | None) -> str:
    """What a rule will delete; `now` is what it is about at present, as far as that is known."""
    line = lifecycle_line(rule)
    if now is None:
        return line
    counts = {"rule": line, "objects": count_words(now.objects), "old": count_words(now.old_enough)}
    if not now.is_all:
        return say(
            "{rule}\nMore than {objects} objects now; already expired among the first {objects}: {old}.",
            **counts,
        )
    return say(
        "{rule}\nObjects now: {objects} ({size}), already expired: {old}.",
        **counts,
        size=size_words(now.size_bytes),
    )
