"""Sending a job exactly once: write down, send, confirm; look up what was left open."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import (
    AnswerLost,
    AppError,
    Conflict,
    InvalidInput,
    NameTaken,
    Throttled,
    Unexpected,
)
from traindeck.domain.jobs.checks import AcceptedFinding, CheckReport
from traindeck.domain.jobs.code_choice import CodeOf
from traindeck.domain.jobs.form import job_file, validation
from traindeck.domain.jobs.job import RemoteJob, Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec, Target
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, exact_words, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, delays, utc_now
from traindeck.runtime.tasks import Listeners, safely
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.jobs.code.code_bundles import NO_CODE, CodeBundles, CodeLook
from traindeck.services.jobs.code.code_limits import LimitsOf, of_the_service
from traindeck.services.jobs.code.code_manifests import Bundle
from traindeck.services.jobs.code.code_tree import FrozenCode
from traindeck.services.jobs.code.code_upload import CodePlaces, OnStage, place_of_blobs, send_code
from traindeck.services.jobs.locks import held
from traindeck.services.jobs.run_names import unused_name
from traindeck.services.storage.planes import Planes

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore
    from traindeck.store.settings import ProfileStore

log = logging.getLogger(__name__)

LOOK_UPS_S = (2.0, 5.0, 10.0, 20.0, 40.0)
"""When to look whether a request without an answer arrived, in seconds after it was lost."""

_BY_NAME = 5
"""So many late runs are looked up one by one; for more, the jobs of their time are listed."""
_CLOCKS_APART = timedelta(days=1)
"""How far the service's clock may be from this one before a late job is missed in that list."""

_THROTTLED_S = (1.0, 60.0)
_THROTTLED_AT_MOST_S = 300.0

Accept = Callable[[CheckReport], Awaitable[bool]]
"""Asks whoever is there whether the job is to be sent in spite of what is amber."""

Gate = Callable[[JobSpec, Path, Connection, FrozenCode | None, Accept], Awaitable[tuple[AcceptedFinding, ...]]]
"""Looks at a job before anything of it leaves: the form, what its folder is relative to, the account, and the frozen
code of an earlier run. Raises what keeps it from being sent; the answer is what was accepted."""

AcceptBeside = Callable[[Sequence[Run]], Awaitable[bool]]
"""Asks whoever is there whether to send beside these, of which nobody knows whether they were submitted."""


_NO_KEYS = text("The keys were rejected. Waiting for new ones…")


def _quiet(_: Text) -> None:
    """Nobody watches the stages."""


async def nobody_accepts(_: object) -> bool:
    """Nobody is there who could be asked."""
    return False


async def always(_: str) -> bool:
    """Every account may be asked at any time."""
    return True


async def no_mark() -> str:
    """Nobody tells the runs of one home from those of another."""
    return ""


_STOPPED = text("Stopped before the job was submitted.")


@dataclass(eq=False, slots=True)
class _Answer:
    """What is known of a request while it is made."""

    connection: Connection | None = None
    job: RemoteJob | None = None
    is_no: bool = False
    """The service has said that nothing was made, and it is not asked again yet."""

    @property
    def asked(self) -> Connection:
        assert self.connection is not None
        return self.connection

    @property
    def made(self) -> RemoteJob:
        assert self.job is not None
        return self.job


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
    accept_beside: AcceptBeside = nobody_accepts
    limits_of: LimitsOf = of_the_service
    mark_of_home: Callable[[], Awaitable[str]] = no_mark
    may_ask: Callable[[str], Awaitable[bool]] = always
    """Whether an account can be asked for late jobs: a Lab is not started for them."""
    clock: Clock = utc_now
    look_ups_s: Sequence[float] = field(default_factory=lambda: LOOK_UPS_S)
    bring_code: Callable[[Run], Awaitable[Run]] | None = None
    """Freezes the code of a run that was made elsewhere."""
    throttled_s: tuple[float, float] = _THROTTLED_S
    """The shortest and the longest pause of ours where the service takes no more for now."""
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
        parent: str = "",
    ) -> Run:
        """Freeze, upload, send. The run is in the records from the first moment on; `parent`: the run it is like."""
        chosen = self.profile_for(spec, profile)
        return await self._submit(spec, base, chosen, parent, safely(stage), accept or self.accept)

    async def look(self, spec: JobSpec, base: Path, profile: str | None = None) -> CodeLook:
        """At the code that would be submitted, and what of it would be sent."""
        chosen = self.profile_for(spec, profile)
        validation.refuse(validation.validate(spec))
        places = CodePlaces(self._code_folder(spec.for_run("run", chosen), "run", chosen, "code"))
        where = place_of_blobs(self.connections.profile(chosen), places)
        return await self.bundles.look((base / spec.code_folder).absolute(), spec.ignore, where)

    async def _submit(
        self, spec: JobSpec, base: Path, profile: str, parent: str, stage: OnStage, accept: Accept
    ) -> Run:
        accepted = await self._accepted(spec, base, profile, None, stage, accept)
        validation.refuse(validation.validate(spec))
        if not spec.has_own_code:
            return await self._send_new(spec, profile, NO_CODE, parent, accepted, stage)
        stage(text("Freezing the code…"))
        # Kept whole, so that the form of an old run still knows its folder.
        spec = replace(spec, code_folder=str((base / spec.code_folder).absolute()))
        limits = await self.limits_of(profile)
        async with self.bundles.frozen(Path(spec.code_folder), spec.boot, spec.ignore, limits) as bundle:
            return await self._send_new(spec, profile, bundle, parent, accepted, stage)

    async def rerun(
        self,
        run_id: str,
        *,
        changes: Sequence[str] = (),
        spec: JobSpec | None = None,
        profile: str = "",
        code: CodeOf = CodeOf.THEN,
        stage: OnStage = _quiet,
        accept: Accept | None = None,
    ) -> Run:
        """The same again, or another form for another account, with the code as it was then or as its folder is now."""
        stage = safely(stage)
        before = await self.records.existing(run_id)
        if self.bring_code is not None:
            before = await self.bring_code(before)
        beside = await self._unsettled_beside(before)
        if beside and not await self.accept_beside(beside):
            raise Conflict(
                text("It is not known whether “{name}” was submitted, so it was not run again.", name=beside[0].name),
                text("Check it again, or delete it if you know that it is not there. Then run the job again."),
            )
        spec = before.spec if spec is None else replace(spec, code_folder=before.spec.code_folder)
        for change in changes:
            spec = job_file.with_setting(spec, change)
        chosen, accept = self.profile_for(spec, profile or before.profile), accept or self.accept
        if code is CodeOf.NOW or not spec.has_own_code:
            return await self._submit(spec, Path(spec.code_folder), chosen, before.id, stage, accept)
        async with self.bundles.again(before.bundle) as bundle:
            frozen = self.bundles.as_code(bundle)
            accepted = await self._accepted(spec, Path(spec.code_folder), chosen, frozen, stage, accept)
            validation.refuse(validation.validate(spec))
            return await self._send_new(spec, chosen, bundle, before.id, accepted, stage)

    async def _unsettled_beside(self, run: Run) -> list[Run]:
        """Of the same job: nobody knows what became of these, and nobody here is at them."""
        return [
            one
            for one in await self.records.live()
            if (one.profile, one.spec.name) == (run.profile, run.spec.name)
            and (one.state is RunState.UNCONFIRMED or (one.state is RunState.SUBMITTING and one.id not in self.begun))
        ]

    async def _accepted(
        self, spec: JobSpec, base: Path, profile: str, frozen: FrozenCode | None, stage: OnStage, accept: Accept
    ) -> tuple[AcceptedFinding, ...]:
        async def look(connection: Connection) -> tuple[AcceptedFinding, ...]:
            return await self.gate(spec, base, connection, frozen, accept)

        stage(text("Checking the job…"))
        return await self.connections.work(profile, look, lambda: stage(_NO_KEYS))

    async def settle(self, late_of: Collection[str] | None = None, late_within_s: float | None = None) -> list[Run]:
        """Settle the submissions that a program left open, and claim late jobs; return the runs that changed state.

        `late_of`: ask no other accounts for late jobs than these; `late_within_s`: and none for longer.
        A submission that no service answers about stays open; its error is raised after all others are done.
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

        async def claim_late(profile: str, runs: Sequence[Run]) -> None:
            try:
                async with asyncio.timeout(late_within_s):
                    settled.extend(await self._claim_late(profile, runs))
            except TimeoutError:
                log.warning("late jobs of %s: no response in time", profile)
            except AppError as error:  # these runs say themselves until when they were looked for
                log.warning("late jobs of %s: %s %s", profile, error, error.detail)

        late = defaultdict[str, list[Run]](list)
        for run in await self.records.late(self.clock()):
            if late_of is None or run.profile in late_of:
                late[run.profile].append(run)
        async with asyncio.TaskGroup() as group:
            for profile, runs in late.items():
                group.create_task(claim_late(profile, runs))
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

    async def claim(self, profile: str, jobs: Sequence[RemoteJob]) -> list[Run]:
        """Give jobs that arrived after they were given up to their runs; `jobs` are some of the account."""
        by_name = {job.name: job for job in jobs if job.id}
        claimed: list[Run] = []
        for run in await self.records.without_job(profile) if by_name else ():
            if (job := by_name.get(run.name)) is None:
                continue
            async with self.alone(run.id) as mine:
                now = await self.records.get(run.id)
                if mine and now is not None and not now.job_id:
                    claimed.append(await self._adopt(now, job))
        return claimed

    async def _claim_late(self, profile: str, runs: Sequence[Run]) -> list[Run]:
        if not await self.may_ask(profile):
            return []
        asked = self.clock()
        training = (await self.connections.open(profile)).training
        is_whole = True
        if len(runs) <= _BY_NAME:
            jobs = [job for run in runs if (job := await training.find_by_name(run.name)) is not None]
        else:
            since = min(run.submitted or run.created for run in runs) - _CLOCKS_APART
            jobs, is_whole = await training.jobs_since(since)
        claimed = await self.claim(profile, jobs)
        for run in runs if is_whole else ():
            if all(one.id != run.id for one in claimed):
                await self.records.change(run.id, checked=asked)
        return claimed

    async def abandon(self, run_id: str) -> None:
        """Forget a submission of which nobody knows what became: if its job is there, it runs and is charged."""
        async with self.alone(run_id) as mine:
            run = await self.records.existing(run_id)
            if not run.state.is_open or not mine:
                raise Conflict(
                    text("“{name}” is being submitted.", name=run.name),
                    text("Wait until it is known what became of it. Nothing was deleted."),
                )
            await self.records.remove(run.id)

    async def _settle(self, run_id: str, *, patient: bool) -> Run | None:
        """The run as it is afterwards; None: it is left to the program that is, or was, at it."""
        async with self.alone(run_id) as mine:
            run = await self.records.get(run_id)
            if run is None or not mine or not run.state.is_open:
                return None
            if run.state is RunState.PREPARING:
                reason = text("TrainDeck was closed before the job was submitted.")
                return await self._become(run, state=RunState.NOT_SENT, reason=reason)
            connection = await self.connections.open(run.profile)
            job = await self._found(run, connection, self._moments_left(run) if patient else (0.0,))
            if job is not None:
                return await self._adopt(run, job)
            return await self._not_there(run) if patient or self._is_late(run) else run

    def alone(self, run_id: str) -> AbstractAsyncContextManager[bool]:
        """Whether it is this program that may act on the run's submission now."""
        return held(self.folder_of(run_id) / "submission.lock", self.disk)

    def _moments_left(self, run: Run) -> tuple[float, ...]:
        """Now, and those moments of its looking up that are still to come."""
        passed_s = max(0.0, (self.clock() - (run.submitted or run.created)).total_seconds())
        return (0.0, *(moment - passed_s for moment in self.look_ups_s if moment > passed_s))

    def _is_late(self, run: Run) -> bool:
        """Every moment at which its job could reasonably have shown itself has passed."""
        return len(self._moments_left(run)) == 1

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
        run_id, name = await unused_name(self.records, spec.name, now)
        run = Run(
            id=run_id,
            number=0,
            name=name,
            profile=profile,
            spec=spec,
            state=RunState.PREPARING,
            created=now,
            bundle=bundle.id,
            code_url=str(self._code_folder(spec.for_run(name, profile), name, profile, bundle.folder_name)),
            resubmission_of=parent,
            accepted=accepted,
        )
        async with self.alone(run.id):
            run = await self.records.add(run)
            self.begun.add(run.id)
            self.changed.tell(run)
            return await self._send(run, bundle, stage)

    async def _send(self, run: Run, bundle: Bundle, stage: OnStage) -> Run:
        async def upload(connection: Connection) -> None:
            if bundle is not NO_CODE:
                folder = ObjectPath.parse(run.code_url)
                await send_code(self.planes, connection, self.bundles, bundle, folder, await self.mark_of_home(), stage)

        try:
            stage(text("Connecting…"))
            await self.connections.work(run.profile, upload, lambda: stage(_NO_KEYS))
            # From here on the request may have left: only the service knows. Nothing leaves unless that is on disk.
            run = await self.records.change_on_disk(run.id, state=RunState.SUBMITTING, submitted=self.clock())
            self.changed.tell(run)
        except asyncio.CancelledError:
            if run.state is RunState.PREPARING:
                await self._was_not_sent(run, _STOPPED)
            raise
        except Exception as error:
            known = error if isinstance(error, AppError) else Unexpected(f"{type(error).__name__}: {error}")
            await self._was_not_sent(run, known.paragraph())
            raise
        stage(text("Submitting the job…"))
        return await self._request(run, stage)

    async def _request(self, run: Run, stage: OnStage) -> Run:
        answer = _Answer()

        async def create(connection: Connection) -> None:
            answer.connection = connection
            answer.job = await self._created(run, connection, stage, answer)

        try:
            # Refused keys mean that nothing was made, so the same may be sent again with others.
            await self.connections.work(run.profile, create, lambda: stage(_NO_KEYS))
        except AnswerLost as error:
            log.warning("no answer to the submission of %s: %s", run.name, error)
            stage(text("No response. Checking whether the job was submitted…"))
            return await self._look_up(run, answer.asked, self.look_ups_s)
        except NameTaken:
            # The name has a random part: if it exists, it is this very request that made it.
            stage(text("The service already has a job of this name. Checking whether it is this one…"))
            return await self._look_up(run, answer.asked, (0.0, *self.look_ups_s))
        except AppError as error:
            await self._was_not_sent(run, error.paragraph())
            raise
        except asyncio.CancelledError:
            if answer.is_no:
                await self._was_not_sent(run, _STOPPED)
            raise
        # Outside: whatever keeps it from being written down, the job is there.
        return await self._adopt(run, answer.made)

    async def _created(self, run: Run, connection: Connection, stage: OnStage, answer: _Answer) -> RemoteJob:
        """Ask for it; where the service takes no more for now it says that nothing was made, so it is asked again."""
        pauses, waited_s = delays(*self.throttled_s, random.Random()), 0.0
        while True:
            try:
                answer.is_no = False
                return await connection.training.create(run.name, run.filled_spec, ObjectPath.parse(run.code_url))
            except Throttled as error:
                pause_s = max(next(pauses), error.retry_after_s or 0.0)
                waited_s += pause_s
                if waited_s > _THROTTLED_AT_MOST_S:
                    raise
                answer.is_no = True
                stage(text("{reason} Trying again in {seconds} s…", reason=error.title, seconds=math.ceil(pause_s)))
            await asyncio.sleep(pause_s)

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
        return await self._not_there(run) if job is None else await self._adopt(run, job)

    async def _not_there(self, run: Run) -> Run:
        """The service has answered that it has no such job, and had time enough to make one."""
        reason = text(
            "There was no response to the submission, and at {time} the service responded that it has no job of this "
            "name. A request that was held up on its way could still arrive: then its job is taken in here.",
            time=exact_words(self.clock()),
        )
        return await self._become(run, state=RunState.NOT_SENT, reason=reason, checked=self.clock())

    async def _was_not_sent(self, run: Run, reason: Text) -> None:
        """What keeps this from being written down is less than what it is about."""
        try:
            # Without `checked` no late job is looked for; one that shows up is still claimed, as `submitted` stays.
            await self._become(run, state=RunState.NOT_SENT, reason=reason, submitted=run.submitted)
        except AppError as error:
            log.warning("writing down what became of %s: %s %s", run.name, error, error.detail)

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

    async def _adopt(self, run: Run, job: RemoteJob) -> Run:
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

    def _code_folder(self, spec: JobSpec, name: str, profile: str, folder_name: str) -> ObjectPath:
        """Each run's code in a folder of its own, in a bucket the job writes to anyway."""
        places = (spec.log_to, *(channel.place for channel in (*spec.outputs, *spec.inputs)))
        root = ObjectPath(next(ObjectPath.parse(place).bucket for place in places if place))
        if work_in := self.connections.profile(profile).work_in:
            only = ObjectPath.parse(work_in).as_folder()
            root = only if only.bucket == root.bucket else root
        return CodePlaces.of_run(root, name, folder_name).folder

    async def _become(self, run: Run, **changes: object) -> Run:
        after = await self.records.change(run.id, **changes)
        self.changed.tell(after)
        return after
