"""The code of a run at the service: each content once in the bucket, the run's own folder copied from there."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import Conflict, NoRight, NotFound, NotOffered, ServiceTrouble
from traindeck.domain.storage.objects import ObjectPath, ObjectRow
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.tasks import few_at_once
from traindeck.services.accounts.connections import Connection
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.code.code_manifests import Bundle, FrozenFile, manifest_of
from traindeck.services.jobs.home_mark import HOME_FIELD
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.page_count import PageCount
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.among import objects_among

MANIFEST = "manifest.json"
_AT_ONCE = 128
_TOLD_S = 0.1
"""How far it is, so often and at the end: with thousands of files a window would have no time for anything else."""
_ROOT = "traindeck/"

OnStage = Callable[[Text], None]


@dataclass(frozen=True, slots=True)
class CodePlaces:
    """Where the code of one run is, and what it is copied from."""

    folder: ObjectPath
    """What the job takes as its code."""

    @classmethod
    def of_run(cls, root: ObjectPath, run_name: str, folder_name: str) -> CodePlaces:
        """`root`: a bucket, or the folder in it that the keys are restricted to."""
        return cls(ObjectPath(root.bucket, f"{root.key}{_ROOT}code/{run_name}/{folder_name}/"))

    @property
    def of_this_run(self) -> ObjectPath:
        """The folder of nobody else, with the manifest beside the code."""
        return ObjectPath(self.folder.bucket, _above(self.folder.key))

    @property
    def manifest(self) -> ObjectPath:
        return self.of_this_run.join(MANIFEST)

    @property
    def of_all_runs(self) -> ObjectPath:
        """What holds the folders of all runs of this bucket."""
        return ObjectPath(self.folder.bucket, _above(self.of_this_run.key))

    @property
    def blobs(self) -> ObjectPath:
        """Shared by all runs of this bucket."""
        return ObjectPath(self.folder.bucket, f"{_above(self.of_all_runs.key)}blobs/")

    def blob(self, sha256: str) -> ObjectPath:
        return self.blobs.join(f"{sha256[:2]}/{sha256}")


def _above(key: str) -> str:
    return key.rstrip("/").rpartition("/")[0] + "/"


def place_of_blobs(account: Profile, places: CodePlaces) -> str:
    """The Lab has another address each time it starts."""
    return f"{'lab' if account.is_lab else account.obs_url} {places.blobs}"


async def send_code(
    planes: Planes,
    connection: Connection,
    bundles: CodeBundles,
    bundle: Bundle,
    folder: ObjectPath,
    mark: str,
    stage: OnStage,
) -> None:
    """When this returns, the folder holds what the manifest says, as the service itself tells.

    `mark`: by which this home knows the manifest as its own.
    """
    places = CodePlaces(folder)
    where = place_of_blobs(connection.profile, places)
    known = await bundles.sent_to(where)
    async with planes.line(connection) as plane:
        upload = _Upload(plane, bundles, bundle, places, mark, known, partial(planes.on_main, stage))
        await planes.on_loop(upload.send)
    await bundles.is_sent_to(where, bundle)


@dataclass(slots=True)
class _Upload:
    """Lives on the loop of the planes."""

    plane: DataPlane
    bundles: CodeBundles
    bundle: Bundle
    places: CodePlaces
    mark: str
    known: set[str]
    """Contents that are where all runs copy them from."""
    tell: Callable[[Text], None]
    may_copy: bool = True
    etags: dict[str, str] = field(default_factory=dict)
    """What the service must say of each file of the folder."""
    told_at: float = -math.inf

    async def send(self) -> None:
        await self._find_known()
        await self._share(self.bundle.files)
        missing = await self._copy(self.bundle.files)
        if missing and self.may_copy:
            # What we took for granted is gone, or somebody changed it: a bucket is shared.
            self.known -= {file.sha256 for file in missing}
            await self._share(missing)
            missing = await self._copy(missing)
        await self._each(missing, self._put_in_folder)
        metadata = {HOME_FIELD: self.mark} if self.mark else None
        await self.plane.put(self.places.manifest, BytesBody(manifest_of(self.bundle)), metadata=metadata)
        await self._prove()

    async def _find_known(self) -> None:
        """One look for all of which we do not know whether they are there."""
        files = {self.places.blob(file.sha256).key: file for file in self.bundle.files if file.sha256 not in self.known}
        if not files:
            return
        try:
            found = await objects_among(self.plane, self.places.folder.bucket, list(files))
        except NoRight:
            return  # whoever may only write sends it all
        self.known |= {files[key].sha256 for key, row in found.items() if _is(row, files[key], files[key].md5)}

    async def _share(self, files: Iterable[FrozenFile]) -> None:
        """Send what is new to where all runs copy it from, each content once."""
        new = {file.sha256: file for file in files if file.sha256 not in self.known}
        await self._each(new.values(), self._put_for_all)

    async def _put_for_all(self, file: FrozenFile) -> None:
        await self.plane.put(self.places.blob(file.sha256), await self.bundles.body(file))
        self.known.add(file.sha256)

    async def _put_in_folder(self, file: FrozenFile) -> None:
        stored = await self.plane.put(self.places.folder.join(file.path), await self.bundles.body(file))
        self._is_placed(file, stored.etag)

    async def _copy(self, files: Iterable[FrozenFile]) -> list[FrozenFile]:
        """Those that could not be copied as what they should be."""
        left: list[FrozenFile] = []

        async def copy(file: FrozenFile) -> None:
            source, target = self.places.blob(file.sha256), self.places.folder.join(file.path)
            try:
                stored = await self.plane.copy(source, target, if_match=file.md5) if self.may_copy else None
            except (NotFound, Conflict):
                stored = None
            except (NoRight, NotOffered):
                # Who may not read what he wrote, and a service that copies nothing, sends each file to its place.
                stored, self.may_copy = None, False
            if stored is not None and stored.etag == file.md5:
                self._is_placed(file, stored.etag)
            else:
                left.append(file)

        await self._each(files, copy)
        return left

    async def _prove(self) -> None:
        """What the job will find is what was frozen; a file that is not is sent once more."""
        for is_last in (False, True):
            try:
                rows = {row.key: row for row in await rows_in(self.plane, self.places.folder)}
            except NoRight:
                return  # the answer to each file was checked
            names = {self.places.folder.join(file.path).key: file for file in self.bundle.files}
            if strange := rows.keys() - names.keys():
                raise Conflict(
                    text("“{place}” is not part of the code, and is in its folder in OBS.", place=min(strange)),
                    text("Check who else writes to this bucket. Nothing was submitted."),
                )
            wrong = [
                file
                for key, file in names.items()
                if key not in rows or not _is(rows[key], file, self.etags[file.path])
            ]
            if not wrong:
                return
            if is_last:
                break
            await self._each(wrong, self._put_in_folder)
        raise ServiceTrouble(
            text("“{file}” was uploaded, but OBS has other content there.", file=wrong[0].path),
            text("Check who else writes to this bucket, then submit again. Nothing was submitted."),
        )

    async def _each(self, files: Iterable[FrozenFile], work: Callable[[FrozenFile], Awaitable[None]]) -> None:
        async with few_at_once(_AT_ONCE) as start:
            for file in files:
                await start(partial(work, file))

    def _is_placed(self, file: FrozenFile, etag: str) -> None:
        self.etags[file.path] = etag
        now, count = time.monotonic(), len(self.bundle.files)
        if now - self.told_at < _TOLD_S and len(self.etags) < count:
            return
        self.told_at = now
        self.tell(
            count_text(
                "Uploading the code: {done} of {count} file…",
                "Uploading the code: {done} of {count} files…",
                count,
                done=f"{len(self.etags):,}",
            )
        )


def _is(row: ObjectRow, file: FrozenFile, etag: str) -> bool:
    return row.size_bytes == file.size_bytes and row.etag == etag


async def rows_in(plane: DataPlane, folder: ObjectPath) -> list[ObjectRow]:
    """All objects below a folder."""
    found: list[ObjectRow] = []
    marker, pages = "", PageCount()
    while True:
        page = await plane.page(folder.bucket, folder.key, marker=marker)
        found += page.rows
        if not page.next_marker:
            return found
        pages.came(len(page.rows))
        marker = page.next_marker
