"""The sample project: a real job that needs no account."""

from __future__ import annotations

import shutil
from pathlib import Path

from traindeck.domain import job_file
from traindeck.domain.errors import Conflict
from traindeck.domain.jobs import JobSpec
from traindeck.domain.objects import ObjectPath
from traindeck.domain.profiles import LAB
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.platform_files import local_errors
from traindeck.services.connections import Connections
from traindeck.services.transfers import Transfers

JOB_FILE = "job.toml"


class SampleProject:
    """Puts the sample where it can be submitted: code on this computer, data in the Lab."""

    def __init__(
        self, source: Path, home_folder: Path, connections: Connections, transfers: Transfers, calls: BlockingCalls
    ) -> None:
        self._source = source
        self._home_folder = home_folder
        self._connections = connections
        self._transfers = transfers
        self._calls = calls

    async def prepare(self, folder: Path | None = None) -> tuple[JobSpec, Path]:
        """The sample's form and the folder it is in; a sample the user has edited stays as it is."""
        place = folder or self._home_folder
        await self._calls.run(lambda _: self._put(place, fresh=folder is not None))
        spec = await self._calls.run(lambda _: job_file.parse((place / JOB_FILE).read_text(encoding="utf-8")))
        await self._provide_data(spec, place)
        return spec, place

    def _put(self, place: Path, *, fresh: bool) -> None:
        with local_errors(place):
            if fresh and place.is_dir() and any(place.iterdir()):
                raise Conflict(
                    text("The folder “{folder}” is not empty.", folder=str(place)),
                    text("Nothing was written. Name an empty or a new folder."),
                )
            if not (place / JOB_FILE).is_file():
                shutil.copytree(
                    self._source, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
                )

    async def _provide_data(self, spec: JobSpec, place: Path) -> None:
        storage = (await self._connections.open(LAB)).storage
        for _, url in spec.inputs:
            data = ObjectPath.parse(url).as_folder()
            await storage.create_bucket(data.bucket)
            there = [entry async for page in storage.entries(data) for entry in page]
            if not there:
                await self._transfers.upload(LAB, place / "data", data)
