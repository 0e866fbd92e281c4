"""What the services say about a job's places and machines: asked once for all checks, and kept for a while."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

from traindeck.domain.errors import AppError, KeysRefused, NotFound
from traindeck.domain.jobs.choices import Choices
from traindeck.domain.storage.objects import Bucket, ObjectPath
from traindeck.runtime.clock import Clock, utc_now
from traindeck.services.accounts.key_checks import TRIAL_NAME
from traindeck.services.storage.place_facts import PlaceFacts

if TYPE_CHECKING:
    from traindeck.domain.jobs.pools import JobQuota, ResourcePool
    from traindeck.services.accounts.connections import Connection, Connections
    from traindeck.services.jobs.choices import JobChoices
    from traindeck.services.storage.place_facts import PlaceService
    from traindeck.services.storage.sdk.buckets import ObsStorage
    from traindeck.store.runs import RunStore

Value = TypeVar("Value")

KEPT = timedelta(minutes=5)
"""What an account is and may seldom changes while a form is filled."""
PLACES_KEPT = timedelta(seconds=30)
NEVER = timedelta()
_NEAR = 3
_CONNECTION = ("connection",)


@dataclass(frozen=True, slots=True)
class BucketThere:
    """A bucket as far as it matters to a job; `region` is empty when unknown."""

    name: str
    exists: bool
    region: str = ""
    nearest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveOutput:
    """Where a run that has not ended writes to."""

    run: str
    place: ObjectPath


@dataclass(eq=False, slots=True)
class ServiceFacts:
    """For all checks of a program; what was found out serves the next round too."""

    connections: Connections
    places: PlaceService
    choices: JobChoices
    records: RunStore
    clock: Clock = utc_now
    kept: dict[tuple[Any, ...], tuple[datetime, Any]] = field(default_factory=dict)

    def of(self, profile: str, connection: Connection | None = None) -> AccountFacts:
        """One round of questions to this account, over the connection where there is one already."""
        now = self.clock()
        if connection is not None:
            self.kept[(profile, *_CONNECTION)] = (now, connection)
        return AccountFacts(profile, self, now, {}, defaultdict(asyncio.Lock))

    def forget(self, profile: str) -> None:
        """What was changed there is asked for anew."""
        for key in [key for key in self.kept if key[0] == profile]:
            del self.kept[key]


@dataclass(eq=False, slots=True)
class AccountFacts:
    """Every question is asked once in a round, and a failure is every asker's; all raises AppError."""

    profile: str
    facts: ServiceFacts
    begun: datetime
    failed: dict[tuple[Any, ...], AppError]
    asking: defaultdict[tuple[Any, ...], asyncio.Lock]
    as_of: datetime | None = None
    """The oldest of what was told through this view of the round."""

    def noting(self) -> AccountFacts:
        """The same round, with an age of its own."""
        return AccountFacts(self.profile, self.facts, self.begun, self.failed, self.asking)

    @property
    def keys_refused(self) -> KeysRefused | None:
        """Why nothing more was asked in this round."""
        found = self.failed.get((self.profile,))
        return found if isinstance(found, KeysRefused) else None

    def is_fresh(self, as_of: datetime | None) -> bool:
        return as_of is not None and self.facts.clock() - as_of < PLACES_KEPT

    async def clock_ahead_s(self) -> float | None:
        """By how much the service's clock is before ours."""
        await self._obs_answers()
        return (await self._storage()).clock_ahead_s

    async def project(self) -> str:
        """The id of the project that ModelArts took."""
        await self._modelarts_answers()
        return await (await self._connection()).training.project()

    async def is_authorised(self) -> bool:
        return await self._of_modelarts("authorised", lambda one: one.training.is_authorised())

    async def offer(self) -> Choices:
        return await self._modelarts_answers()

    async def pools(self) -> list[ResourcePool]:
        return await self._of_modelarts("pools", lambda one: one.training.pools())

    async def quota(self) -> JobQuota | None:
        return await self._of_modelarts("quota", lambda one: one.training.job_quota(), NEVER)

    async def bucket_count(self) -> int | None:
        """None: the keys may not list them."""
        await self._obs_answers()
        return len(await self._known_buckets()) or None

    async def bucket(self, name: str) -> BucketThere:
        await self._obs_answers()
        known = await self._known_buckets()
        if name in known:
            return BucketThere(name, True, known[name].region)

        async def ask() -> BucketThere:
            # Somebody else's, or the keys may not list buckets at all.
            try:
                region = await (await self._connection()).settings.region(name)
            except NotFound:
                return BucketThere(name, False, nearest=tuple(get_close_matches(name, known, _NEAR)))
            return BucketThere(name, True, region)

        return await self._told(("bucket", name), ask, NEVER)

    async def encryption(self, bucket: str) -> str:
        """The method by which the bucket encrypts what comes; empty: by none."""
        await self._obs_answers()

        async def ask() -> str:
            return await (await self._connection()).settings.encryption(bucket)

        return await self._told(("encryption", bucket), ask, KEPT)

    async def bucket_bytes(self, bucket: str) -> int | None:
        """How much is in all of it, as of some time ago; None: the service does not say."""
        await self._obs_answers()

        async def ask() -> int | None:
            return await (await self._connection()).settings.used_bytes(bucket)

        return await self._told(("used", bucket), ask, KEPT)

    async def place(self, path: ObjectPath) -> PlaceFacts:
        await self._obs_answers()

        async def ask() -> PlaceFacts:
            return await self.facts.places.look(self.profile, path, await self._storage())

        return await self._told(("place", path), ask, PLACES_KEPT)

    async def check_may_write(self, folder: ObjectPath) -> None:
        """Raise what keeps us from writing there."""
        await self._obs_answers()

        async def ask() -> None:
            await (await self._storage()).try_to_write(folder.join(TRIAL_NAME))

        await self._told(("write", folder), ask, KEPT)

    async def live_outputs(self) -> list[LiveOutput]:
        """Of the runs of this computer, and of all other jobs of the account that have not ended."""
        ours = [
            LiveOutput(run.name, ObjectPath.parse(channel.place).as_folder())
            for run in await self.facts.records.live()
            for channel in run.spec.for_run(run.name).outputs
            if channel.place.strip()
        ]
        theirs = await self._of_modelarts("live", lambda one: one.training.live_jobs(), NEVER)
        known = {one.run for one in ours}
        others = (job for job in theirs.jobs if job.name not in known)
        return [*ours, *(LiveOutput(job.name, place) for job in others for place in job.outputs)]

    async def _obs_answers(self) -> None:
        """One question goes first: keys that are refused are not shown again and again, which would lock them out."""
        await self._told(("obs",), self._known_buckets, PLACES_KEPT)

    async def _modelarts_answers(self) -> Choices:

        async def ask() -> Choices:
            return await self.facts.choices.load_now(self.profile, (await self._connection()).training)

        return await self._told(("offer",), ask, KEPT)

    async def _of_modelarts(
        self, name: str, ask: Callable[[Connection], Awaitable[Value]], kept: timedelta = KEPT
    ) -> Value:
        await self._modelarts_answers()

        async def work() -> Value:
            return await ask(await self._connection())

        return await self._told((name,), work, kept)

    async def _connection(self) -> Connection:
        """Opened once in a round: each time the keyring is asked, or the Lab whether it runs."""
        return await self._told(_CONNECTION, lambda: self.facts.connections.open(self.profile), NEVER)

    async def _storage(self) -> ObsStorage:
        return (await self._connection()).storage

    async def _known_buckets(self) -> dict[str, Bucket]:
        return await self.facts.places.known_buckets(self.profile, await self._storage())

    async def _told(self, question: tuple[Any, ...], ask: Callable[[], Awaitable[Value]], kept: timedelta) -> Value:
        """Of several who ask at once, the first asks for all."""
        key = (self.profile, *question)
        async with self.asking[key]:
            if (trouble := self.failed.get(key) or self.failed.get((self.profile,))) is not None:
                raise trouble
            told = self.facts.kept.get(key)
            if told is None or (told[0] < self.begun and self.facts.clock() - told[0] >= kept):
                try:
                    value = await ask()
                except AppError as error:
                    self.failed[key] = error
                    if isinstance(error, KeysRefused):
                        self.failed[(self.profile,)] = error
                    raise
                told = self.facts.kept[key] = (self.facts.clock(), value)
            self.as_of = told[0] if self.as_of is None else min(self.as_of, told[0])
            answer: Value = told[1]
            return answer
