"""Taking in jobs that have no record here: those made elsewhere when asked to, our own when their record was lost."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import AppError, Conflict, InvalidInput, NotFound
from traindeck.domain.jobs.job import RemoteJob, Run, RunState
from traindeck.domain.jobs.job_spec import Target
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.files import local_errors, our_folder
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.code.code_upload import CodePlaces
from traindeck.services.jobs.home_mark import has_mark
from traindeck.services.jobs.modelarts.adoption import spec_of
from traindeck.services.jobs.modelarts.documents import remote_job
from traindeck.services.jobs.run_watch import JobsSeen, RunWatch
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers import Transfers

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

_DONE = "looked for lost jobs of "
_CODE = "traindeck/code"
"""Below it, in a folder of the job's name, is the code of every job that a TrainDeck sends."""


@dataclass(eq=False, slots=True)
class Adoption:
    """Makes a record of a job that the service has."""

    records: RunStore
    connections: Connections
    watch: RunWatch
    transfers: Transfers
    bundles: CodeBundles
    disk: BlockingCalls
    folder: Path
    """Where code that is brought here stands until it is frozen."""
    planes: Planes
    mark_of_home: Callable[[], Awaitable[str]]
    claim: Callable[[str, Sequence[RemoteJob]], Awaitable[list[Run]]]
    """Gives a job to the run that it was submitted for, if there is one."""
    clock: Clock = utc_now

    async def adopt(self, job_id: str, profile: str) -> Run:
        """The job with this ID, or of this name, as a run of this computer, with all the service tells of it."""
        if not job_id.strip():
            raise InvalidInput(text("No job was specified."), text("Specify its ID, as “traindeck billing” lists it."))
        known = await self.records.with_job(job_id)
        if known is not None:
            raise Conflict(
                text("This job is already in the list: run {run}, “{name}”.", run=known.id, name=known.name),
                text("“traindeck job show {run}” shows it.", run=known.id),
            )
        connection = await self.connections.open(profile)
        document = await connection.training.document(job_id)
        if document is None:
            named = await connection.training.find_by_name(job_id)
            if named is not None:
                return await self.adopt(named.id, profile)
            raise NotFound(
                text("The account “{profile}” has no job with the ID or name “{job}”.", profile=profile, job=job_id),
                text("“traindeck billing” lists its active jobs. Check the ID, and the account's region."),
            )
        job = remote_job(document)
        if claimed := await self.claim(profile, [job]):
            return claimed[0]
        if job.name in await self._submitted_names(profile):
            raise Conflict(
                text("“{name}” is being submitted by TrainDeck.", name=job.name),
                text("It appears in the list when its submission is confirmed."),
            )
        return await self._take_in(connection, document)

    async def _submitted_names(self, profile: str) -> set[str]:
        """A job of such a name belongs to a run, which gets it when its submission is settled."""
        return {run.name for run in await self.records.without_job(profile)}

    async def take_back(self, seen: JobsSeen) -> None:
        """After the records were lost: the jobs of this home are told from others' by the mark beside their code."""
        lost = await self.records.lost_at()
        if not await self.is_due(seen.profile, lost):
            return
        connection = await self.connections.open(seen.profile)
        known = await self.records.job_ids(seen.profile)
        async for jobs in connection.training.all_jobs():
            await self.claim(seen.profile, jobs)
            ours = await self._submitted_names(seen.profile)
            new = [job for job in jobs if job.id not in known and job.name not in ours]
            for job in await self._of_this_home(seen.profile, new):
                document = await connection.training.document(job.id)
                if document is not None:
                    await self._take_in(connection, document)
        await self.records.set_fact(_DONE + seen.profile, lost)

    async def is_due(self, profile: str, lost_at: str) -> bool:
        """Whether the jobs of this account were not looked through since then."""
        return bool(lost_at) and await self.records.fact(_DONE + profile) != lost_at

    async def _of_this_home(self, profile: str, jobs: Sequence[RemoteJob]) -> list[RemoteJob]:
        manifests = [(job, manifest) for job in jobs if (manifest := _manifest_of(job)) is not None]
        if not manifests:
            return []
        mark = await self.mark_of_home()

        async def look(plane: DataPlane) -> list[bool]:
            return list(await gather_or_raise(has_mark(plane, manifest, mark) for _, manifest in manifests))

        marked = await self.planes.run(profile, look)
        return [job for (job, _), is_ours in zip(manifests, marked, strict=True) if is_ours]

    async def bring_code(self, run: Run) -> Run:
        """The same run with its code frozen here, so that it can be run again as it is now in OBS."""
        if run.bundle or not run.code_url or run.spec.has_algorithm:
            return run
        if await self.records.document(run.id) is None:
            return run  # made here, of code that its user keeps in OBS
        source = ObjectPath.parse(run.code_url).as_folder()
        with local_errors():
            our_folder(self.folder)
            place = Path(await self.disk.run(lambda _: tempfile.mkdtemp(dir=self.folder, prefix=".part-")))
        try:
            # The folder keeps its name: the job sees its code in a folder of that name.
            code = place / (source.name or "code")
            await self.transfers.fetch(run.profile, source, code)
            async with self.bundles.frozen(code, run.spec.boot, ()) as bundle:
                spec = replace(run.spec, code_url="", code_folder=run.spec.code_folder or ".")
                return await self.records.change(run.id, bundle=bundle.id, spec=spec)
        finally:
            await self.disk.run(lambda _: shutil.rmtree(place, ignore_errors=True))

    async def _take_in(self, connection: Connection, document: Any) -> Run:
        job = remote_job(document)
        is_over = job.state.is_over
        run = Run(
            id=secrets.token_hex(4),
            number=0,
            name=job.name or job.id,
            profile=connection.profile.name,
            spec=spec_of(document, Target.LAB if connection.profile.is_lab else Target.MODELARTS),
            # One that is over already still has a log to be fetched: the watch ends it.
            state=RunState.UNKNOWN if is_over else job.state,
            created=job.created or self.clock(),
            code_url=_url(job.code_url),
            job_id=job.id,
            phase=job.phase,
            secondary_phase=job.secondary_phase,
            submitted=job.created,
            started=job.started,
            tasks=job.tasks or ("worker-0",),
            tags=job.tags or (),
            isolation=job.isolation,
            checked=self.clock(),
        )
        run = await self.records.take_in(run, document)
        self.watch.tell(run)
        return run


def _manifest_of(job: RemoteJob) -> ObjectPath | None:
    """Of a job that a TrainDeck made: its code is in a folder of its own, named like it."""
    if not job.name or f"/{_CODE}/{job.name}/" not in job.code_url or not (url := _url(job.code_url)):
        return None
    return CodePlaces(ObjectPath.parse(url).as_folder()).manifest


def _url(code_dir: str) -> str:
    try:
        return str(ObjectPath.parse(code_dir)) if code_dir else ""
    except AppError:
        return ""  # as of code inside an image
