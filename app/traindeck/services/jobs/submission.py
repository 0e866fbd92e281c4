"""Sending a job exactly once: write down, send, confirm; look up what was left open."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import (
    AnswerLost,
    AppError,
    InvalidInput,
    NameTaken,
    Unexpected,
)
from traindeck.domain.jobs import job_file, validation
from traindeck.domain.jobs.checks import AcceptedFinding, CheckReport
from traindeck.domain.jobs.job import RemoteJob, Run, RunState, run_name
from traindeck.domain.jobs.job_spec import JobSpec, Target
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import Listeners, gather_or_raise, safely
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.jobs.code_bundles import Bundle, CodeBundles, FrozenFile
from traindeck.services.jobs.locks import held
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.wire.data_plane import DataPlane

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore
    from traindeck.store.settings import ProfileStore

log = logging.getLogger(__name__)

LOOK_UPS_S = (2.0, 5.0, 10.0, 20.0, 40.0)
"""When to look whether a request without an answer arrived, in seconds after it was lost."""

_UPLOADS = 8
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"

OnStage = Callable[[Text], None]

Accept = Callable[[CheckReport], Awaitable[bool]]
"""Asks whoever is there whether the job is to be sent in spite of what is amber."""

Gate = Callable[[JobSpec, Path, str, Path | None, Accept], Awaitable[tuple[AcceptedFinding, ...]]]
"""Looks at a job before anything of it leaves: the form, what its folder is relative to, the account, and the frozen
code of an earlier run. Raises what keeps it from being sent; the answer is what was accepted."""

_NO_KEYS = text("The keys were rejected. Waiting for new ones…")


def _quiet(_: Text) -> None:
    """Nobody watches the stages."""


async def nobody_accepts(_: CheckReport) -> bool:
    """Nobody is there who could be asked."""
    return False


@dataclass(eq=False, slots=True)
class Submission:
    """The only way a job is created."""

    records: RunStore
    connections: Connections
    planes: Planes
    bundles: CodeBundles
    folder_of: Callable[[str], Path]
    disk: BlockingCalls
    book: ProfileStore
    gate: Gate
    accept: Accept = nobody_accepts
    clock: Clock = utc_now
    look_ups_s: Sequence[float] = field(default_factory=lambda: LOOK_UPS_S)
    changed: Listeners[Run] = field(default_factory=Listeners)
    begun: set[str] = field(default_factory=set)
    """The ids of the runs that this program itself began; another one may share the records."""

    def profile_for(self, spec: JobSpec, profile: str | None) -> str:
        """Where this job goes: what was asked for, else the Lab for a Lab job, else the current profile."""
        if profile is None:
            profile = LAB if spec.target is Target.LAB else self.book.current
        if not self.connections.profile(profile).is_lab and spec.target is Target.LAB:
            raise InvalidInput(
                text("This job is for the Lab, but jobs of account “{profile}” are charged.", profile=profile),
                text('Set target = "modelarts" in the job file, or omit the account.'),
            )
        return profile

    async def submit(
        self,
        spec: JobSpec,
        base: Path,
        profile: str | None = None,
        *,
        stage: OnStage = _quiet,
        accept: Accept | None = None,
    ) -> Run:
        """Freeze, upload, send. The run is in the records from the first moment on."""
        stage = safely(stage)
        chosen = self.profile_for(spec, profile)
        stage(text("Checking the job…"))
        accepted = await self.gate(spec, base, chosen, None, accept or self.accept)
        validation.refuse(validation.validate(spec))
        stage(text("Freezing the code…"))
        # Kept whole, so that the form of an old run still knows its folder.
        spec = replace(spec, code_folder=str((base / spec.code_folder).absolute()))
        bundle = await self.bundles.freeze(Path(spec.code_folder), spec.boot, spec.ignore)
        return await self._send_new(spec, chosen, bundle, "", accepted, stage)

    async def rerun(
        self,
        run_id: str,
        *,
        changes: Sequence[str] = (),
        spec: JobSpec | None = None,
        profile: str = "",
        stage: OnStage = _quiet,
        accept: Accept | None = None,
    ) -> Run:
        """The same again, or another form for another account, with the code as it was then."""
        stage = safely(stage)
        before = await self.records.existing(run_id)
        spec = before.spec if spec is None else replace(spec, code_folder=before.spec.code_folder)
        for change in changes:
            spec = job_file.with_setting(spec, change)
        chosen = self.profile_for(spec, profile or before.profile)
        bundle = await self.bundles.open(before.bundle)
        stage(text("Checking the job…"))
        accepted = await self.gate(spec, bundle.code, chosen, bundle.code, accept or self.accept)
        validation.refuse(validation.validate(spec))
        return await self._send_new(spec, chosen, bundle, before.id, accepted, stage)

    async def settle(self) -> list[Run]:
        """Find out what became of submissions whose program is gone; the answer is those of which it is known now.

        One that nobody can be asked about stays open for a later time; its error is raised after all others are done.
        """
        settled: list[Run] = []
        troubles: list[AppError] = []

        async def settle_one(run_id: str) -> None:
            try:
                run = await self._settle(run_id, patient=True)
            except AppError as error:
                log.warning("settling %s: %s %s", run_id, error, error.detail)
                troubles.append(error)
            else:
                if run is not None and not run.state.is_open:
                    settled.append(run)

        async with asyncio.TaskGroup() as group:
            for run in await self.records.live():
                if run.state.is_open:
                    group.create_task(settle_one(run.id))
        if troubles:
            raise troubles[0]
        return settled

    async def check_again(self, run_id: str) -> Run:
        """Look now, once, whether a submission without an answer arrived."""
        run = await self.records.existing(run_id)
        if run.state.is_open:
            await self._settle(run_id, patient=False)
            run = await self.records.existing(run_id)
        return run

    async def _settle(self, run_id: str, *, patient: bool) -> Run | None:
        """The run as it is afterwards; a submission under way is left to the program that is at it."""
        async with self._alone(run_id) as mine:
            run = await self.records.get(run_id)
            if run is None or not mine or not run.state.is_open:
                return run
            if run.state is RunState.PREPARING:
                reason = text("TrainDeck was closed before the job was submitted.")
                return await self._become(run, state=RunState.NOT_SENT, reason=reason)
            connection = await self.connections.open(run.profile)
            job = await self._found(run, connection, self._moments_left(run) if patient else (0.0,))
            return await self._adopt(run, job)

    def _alone(self, run_id: str) -> AbstractAsyncContextManager[bool]:
        """Whether it is this program that may act on the run's submission now."""
        return held(self.folder_of(run_id) / "submission.lock", self.disk)

    def _moments_left(self, run: Run) -> tuple[float, ...]:
        """Now, and those moments of its looking up that are still to come."""
        passed_s = max(0.0, (self.clock() - (run.submitted or run.created)).total_seconds())
        return (0.0, *(moment - passed_s for moment in self.look_ups_s if moment > passed_s))

    async def _send_new(
        self,
        spec: JobSpec,
        profile: str,
        bundle: Bundle,
        parent: str,
        accepted: tuple[AcceptedFinding, ...],
        stage: OnStage,
    ) -> Run:
        now = self.clock()
        chance = random.SystemRandom()
        name = run_name(spec.name, now.astimezone(), "".join(chance.choices(_ALPHABET, k=4)))
        run = Run(
            id=secrets.token_hex(4),
            number=0,
            name=name,
            profile=profile,
            spec=spec,
            state=RunState.PREPARING,
            created=now,
            bundle=bundle.id,
            code_url=str(_code_folder(spec.for_run(name, profile), name, bundle.folder_name)),
            resubmission_of=parent,
            accepted=accepted,
        )
        async with self._alone(run.id):
            run = await self.records.add(run)
            self.begun.add(run.id)
            self.changed.tell(run)
            return await self._send(run, bundle, stage)

    async def _send(self, run: Run, bundle: Bundle, stage: OnStage) -> Run:
        async def upload(connection: Connection) -> None:
            await self._upload(connection, bundle, ObjectPath.parse(run.code_url), stage)

        try:
            stage(text("Connecting…"))
            await self.connections.work(run.profile, upload, lambda: stage(_NO_KEYS))
            # From here on the request may have left: only the service knows.
            run = await self._become(run, state=RunState.SUBMITTING, submitted=self.clock())
        except asyncio.CancelledError:
            if run.state is RunState.PREPARING:
                await self._become(run, state=RunState.NOT_SENT, reason=text("Stopped before the job was submitted."))
            raise
        except Exception as error:
            known = error if isinstance(error, AppError) else Unexpected(f"{type(error).__name__}: {error}")
            await self._become(run, state=RunState.NOT_SENT, reason=known.paragraph())
            raise
        stage(text("Submitting the job…"))
        return await self._request(run, stage)

    async def _request(self, run: Run, stage: OnStage) -> Run:
        spec = run.filled_spec

        async def create(connection: Connection) -> Run:
            try:
                job = await connection.training.create(run.name, spec, ObjectPath.parse(run.code_url))
            except AnswerLost as error:
                log.warning("no answer to the submission of %s: %s", run.name, error)
                stage(text("No response. Checking whether the job was submitted…"))
                return await self._look_up(run, connection, self.look_ups_s)
            except NameTaken:
                # The name has a random part: if it exists, it is this very request that made it.
                stage(text("The service already has a job of this name. Checking whether it is this one…"))
                return await self._look_up(run, connection, (0.0, *self.look_ups_s))
            return await self._adopt(run, job)

        try:
            # Refused keys mean that nothing was made, so the same may be sent again with others.
            return await self.connections.work(run.profile, create, lambda: stage(_NO_KEYS))
        except AppError as error:
            await self._become(run, state=RunState.NOT_SENT, reason=error.paragraph())
            raise

    async def _look_up(self, run: Run, connection: Connection, moments_s: Sequence[float]) -> Run:
        try:
            job = await self._found(run, connection, moments_s)
        except AppError as error:
            reason = text(
                "There was no response, and the job could not be looked up: {reason} It may exist and be "
                "charged. Check again.",
                reason=error.paragraph(),
            )
            return await self._become(run, state=RunState.UNCONFIRMED, reason=reason)
        return await self._adopt(run, job)

    async def _found(self, run: Run, connection: Connection, moments_s: Sequence[float]) -> RemoteJob | None:
        """The job of this run's name; None: the last look found none; raises what kept the last look from knowing."""
        waited_s = 0.0
        trouble: AppError | None = None
        for moment in moments_s:
            await asyncio.sleep(moment - waited_s)
            waited_s = moment
            try:
                job = await connection.training.find_by_name(run.name)
            except AppError as error:
                log.warning("looking for %s: %s", run.name, error)
                trouble = error
                continue
            if job is not None:
                return job
            trouble = None
        if trouble is not None:
            raise trouble
        return None

    async def _adopt(self, run: Run, job: RemoteJob | None) -> Run:
        if job is None:
            reason = text(
                "There was no response and the job was not found yet. It may exist and be charged. Check again."
            )
            return await self._become(run, state=RunState.UNCONFIRMED, reason=reason)
        return await self._become(
            run,
            # One that is over already still has a log to be fetched: the watch ends it.
            state=RunState.UNKNOWN if job.state.is_over else job.state,
            phase=job.phase,
            job_id=job.id,
            reason="",
            tasks=job.tasks or run.tasks,
            checked=self.clock(),
        )

    async def _upload(self, connection: Connection, bundle: Bundle, folder: ObjectPath, stage: OnStage) -> None:
        slots = asyncio.Semaphore(_UPLOADS)
        done = 0

        async def send(plane: DataPlane, file: FrozenFile) -> None:
            nonlocal done
            async with slots:
                body = await self.bundles.body(bundle, file)
                await self.planes.on_loop(lambda: plane.put(folder.join(file.path), body))
            done += 1
            stage(
                count_text(
                    "Uploading the code: {done} of {count} file…",
                    "Uploading the code: {done} of {count} files…",
                    len(bundle.files),
                    done=f"{done:,}",
                )
            )

        async with self.planes.line(connection) as plane:
            await gather_or_raise(send(plane, file) for file in bundle.files)

    async def _become(self, run: Run, **changes: object) -> Run:
        after = await self.records.change(run.id, **changes)
        self.changed.tell(after)
        return after


def _code_folder(spec: JobSpec, name: str, folder_name: str) -> ObjectPath:
    """Each run's code in a folder of its own, in a bucket the job writes to anyway."""
    places = (spec.log_to, *(channel.place for channel in (*spec.outputs, *spec.inputs)))
    bucket = next(ObjectPath.parse(place).bucket for place in places if place)
    return ObjectPath(bucket, f"traindeck/code/{name}/{folder_name}/")
