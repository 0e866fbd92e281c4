"""The ways to the log of one worker of a run: as the job's service shows it, and the file in the run's log folder."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, Conflict, InvalidInput
from traindeck.domain.jobs.job import LogChunk, NumberedLines, Run
from traindeck.domain.storage.objects import ObjectPath

if TYPE_CHECKING:
    from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining
    from traindeck.services.storage.planes import Planes
    from traindeck.services.storage.wire.data_plane import DataPlane

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunLogSource:
    """The service is asked first; its own link to the file before the file itself, which takes rights on the folder."""

    training: ModelArtsTraining
    planes: Planes | None
    run: Run
    task: str

    async def tail(self) -> LogChunk | None:
        return await self.training.log_tail(self.run.job_id, self.task)

    async def lines(self, after: str) -> NumberedLines | None:
        return await self.training.log_lines(self.run.job_id, self.task, after)

    async def part(self, start: int, most_bytes: int) -> bytes | None:
        place = self._place()
        try:
            data = await self.training.log_part(self.run.job_id, self.task, start, most_bytes)
        except AppError as error:
            if self.planes is None or place is None:
                raise
            log.info("the link to the log of %s: %s %s", self.run.name, error, error.detail)
            data = None
        if data is not None or self.planes is None or place is None:
            return data
        return await self.planes.run(self.run.profile, lambda plane: _range(plane, place, start, most_bytes))

    def _place(self) -> ObjectPath | None:
        folder = self.run.filled_spec.log_to
        if not folder:
            return None
        try:
            path = ObjectPath.parse(folder)
        except InvalidInput:
            return None  # of a job made elsewhere
        name = f"modelarts-job-{self.run.job_id}-{self.task}.log"
        return ObjectPath(path.bucket, f"{path.key.rstrip('/')}/{name}".lstrip("/"))


async def _range(plane: DataPlane, place: ObjectPath, start: int, most_bytes: int) -> bytes:
    found = await plane.head(place)
    if found is None or found.size_bytes <= start:
        return b""
    content = bytearray()

    def take(piece: bytes) -> None:
        content.extend(piece)

    length = min(most_bytes, found.size_bytes - start)
    try:
        await plane.get(place, take, offset=start, length=length, if_match=found.etag)
    except Conflict:
        return b""  # it was written anew meanwhile: the next look finds more
    return bytes(content)
