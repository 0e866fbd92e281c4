"""The sample project: a real job that needs no account."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import Conflict
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, not_a_folder, our_folder, write_whole
from traindeck.services.accounts.connections import Connections
from traindeck.services.transfers import Transfers

JOB_FILE = "job.toml"


@dataclass(eq=False, slots=True)
class SampleProject:
    """Puts the sample where it can be submitted: code on this computer, data in the Lab."""

    source: Path
    home_folder: Path
    connections: Connections
    transfers: Transfers
    calls: BlockingCalls

    async def fits(self, folder: Path) -> bool:
        """Whether the sample can go into `folder`: there is nothing in it but what an earlier try left of it."""
        return await self.calls.run(lambda _: not folder.exists() or self._holds_nothing_else(folder))

    async def prepare(self, folder: Path | None = None) -> tuple[JobSpec, Path]:
        """The sample's form and the folder it is in; a sample the user has edited stays as it is.

        In a folder the user named, what an earlier try left undone is done; where nothing is, it is refused.
        """
        place = folder or self.home_folder
        has_put = await self.calls.run(lambda _: self._put(place, fresh=folder is not None))
        spec = await self.calls.run(lambda _: job_file.parse((place / JOB_FILE).read_text(encoding="utf-8")))
        has_sent = await self._provide_data(spec, place)
        if folder is not None and not has_put and not has_sent:
            raise _not_empty(place)
        return spec, place

    def _put(self, place: Path, *, fresh: bool) -> bool:
        """Whether anything was missing."""
        with local_errors(place):
            if not place.exists():
                self._copy_whole(place)
                return True
            is_ours = self._holds_nothing_else(place)
            if fresh and not is_ours:
                raise _not_empty(place)
            if (place / JOB_FILE).exists() and not is_ours:
                return False
            return self._complete(place)

    def _copy_whole(self, place: Path) -> None:
        """All of it or nothing."""
        our_folder(place.parent)
        part = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
        try:
            copy = shutil.copytree(self.source, part / place.name, ignore=shutil.ignore_patterns("__pycache__"))
            copy.rename(place)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _complete(self, place: Path) -> bool:
        """Add what is missing and replace nothing; the form comes last, for it says that all is there."""
        missing = [name for name in self._files() if not (place / name).exists()]
        for name in sorted(missing, key=lambda name: name == Path(JOB_FILE)):
            write_whole(place / name, (self.source / name).read_bytes(), mode=0o644)
        return bool(missing)

    def _holds_nothing_else(self, place: Path) -> bool:
        """Every file there is one of the sample's, unchanged."""
        with local_errors(place):
            if not place.is_dir():
                raise not_a_folder(place)
            ours = set(self._files())
            for path in place.rglob("*"):
                name = path.relative_to(place)
                if not path.is_dir() and (name not in ours or path.read_bytes() != (self.source / name).read_bytes()):
                    return False
        return True

    def _files(self) -> list[Path]:
        found = (path.relative_to(self.source) for path in self.source.rglob("*") if path.is_file())
        return [name for name in found if "__pycache__" not in name.parts]

    async def _provide_data(self, spec: JobSpec, place: Path) -> bool:
        """Whether any had to be sent."""
        has_sent = False
        storage = (await self.connections.open(LAB)).storage
        for channel in spec.inputs:
            data = ObjectPath.parse(channel.place).as_folder()
            await storage.create_bucket(data.bucket)
            there = [entry async for page in storage.entries(data) for entry in page]
            if not there:
                await self.transfers.upload(LAB, place / "data", data)
                has_sent = True
        return has_sent


def _not_empty(place: Path) -> Conflict:
    return Conflict(
        text("The folder “{folder}” is not empty.", folder=str(place)),
        text("Nothing was written. Specify an empty or a new folder."),
    )
