"""Sending a job exactly once: write down, send, confirm; look up what was left open."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from traindeck.domain import forms, job_file
from traindeck.domain.errors import AnswerLost, AppError, Conflict, InvalidInput, NotFound, ServiceTrouble
from traindeck.domain.jobs import JobSpec, RemoteJob, Run, RunState, Target, run_name
from traindeck.domain.objects import ObjectPath
from traindeck.domain.profiles import LAB
from traindeck.domain.texts import Text, text
from traindeck.runtime.listeners import Listeners
from traindeck.runtime.together import together
from traindeck.services.code_bundles import Bundle, CodeBundles
from traindeck.services.connections import Connection, Connections
from traindeck.services.ports import Clock, ProfileBook, RunRecords
from traindeck.services.run_locks import RunLocks

log = logging.getLogger(__name__)

LOOK_UPS_S = (2.0, 5.0, 10.0, 20.0, 40.0)
"""When to look whether a request without an answer arrived, in seconds after it was lost."""

_UPLOADS = 8
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"

Stage = Callable[[Text], None]


def _quiet(_: Text) -> None:
    """Nobody watches the stages."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class Submission:
    """The only way a job is created."""

    def __init__(
        self,
        records: RunRecords,
        connections: Connections,
        bundles: CodeBundles,
        locks: RunLocks,
        book: ProfileBook,
        clock: Clock = utc_now,
        look_ups_s: Sequence[float] = LOOK_UPS_S,
    ) -> None:
        self._records = records
        self._connections = connections
        self._bundles = bundles
        self._locks = locks
        self._book = book
        self._clock = clock
        self._look_ups_s = look_ups_s
        self.changed: Listeners[Run] = Listeners()

    def profile_for(self, spec: JobSpec, profile: str | None) -> str:
        """Where this job goes: what was asked for, else the Lab for a Lab job, else the current profile."""
        if profile is None:
            return LAB if spec.target is Target.LAB else self._book.current
        if spec.target is Target.LAB and not self._connections.profile(profile).is_lab:
            raise InvalidInput(
                text("This job is meant for the Lab, but “{profile}” is a paid account.", profile=profile),
                text("Set target = \"modelarts\" in the job file, or leave the profile out."),
            )
        return profile

    async def submit(
        self, spec: JobSpec, base: Path, profile: str | None = None, *, stage: Stage = _quiet
    ) -> Run:
        """Freeze, upload, send. The run is in the records from the first moment on."""
        forms.refuse(forms.validate(spec))
        chosen = self.profile_for(spec, profile)
        stage(text("Freezing the code…"))
        # Kept whole, so that the form of an old run still knows its folder.
        spec = replace(spec, code_folder=str((base / spec.code_folder).absolute()))
        bundle = await self._bundles.freeze(Path(spec.code_folder), spec.boot, spec.ignore)
        return await self._send_new(spec, chosen, bundle, "", stage)

    async def rerun(self, run_id: str, *, changes: Sequence[str] = (), stage: Stage = _quiet) -> Run:
        """The same again, with the code as it was then."""
        before = await self._records.get(run_id)
        if before is None:
            raise NotFound(text("This run is no longer in the records."), text("Refresh the list."))
        spec = before.spec
        for change in changes:
            spec = job_file.with_setting(spec, change)
        forms.refuse(forms.validate(spec))
        bundle = await self._bundles.open(before.bundle)
        return await self._send_new(spec, before.profile, bundle, before.id, stage)

    async def settle(self) -> list[Run]:
        """Find out what became of submissions whose program is gone."""
        settled = []
        for run in await self._records.live():
            if run.state.is_remote:
                continue
            with self._locks.held(run.id) as mine:
                if not mine:
                    continue
                fresh = await self._records.get(run.id)
                if fresh is not None and not fresh.state.is_remote and not fresh.state.is_over:
                    settled.append(await self._settle_one(fresh))
        return settled

    async def _settle_one(self, run: Run) -> Run:
        if run.state is RunState.PREPARING:
            return await self._become(
                run, state=RunState.NOT_SENT, reason=str(text("TrainDeck was closed before the job was sent."))
            )
        connection = await self._connections.open(run.profile)
        return await self._look_up(run, connection, (0.0, *self._look_ups_s))

    async def _send_new(self, spec: JobSpec, profile: str, bundle: Bundle, parent: str, stage: Stage) -> Run:
        now = self._clock()
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
            code_url=str(_code_folder(spec.for_run(name), name, bundle.folder_name)),
            resubmission_of=parent,
        )
        with self._locks.held(run.id):
            run = await self._records.add(run)
            self.changed.tell(run)
            return await self._send(run, bundle, stage)

    async def _send(self, run: Run, bundle: Bundle, stage: Stage) -> Run:
        try:
            stage(text("Connecting…"))
            connection = await self._connections.open(run.profile)
            await self._upload(connection, bundle, ObjectPath.parse(run.code_url), stage)
            # From here on the request may have left: only the service knows.
            run = await self._become(run, state=RunState.SUBMITTING, submitted=self._clock())
        except AppError as error:
            await self._become(run, state=RunState.NOT_SENT, reason=error.sentence())
            raise
        except asyncio.CancelledError:
            if run.state is RunState.PREPARING:
                reason = str(text("Stopped before the job was sent."))
                await self._become(run, state=RunState.NOT_SENT, reason=reason)
            raise
        stage(text("Sending the job…"))
        return await self._request(run, connection, stage)

    async def _request(self, run: Run, connection: Connection, stage: Stage) -> Run:
        spec = run.spec.for_run(run.name)
        try:
            job = await connection.training.create(run.name, spec, ObjectPath.parse(run.code_url))
        except AnswerLost as error:
            log.warning("no answer to the submission of %s: %s", run.name, error)
            stage(text("No answer came. Checking whether the job arrived…"))
            return await self._look_up(run, connection, self._look_ups_s)
        except Conflict as error:
            # The name has a random part: if it exists, it is this very request that made it.
            found = await connection.training.find_by_name(run.name)
            if found is None:
                await self._become(run, state=RunState.NOT_SENT, reason=error.sentence())
                raise
            job = found
        except AppError as error:
            await self._become(run, state=RunState.NOT_SENT, reason=error.sentence())
            raise
        return await self._adopt(run, job)

    async def _look_up(self, run: Run, connection: Connection, moments_s: Sequence[float]) -> Run:
        waited = 0.0
        for moment in moments_s:
            await asyncio.sleep(moment - waited)
            waited = moment
            try:
                job = await connection.training.find_by_name(run.name)
            except ServiceTrouble as error:
                log.warning("looking for %s: %s", run.name, error)
                continue
            if job is not None:
                return await self._adopt(run, job)
        return await self._become(
            run,
            state=RunState.UNCONFIRMED,
            reason=str(text("No answer came and no such job was found so far. It may exist and bill: check again.")),
        )

    async def _adopt(self, run: Run, job: RemoteJob) -> Run:
        return await self._become(
            run,
            state=job.state,
            phase=job.phase,
            job_id=job.id,
            reason="",
            tasks=job.tasks or run.tasks,
            checked=self._clock(),
        )

    async def _upload(self, connection: Connection, bundle: Bundle, folder: ObjectPath, stage: Stage) -> None:
        slots = asyncio.Semaphore(_UPLOADS)
        done = 0

        async def send(index: int) -> None:
            nonlocal done
            file = bundle.files[index]
            async with slots:
                await connection.storage.upload(bundle.path_of(file), folder.join(file.path))
            done += 1
            stage(text("Uploading the code: {done} of {all} files…", done=done, all=len(bundle.files)))

        await together(send(index) for index in range(len(bundle.files)))

    async def _become(self, run: Run, **changes: object) -> Run:
        after = await self._records.change(run.id, **changes)
        self.changed.tell(after)
        return after


def _code_folder(spec: JobSpec, name: str, folder_name: str) -> ObjectPath:
    """Each run's code in a folder of its own, in a bucket the job writes to anyway."""
    places = (spec.log_to, *(place for _, place in spec.outputs), *(place for _, place in spec.inputs))
    bucket = next(ObjectPath.parse(place).bucket for place in places if place)
    return ObjectPath(bucket, f"traindeck/code/{name}/{folder_name}/")


