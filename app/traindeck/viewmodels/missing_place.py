"""A place that was typed and is not there: what it is most like, and what it takes to make it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from traindeck.domain.errors import NotFound
from traindeck.domain.objects import ObjectPath
from traindeck.services.ports import ObjectStorage

_MOST_NAMES = 4
_MOST_PAGES = 5
_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class MissingPlace:
    """`alike` are places that are there; `folder` is what could be made."""

    path: ObjectPath
    alike: tuple[ObjectPath, ...] = ()
    has_bucket: bool = True

    @property
    def folder(self) -> ObjectPath:
        return self.path.as_folder() if self.has_bucket else ObjectPath(self.path.bucket)


async def missing_place(storage: ObjectStorage, path: ObjectPath) -> MissingPlace | None:
    """None: it is there. Raises AppError where that cannot be found out."""
    try:
        if not path.is_folder and await storage.info(path) is not None:
            return None
        if path.is_bucket or await _is_there(storage, path.as_folder()):
            await storage.page(path.bucket, most=1)
            return None
        return MissingPlace(path, await _beside(storage, path))
    except NotFound:
        buckets = [bucket.name for bucket in await storage.buckets()]
        if path.bucket in buckets:
            raise
        alike = [ObjectPath(name, path.as_folder().key if path.key else "") for name in nearest(path.bucket, buckets)]
        return MissingPlace(path, tuple(alike), has_bucket=False)


async def _is_there(storage: ObjectStorage, folder: ObjectPath) -> bool:
    page = await storage.page(folder.bucket, folder.key, most=1)
    return bool(page.rows or page.folders)


async def _beside(storage: ObjectStorage, path: ObjectPath) -> tuple[ObjectPath, ...]:
    """The first step of the way that leads nowhere, among those that would lead somewhere."""
    folder, wanted = path.parent, path.name
    while not folder.is_bucket and not await _is_there(storage, folder):
        folder, wanted = folder.parent, folder.name
    names: list[str] = []
    marker = ""
    for _ in range(_MOST_PAGES):
        page = await storage.page(folder.bucket, folder.key, delimiter="/", marker=marker)
        keys = [*page.folders, *(row.key for row in page.rows)]
        names += [key[len(folder.key) :] for key in keys if key != folder.key]
        marker = page.next_marker
        if not marker:
            break
    return tuple(folder.join(name) for name in nearest(wanted, names))


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """The names most like this one; the same but for its case comes first."""
    goal = wanted.rstrip("/").casefold()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(goal)
    found: list[tuple[float, str]] = []
    for name in names:
        matcher.set_seq1(name.rstrip("/").casefold())
        # The first two are cheap and never less than the third.
        if all(ratio() >= _ALIKE for ratio in (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)):
            found.append((-matcher.ratio(), name))
    return [name for _, name in sorted(found)[:_MOST_NAMES]]
