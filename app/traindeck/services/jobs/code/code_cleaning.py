"""Code in OBS that no run needs: contents that no folder refers to, and folders of runs that never became jobs.

What a job runs is a copy in a folder of its own, and a submission sends again what it misses: to remove a content
too many costs bytes and never a run, and another computer may send one meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import Conflict, NotFound
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.storage.objects import ObjectPath, ObjectRow
from traindeck.domain.texts import count_text, text
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import few_at_once
from traindeck.services.accounts.connections import Connections
from traindeck.services.jobs.code.code_blobs import SHA256
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.code.code_manifests import bundle_in
from traindeck.services.jobs.code.code_upload import MANIFEST, CodePlaces, place_of_blobs, rows_in
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.wire.data_plane import DataPlane

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

USUAL_AGE = timedelta(days=7)
_AT_ONCE = 16
_MOST_MANIFEST_BYTES = 64_000_000
_CODE = "traindeck/code/"


@dataclass(frozen=True, slots=True)
class AbandonedFolder:
    """The code folder of a run that never became a job."""

    run_id: str
    run_name: str
    rows: tuple[ObjectRow, ...]


@dataclass(frozen=True, slots=True)
class UnusedCode:
    """What was found in one place."""

    places: CodePlaces
    unused: tuple[ObjectRow, ...] = ()
    kept: tuple[ObjectRow, ...] = ()
    young: tuple[ObjectRow, ...] = ()
    """What no run refers to, and may be on its way into one."""
    unread: tuple[str, ...] = ()
    """Runs without a manifest that could be read: what is in their folders counts as used."""
    folders: tuple[AbandonedFolder, ...] = ()
    young_folders: tuple[AbandonedFolder, ...] = ()
    """Folders that are kept because something in them is too new; what is in them counts as used."""

    @property
    def removable(self) -> tuple[ObjectRow, ...]:
        """Every object that would go."""
        return (*self.unused, *(row for folder in self.folders for row in folder.rows))

    @property
    def folder_files(self) -> int:
        return len(self.removable) - len(self.unused)

    @property
    def place(self) -> ObjectPath:
        return self.places.blobs


@dataclass(slots=True)
class _Used:
    contents: set[str] = field(default_factory=set)
    files: set[tuple[str, int]] = field(default_factory=set)
    """ETag and size, where nobody says which contents these are."""
    unread: list[str] = field(default_factory=list)
    folders: list[AbandonedFolder] = field(default_factory=list)
    young_folders: list[AbandonedFolder] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class CodeCleaning:
    """Looks first, then removes what was seen. Nothing here runs by itself."""

    records: RunStore
    connections: Connections
    planes: Planes
    bundles: CodeBundles
    alone: Callable[[str], AbstractAsyncContextManager[bool]]
    """Whether this program alone may act on the submission of a run."""
    clock: Clock = utc_now

    async def places(self, profile: str) -> list[CodePlaces]:
        """Where the runs of this account put their code, as far as they are known here."""
        found: dict[ObjectPath, CodePlaces] = {}
        for run in await self.records.all():
            if run.profile == profile and f"{_CODE}{run.name}/" in run.code_url:
                places = CodePlaces(ObjectPath.parse(run.code_url).as_folder())
                found.setdefault(places.blobs, places)
        return list(found.values())

    async def look(self, profile: str, places: CodePlaces, older_than: timedelta = USUAL_AGE) -> UnusedCode:
        """Raises NotFound where the bucket is not there."""
        since = self.clock() - older_than
        without_job = await self._without_job(profile, places)
        return await self.planes.run(profile, partial(_look, places, since, without_job))

    async def _without_job(self, profile: str, places: CodePlaces) -> dict[str, str]:
        """The names and ids of the runs that certainly never became jobs, and whose folders no other run uses."""
        runs = await self.records.all()
        late = {run.id for run in await self.records.late()}
        used = {run.spec.code_url for run in runs} | {run.code_url for run in runs if not _is_without_job(run)}
        found = {}
        for run in runs:
            own = f"{places.of_all_runs}{run.name}/"
            if run.profile != profile or run.id in late or not _is_without_job(run) or not run.code_url.startswith(own):
                continue
            if not any(url.startswith(own) for url in used):
                found[run.name] = run.id
        return found

    async def remove(self, profile: str, found: UnusedCode) -> tuple[ObjectRow, ...]:
        """Return what was removed; raise Conflict where the service kept some of it.

        Nothing goes of a run that is being submitted, or that got its job since it was looked at.
        """
        removed = list(found.unused)
        left = await self._remove_rows(profile, found, found.unused)
        for folder in found.folders:
            async with self.alone(folder.run_id) as mine:
                run = await self.records.get(folder.run_id)
                if mine and run is not None and _is_without_job(run):
                    left += await self._remove_rows(profile, found, folder.rows)
                    removed += folder.rows
        await self.bundles.forget_sent(place_of_blobs(self.connections.profile(profile), found.places))
        if left:
            raise Conflict(
                count_text("{count} code file was not deleted.", "{count} code files were not deleted.", len(left)),
                text("{place}: {reason} Try again.", place=left[0].key, reason=left[0].message),
            )
        return tuple(removed)

    async def _remove_rows(self, profile: str, found: UnusedCode, rows: Sequence[ObjectRow]) -> list[Any]:
        keys = [row.key for row in rows]
        return list(await self.planes.run(profile, lambda plane: plane.remove(found.place.bucket, keys)))


def _is_without_job(run: Run) -> bool:
    return run.state is RunState.NOT_SENT and not run.job_id


async def _look(places: CodePlaces, since: datetime, without_job: Mapping[str, str], plane: DataPlane) -> UnusedCode:
    # In this order: what is sent meanwhile is not among what is looked at.
    contents = [row for row in await rows_in(plane, places.blobs) if _is_content(row, places.blobs)]
    used = await _used(plane, places, since, without_job)
    unused, kept, young = list[ObjectRow](), list[ObjectRow](), list[ObjectRow]()
    for row in contents:
        if row.key[-64:] in used.contents or (row.etag, row.size_bytes) in used.files:
            kept.append(row)
        else:
            (unused if _is_older(row, since) else young).append(row)
    return UnusedCode(
        places, tuple(unused), tuple(kept), tuple(young), tuple(used.unread), tuple(used.folders),
        tuple(used.young_folders),
    )  # fmt: skip


def _is_older(row: ObjectRow, since: datetime) -> bool:
    return row.modified is not None and row.modified < since


def _is_content(row: ObjectRow, blobs: ObjectPath) -> bool:
    """Anything else that somebody put there is his."""
    name = row.key.removeprefix(blobs.key)
    return bool(SHA256.fullmatch(name[3:])) and name[:3] == f"{name[3:5]}/"


async def _used(plane: DataPlane, places: CodePlaces, since: datetime, without_job: Mapping[str, str]) -> _Used:
    folder = places.of_all_runs
    of_run: dict[str, list[ObjectRow]] = {}
    for row in await rows_in(plane, folder):
        of_run.setdefault(row.key.removeprefix(folder.key).partition("/")[0], []).append(row)
    used = _Used()
    for run in sorted(of_run.keys() & without_job.keys()):
        abandoned = AbandonedFolder(without_job[run], run, tuple(of_run[run]))
        if all(_is_older(row, since) for row in abandoned.rows):
            used.folders.append(abandoned)
            del of_run[run]
        else:
            used.young_folders.append(abandoned)

    async def read(run: str, rows: Sequence[ObjectRow]) -> None:
        contents = await _contents_of(plane, folder.join(f"{run}/{MANIFEST}"), rows)
        if contents is not None:
            used.contents |= contents
        else:
            used.unread.append(run)
            used.files |= {(row.etag, row.size_bytes) for row in rows}

    async with few_at_once(_AT_ONCE) as start:
        for run, rows in of_run.items():
            await start(partial(read, run, rows))
    used.unread.sort()
    return used


async def _contents_of(plane: DataPlane, manifest: ObjectPath, rows: Sequence[ObjectRow]) -> set[str] | None:
    """Of one run; None: it is on its way, or its manifest says nothing that we understand."""
    row = next((row for row in rows if row.key == manifest.key), None)
    if row is None or row.size_bytes > _MOST_MANIFEST_BYTES:
        return None
    content = bytearray()

    def take(piece: bytes) -> None:
        content.extend(piece)

    try:
        await plane.get(manifest, take, if_match=row.etag, listed_bytes=row.size_bytes)
        bundle = await asyncio.to_thread(bundle_in, "", bytes(content))
    except (NotFound, Conflict, ValueError, KeyError, TypeError, RecursionError):
        return None
    return {file.sha256 for file in bundle.files}
