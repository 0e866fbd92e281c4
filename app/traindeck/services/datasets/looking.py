"""Looks through a dataset: its names at once, its contents as far as was asked for and no further than is good."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from hashlib import blake2b
from pathlib import Path

from traindeck.domain.datasets.choice import ClassShare, SampleShare
from traindeck.domain.datasets.layouts import is_mindrecord_name
from traindeck.domain.datasets.report import (
    MOST_LISTED,
    Contents,
    DatasetReport,
    DatasetTally,
    Extent,
    FileTrouble,
    Groups,
    folded,
    groups_of,
    is_text_name,
    sign_of,
    troubles_cut,
)
from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.previews import is_picture_name
from traindeck.domain.texts import Text, text
from traindeck.domain.transfers.records import is_plain_md5
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.datasets.mini_plan import (
    MiniOptions,
    MiniPlan,
    MiniPlanner,
    is_index_candidate,
    is_record_name,
)
from traindeck.services.datasets.picture_checks import NoChecks, PictureChecks
from traindeck.services.datasets.places import BucketPlace, DatasetPlace, LocalPlace
from traindeck.services.datasets.record_counts import mindrecord_count, record_count
from traindeck.services.previews.pictures import MOST_BYTES
from traindeck.services.previews.texts import encoding_of
from traindeck.services.transfers.local_tree import LocalEntry

_HEAD = 64 * 1024
_MOST_HASHED = 64 << 20
_MOST_READ = 4 << 30
_MOST_RECORD_FILES = 1000
_LOCAL_AT_ONCE, _REMOTE_AT_ONCE = 3, 16
_MOST_GATHERED = 100_000


class Stage(Enum):
    """What is being done."""

    NAMES = "names"
    CLASSES = "classes"
    CONTENTS = "contents"


OnLookStage = Callable[[Stage, int, int], object]
"""How far it is, and of how many where that is known (0: it is not)."""


@dataclass(slots=True)
class _Findings:
    """What comes of the contents, one file after the other."""

    by_sign: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    hashed: int = 0
    unhashed: int = 0
    pictures: int = 0
    broken: list[FileTrouble] = field(default_factory=list)
    unchecked_why: Text | None = None
    texts: int = 0
    encodings: Counter[str] = field(default_factory=Counter)
    others: list[FileTrouble] = field(default_factory=list)
    unreadable: list[FileTrouble] = field(default_factory=list)
    read_bytes: int = 0
    done: int = 0


class DatasetLook:
    """One look at one place; `stop` ends it with what is known by then."""

    def __init__(
        self, place: DatasetPlace, disk: BlockingCalls, checks: PictureChecks, at: OnLookStage, *, contents: bool
    ) -> None:
        self._place = place
        self._disk = disk
        self._checks = checks
        self._at = at
        self._wants_contents = contents
        self._tally = DatasetTally()
        self._records: list[tuple[str, int]] = []
        self._candidates = 0
        self._is_stopped = False

    def stop(self) -> None:
        self._is_stopped = True

    async def report(self, shown: str) -> DatasetReport:
        async with self._checks:
            return await self._reported(shown)

    async def _reported(self, shown: str) -> DatasetReport:
        left = await self._place.each(self._take)
        if not self._tally.total.files:
            # Where nothing else is there, what could not be read is what is wrong.
            gap = next((entry.problem for entry in left if entry.is_gap), None)
            raise gap or NotFound(text("The folder contains no files."), text("Specify the folder of a dataset."))
        report = await self._by_names(shown, left)
        if self._wants_contents and not self._is_stopped:
            report = await self._with_classes(report)
            report = await self._with_contents(report)
        elif isinstance(self._place, BucketPlace):
            report = await self._with_etags(report)
        return replace(report, is_stopped=self._is_stopped)

    # What names tell

    def _take(self, name: str, size_bytes: int, etag: str) -> None:
        self._tally.see(name, size_bytes, etag if is_plain_md5(etag) else "")
        if is_record_name(name) or is_mindrecord_name(name):
            self._records.append((name, size_bytes))
        self._candidates += is_index_candidate(name)
        self._at(Stage.NAMES, self._tally.total.files, 0)

    async def _by_names(self, shown: str, left: Sequence[LocalEntry]) -> DatasetReport:
        tally = self._tally
        troubles = [FileTrouble(entry.name, entry.problem.title) for entry in left if entry.problem is not None]
        layouts = await self._disk.run(lambda _: tally.sketch.layouts())
        return DatasetReport(
            place=shown,
            total=tally.total,
            kinds=tally.kinds_by_count,
            classes=await self._disk.run(lambda _: tally.classes),
            layouts=tuple(layouts),
            splits=tally.splits,
            indexes=(),
            notes=(),
            empty=tally.empty,
            clashes=await self._clashes(),
            left=troubles_cut(troubles),
            left_count=len(troubles),
        )

    async def _clashes(self) -> Groups:
        tally = self._tally
        repeated = await self._disk.run(lambda _: tally.folds.repeated())
        by_sign = await self._named(repeated, lambda name, _size, _etag: sign_of(folded(name)))
        extent = Extent(tally.total.files, tally.total.files)
        found = await self._disk.run(lambda _: groups_of(by_sign, extent))
        folders = tally.folder_clashes
        return replace(
            found,
            count=found.count + len(folders),
            files=found.files,
            first=(*folders[:MOST_LISTED], *found.first)[:MOST_LISTED],
        )

    async def _with_etags(self, report: DatasetReport) -> DatasetReport:
        """Objects tell their MD5 in the listing, but for those that were sent in parts."""
        tally = self._tally

        def sign(_: str, size_bytes: int, etag: str) -> int:
            return sign_of(f"{size_bytes} {etag}") if is_plain_md5(etag) else -1

        repeated = await self._disk.run(lambda _: tally.contents.repeated())
        by_sign = await self._named(repeated, sign)
        extent = Extent(tally.with_etag, tally.total.files - tally.empty.count)
        groups = await self._disk.run(lambda _: groups_of(by_sign, extent))
        return replace(report, duplicates=groups)

    async def _named(
        self, repeated: set[int], sign: Callable[[str, int, str], int]
    ) -> dict[int, list[tuple[str, int]]]:
        """The names behind what came more than once: they are listed again, for none was kept."""
        found: dict[int, list[tuple[str, int]]] = {}
        count = 0

        def take(name: str, size_bytes: int, etag: str) -> None:
            nonlocal count
            one = sign(name, size_bytes, etag)
            if one in repeated and count < _MOST_GATHERED:
                count += 1
                found.setdefault(one, []).append((name, size_bytes))

        if repeated:
            await self._place.each(take)
        return found

    # What indexes and files of records tell

    async def _with_classes(self, report: DatasetReport) -> DatasetReport:
        records = await self._record_counts()
        if records:
            report = replace(report, contents=Contents(Extent(0, self._tally.pictures), records=records))
        if not self._candidates and not self._records:
            return report
        try:
            plan = await self._plan()
        except AppError as error:
            return replace(report, notes=(*report.notes, error.title))
        classes: dict[str, ClassShare] = plan.classes
        return replace(report, classes=classes, indexes=tuple(plan.indexes), notes=(*report.notes, *plan.notes))

    async def _plan(self) -> MiniPlan:
        options = MiniOptions(SampleShare(0), counts_only=True)
        return await MiniPlanner(
            self._place, self._disk, options, lambda count: self._at(Stage.CLASSES, count, self._tally.total.files)
        ).plan()

    async def _record_counts(self) -> tuple[tuple[str, int | None], ...]:
        found: list[tuple[str, int | None]] = []
        for name, size_bytes in sorted(self._records)[:_MOST_RECORD_FILES]:
            try:
                if is_mindrecord_name(name):
                    count = await self._mindrecords(name)
                else:
                    count = await self._place.with_file(name, partial(record_count, name, size_bytes))
            except AppError:
                count = None
            found.append((name, count))
        return tuple(found)

    async def _mindrecords(self, name: str) -> int | None:
        if not isinstance(self._place, LocalPlace):
            return None
        folder: Path = self._place.folder
        return await self._disk.run(lambda _: mindrecord_count(folder / name))

    # What contents tell

    async def _with_contents(self, report: DatasetReport) -> DatasetReport:
        files, findings = self._tally.looked_into, _Findings()
        sizes = Counter(size for _, size in files)
        waiting = iter(files)
        is_local = isinstance(self._place, LocalPlace)

        async def work() -> None:
            for name, size_bytes in waiting:
                if self._is_stopped or findings.read_bytes >= _MOST_READ:
                    return
                await self._look_into(name, size_bytes, findings, may_repeat=sizes[size_bytes] > 1)
                findings.done += 1
                self._at(Stage.CONTENTS, findings.done, len(files))

        await gather_or_raise([work() for _ in range(_LOCAL_AT_ONCE if is_local else _REMOTE_AT_ONCE)])
        there = self._tally.total.files - self._tally.empty.count
        # One that is alone with its size is no duplicate of any other, looked at or not, where all were drawn.
        looked_at = there if findings.done == there and not findings.unhashed else findings.hashed
        duplicates = groups_of(findings.by_sign, Extent(min(looked_at, there), there))
        return replace(report, duplicates=duplicates, contents=self._contents(report, findings))

    def _contents(self, report: DatasetReport, found: _Findings) -> Contents:
        empty_pictures = sum(is_picture_name(name) for name in self._tally.empty.first)
        pictures = max(self._tally.pictures - empty_pictures, found.pictures)
        return Contents(
            pictures=Extent(found.pictures, pictures),
            broken=troubles_cut(sorted(found.broken, key=lambda one: one.name)),
            broken_count=len(found.broken),
            unchecked_why=found.unchecked_why,
            texts=Extent(found.texts, max(self._tally.texts, found.texts)),
            encodings=tuple(found.encodings.most_common()),
            other_encodings=troubles_cut(sorted(found.others, key=lambda one: one.name)),
            other_count=len(found.others),
            unreadable_count=len(found.unreadable),
            unreadable=troubles_cut(sorted(found.unreadable, key=lambda one: one.name)),
            records=report.contents.records if report.contents else (),
        )

    async def _look_into(self, name: str, size_bytes: int, found: _Findings, *, may_repeat: bool) -> None:
        is_picture, is_text = is_picture_name(name) and size_bytes <= MOST_BYTES, is_text_name(name)
        is_hashed = may_repeat and size_bytes <= _MOST_HASHED
        if is_picture_name(name) and not is_picture:
            found.unchecked_why = text("Some are too large to be decoded.")
        try:
            if is_picture or is_hashed:
                content = await self._place.read(name, _MOST_HASHED)
            elif is_text:
                content = await self._place.head(name, _HEAD)
            else:
                content = b""
        except AppError as error:
            found.unreadable.append(FileTrouble(name, error.title))
            return
        found.read_bytes += len(content)
        if is_hashed:
            digest = await self._disk.run(lambda _: blake2b(content, digest_size=8).digest())
            found.by_sign.setdefault(int.from_bytes(digest, "big"), []).append((name, size_bytes))
        found.hashed += is_hashed or not may_repeat
        found.unhashed += may_repeat and not is_hashed
        if is_picture:
            await self._look_at_picture(name, content, found)
        if is_text:
            found.texts += 1
            self._look_at_text(name, content, size_bytes, found)

    async def _look_at_picture(self, name: str, content: bytes, found: _Findings) -> None:
        try:
            trouble = await self._checks.trouble(content)
        except NoChecks as error:
            found.unchecked_why = error.why
            return
        found.pictures += 1
        if trouble is not None:
            found.broken.append(FileTrouble(name, trouble))

    def _look_at_text(self, name: str, content: bytes, size_bytes: int, found: _Findings) -> None:
        head = content[:_HEAD]
        encoding = encoding_of(head, is_whole=len(head) == size_bytes)
        if encoding is None:
            found.others.append(FileTrouble(name, text("Not a text: there are bytes in it that no text has.")))
            return
        found.encodings[encoding.title] += 1
        if encoding.name != "utf-8":
            found.others.append(FileTrouble(name, text("{encoding}, not UTF-8", encoding=encoding.title)))
