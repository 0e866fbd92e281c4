"""The code of runs, for whoever wants to see what it was, how it differs, or have it back."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from traindeck.domain.errors import NotFound, Occupied
from traindeck.domain.jobs.code_change import FileChange
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import beginning, count_text, text
from traindeck.domain.transfers.local_names import HERE, local_part, part_of
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import is_folder, local_errors, our_opener
from traindeck.services.jobs.code.code_bundles import CodeBundles, CodeText
from traindeck.services.jobs.code.code_changes import CodeChanges, CodeSide, changes_between
from traindeck.services.jobs.code.code_manifests import Bundle, FrozenFile
from traindeck.services.transfers.placing import Folders, put_in_place

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

_NAMED = 3
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # what an archive can hold


@dataclass(frozen=True, slots=True)
class RestoredCode:
    written: int
    kept: int
    """Those that were there already."""


@dataclass(eq=False, slots=True)
class RunCode:
    """Blocking work is done in workers; all raises AppError."""

    records: RunStore
    bundles: CodeBundles

    async def of(self, run: Run) -> Bundle:
        return await self.bundles.open(run.bundle)

    async def text(self, file: FrozenFile) -> CodeText:
        return await self.bundles.text(file)

    async def since(self, run: Run) -> CodeChanges:
        """From the code of the run to its folder as it is now."""
        return await self.to_folder(run, Path(run.spec.code_folder))

    async def to_folder(self, run: Run, folder: Path) -> CodeChanges:
        if not await self.bundles.calls.run(lambda _: is_folder(folder)):
            raise NotFound(
                text("The folder “{folder}” does not exist.", folder=beginning(str(folder))),
                text("Specify the folder that the code was in, or another one."),
            )
        before = self._side(await self.of(run))
        return changes_between(before, await self.bundles.side_of(folder, run.spec.ignore))

    async def between(self, run: Run, other: Run) -> CodeChanges:
        return changes_between(self._side(await self.of(run)), self._side(await self.of(other)))

    async def lines(self, changes: CodeChanges, change: FileChange) -> list[str] | None:
        """How one file differs, as a unified diff; None: it is no text, or too much of it."""
        return await self.bundles.calls.run(lambda _: changes.lines(change))

    async def restore(self, run: Run, target: Path, *, over: bool) -> RestoredCode:
        """Put it into a folder. Occupied: other files of these names are there, and were to be left alone."""
        bundle = await self.of(run)
        return await self.bundles.calls.run(lambda token: self._restore(bundle, target.absolute(), over, token))

    async def export(self, run: Run, file: Path, *, over: bool) -> None:
        """As a ZIP archive with the folder in it."""
        bundle = await self.of(run)
        stamp = max(_EARLIEST, run.created.astimezone().timetuple()[:6])
        await self.bundles.calls.run(lambda token: self._export(bundle, file.absolute(), stamp, over, token))

    def _side(self, bundle: Bundle) -> CodeSide:
        return CodeSide(
            {file.path: file.sha256 for file in bundle.files},
            {file.path: self.bundles.place(file) for file in bundle.files},
        )

    def _restore(self, bundle: Bundle, target: Path, over: bool, token: CancelToken) -> RestoredCode:
        wanted = [(file, _place_in(target, file)) for file in bundle.files]
        missing, other = [], []
        for file, place in wanted:
            token.check()
            if not os.path.lexists(place):
                missing.append((file, place))
            elif not self.bundles.has_content(place, file):
                other.append((file, place))
        if other and not over:
            raise _occupied([place for _, place in other])
        folders = Folders(target)
        for file, place in [*missing, *other]:
            token.check()
            folders.make(place.parent)
            part = part_of(place)
            try:
                with local_errors(place):
                    shutil.copyfile(self.bundles.checked(file), part)
                    put_in_place(part, place, only_new=not over)
            finally:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
        return RestoredCode(len(missing) + len(other), len(wanted) - len(missing) - len(other))

    def _export(self, bundle: Bundle, file: Path, stamp: tuple[int, ...], over: bool, token: CancelToken) -> None:
        if not over and os.path.lexists(file):
            raise _occupied([file])
        part = part_of(file)
        try:
            with local_errors(file):
                with open(part, "wb", opener=our_opener) as opened, zipfile.ZipFile(opened, "w") as archive:
                    for one in bundle.files:
                        token.check()
                        name = zipfile.ZipInfo(f"{bundle.folder_name}/{one.path}", stamp[:6])  # type: ignore[arg-type]
                        name.external_attr = 0o644 << 16
                        name.compress_type = zipfile.ZIP_DEFLATED
                        name.file_size = one.size_bytes  # so that what is larger than 2 GiB is made room for
                        with self.bundles.checked(one).open("rb") as source, archive.open(name, "w") as member:
                            shutil.copyfileobj(source, member)
                put_in_place(part, file, only_new=not over)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def _place_in(target: Path, file: FrozenFile) -> Path:
    """Written so that this system can hold it."""
    return target.joinpath(*(local_part(part, HERE) for part in PurePosixPath(file.path).parts))


def _occupied(places: Sequence[Path]) -> Occupied:
    names = ", ".join(str(place) for place in places[:_NAMED]) + (" …" if len(places) > _NAMED else "")
    return Occupied(
        count_text(
            "{count} file with other content already exists: {names}",
            "{count} files with other content already exist: {names}",
            len(places),
            names=names,
        ),
        text("Nothing was written. Specify another place, or confirm that they are replaced (--yes)."),
    )
