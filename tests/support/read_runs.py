"""A list of runs whose logs are read as the program reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.folder_cloud import FolderCloud
from traindeck.domain.jobs.job import Run
from traindeck.services.readings.explaining import LogExplaining
from traindeck.services.readings.run_curves import RunCurves
from traindeck.services.readings.run_phases import RunPhases
from traindeck.services.readings.run_readings import RunReadings
from traindeck.services.readings.run_resources import RunResources
from traindeck.store.tracked_numbers import TrackedNumbers
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.readings.reading_feed import ReadingFeed


def write_log(cloud: FolderCloud, run: Run, content: bytes, task: str = "worker-0") -> None:
    path = cloud.paths.run_log(run.id, task)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    cloud.logs.grew.tell(run.id)


def reading_feed(cloud: FolderCloud, model: RunList) -> ReadingFeed:
    """The list of runs reads logs from now on, until the feed is closed."""
    tracked = TrackedNumbers(cloud.paths.tracked_numbers)
    readings = RunReadings(cloud.logs, LogExplaining(cloud.logs, cloud.disk), tracked, cloud.disk)
    feed = model.readings = ReadingFeed(
        readings,
        RunPhases(cloud.connections, cloud.disk, cloud.paths.run_phases),
        RunCurves(cloud.logs, cloud.disk, cloud.paths.run_curve),
        RunResources(cloud.connections),
        cloud.watch,
        model,
        cloud.scope,
    )
    return feed


@asynccontextmanager
async def read_runs(folder: Path, *runs: Run) -> AsyncIterator[tuple[FolderCloud, RunList, ReadingFeed]]:
    async with FolderCloud(folder) as cloud:
        for run in runs:
            await cloud.records.add(run)
        model = cloud.run_list()
        feed = reading_feed(cloud, model)
        try:
            yield cloud, model, feed
        finally:
            feed.close()
            model.close()
