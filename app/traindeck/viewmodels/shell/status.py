"""The status bar: who, what is live, what it costs, how fast, how fresh."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.accounts.profiles import NO_PROFILE, REGIONS, Profile
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.live_costs import LiveCostsState
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import CHINESE, Text, say, say_count, spoken
from traindeck.runtime.tasks import Listeners, Repeat, TaskScope

if TYPE_CHECKING:  # the bar stands before anything of runs and transfers is loaded
    from traindeck.domain.jobs.job import Run
    from traindeck.services.accounts.profiles import ProfileService
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.jobs.runs import RunService
    from traindeck.services.transfers import Transfer

BEAT_MS = 1000
_RATE_OVER_S = 3.0


@dataclass(frozen=True, slots=True)
class StatusState:
    """None is what nobody knows yet."""

    profile: Profile | None = None
    live: int | None = None
    moving: int = 0
    on_hold: int = 0
    """Transfers that wait for somebody."""
    bytes_per_s: float | None = None
    last_answer: datetime | None = None
    last_known: datetime | None = None
    """When an account that does not answer now did so last; None: all answer, or it never has."""
    trouble: AppError | None = None
    lab_is_stopped: bool = False
    under_way: tuple[Text, ...] = ()
    """What takes longer than a moment, and is shown nowhere else."""
    costs: LiveCostsState = field(default_factory=LiveCostsState)


class Status(QObject):
    """What holds for the whole window, in words."""

    changed = Signal()

    def __init__(
        self,
        profiles: ProfileService,
        service: RunService,
        watch: RunWatch,
        moved: Listeners[Transfer],
        scope: TaskScope,
    ) -> None:
        super().__init__()
        self.state = StatusState()
        self._profiles = profiles
        self._service = service
        self._watch = watch
        self._scope = scope
        self._live: dict[str, Run] | None = None
        self._transfers: dict[int, Transfer] = {}
        self._moved_bytes = 0
        self._samples: deque[tuple[float, int]] = deque()
        self._deaf = [
            watch.changed.add(self._on_run),
            watch.gone.add(self._on_gone),
            watch.connection_state.add(lambda _: self.refresh()),
            moved.add(self._on_transfer),
            scope.under_way.add(self._on_under_way),
        ]
        self._beat = QTimer(self)
        self._beat.setInterval(BEAT_MS)
        self._beat.timeout.connect(self.refresh)
        self._beat.start()

    def close(self) -> None:
        self._beat.stop()
        for stop_listening in self._deaf:
            stop_listening()

    def _on_under_way(self, words: tuple[Text, ...]) -> None:
        self.state = replace(self.state, under_way=words)
        self.changed.emit()

    def under_way_words(self) -> str:
        """The newest, and how many there are besides."""
        every = [say(words) for words in self.state.under_way]
        if len(every) > 1:
            return say("{words} and {count} more", words=every[-1], count=len(every) - 1)
        return every[0] if every else ""

    def lab_stopped(self, is_stopped: bool) -> None:
        self.state = replace(self.state, lab_is_stopped=is_stopped)
        self.changed.emit()

    def show_costs(self, costs: LiveCostsState) -> None:
        self.state = replace(self.state, costs=costs)
        self.changed.emit()

    def load(self) -> None:
        """Read anew which profile is in use and which runs are live."""
        self._scope.start("read the status", self._load, Repeat.REPLACE)

    async def _load(self) -> None:
        current = self._profiles.current
        profile = next((profile for profile in self._profiles.all() if profile.name == current), None)
        live = {run.id: run for run in await self._service.records.live()}
        self._live = live
        self.state = replace(self.state, profile=profile)
        self.refresh()

    def _on_run(self, run: Run) -> None:
        if self._live is None:
            return
        if run.state.is_over:
            self._live.pop(run.id, None)
        else:
            self._live[run.id] = run
        self.refresh()

    def _on_gone(self, run_id: str) -> None:
        if self._live is not None and run_id in self._live:
            del self._live[run_id]
            self.refresh()

    def _on_transfer(self, transfer: Transfer) -> None:
        before = self._transfers.get(transfer.id)
        from traindeck.domain.transfers.records import TransferState

        if transfer.state is TransferState.RUNNING:
            # A cancelled or finished one may jump to its end; only what ran counts as moved.
            self._moved_bytes += max(0, transfer.done_bytes - (before.done_bytes if before else 0))
        if transfer.state.is_over:
            self._transfers.pop(transfer.id, None)
        else:
            self._transfers[transfer.id] = transfer

    def refresh(self) -> None:
        live = self._live
        answers = [answer for profile in self._looked_at() if (answer := self._watch.accounts[profile].last_answer)]
        asked = self._looked_at() | ({self.state.profile.name} if self.state.profile else set())
        troubles = {profile: trouble for profile in sorted(asked) if (trouble := self._watch.trouble(profile))}
        known = [answer for profile in troubles if (answer := self._watch.accounts[profile].last_answer)]
        self.state = replace(
            self.state,
            live=None if live is None else len(live),
            moving=sum(not one.state.is_on_hold for one in self._transfers.values()),
            on_hold=sum(one.state.is_on_hold for one in self._transfers.values()),
            bytes_per_s=self._rate(),
            last_answer=min(answers, default=None),
            last_known=min(known, default=None),
            trouble=next(iter(troubles.values()), None),
        )
        self.changed.emit()

    def _looked_at(self) -> set[str]:
        """The profiles with live runs, else the one in use."""
        live = {run.profile for run in (self._live or {}).values()}
        current = self.state.profile
        return live or ({current.name} if current else set())

    def _rate(self) -> float | None:
        now = time.monotonic()
        self._samples.append((now, self._moved_bytes))
        while self._samples[0][0] < now - _RATE_OVER_S and len(self._samples) > 1:
            self._samples.popleft()
        begun, before = self._samples[0]
        seconds = now - begun
        return (self._moved_bytes - before) / seconds if self._transfers and seconds > 0 else None

    def profile_words(self) -> str:
        profile = self.state.profile
        if profile is None:
            return say("No account selected") if self._profiles.current == NO_PROFILE else "–"
        if profile.is_lab:
            return say("Lab (not running)") if self.state.lab_is_stopped else say("Lab on this computer")
        return say("{profile} · {region}", profile=profile.name, region=region_words(profile.region))

    def live_words(self) -> str:
        """With their age while the account cannot be reached; never 0 for what was not read."""
        live, costs = self.state.live, self.state.costs
        if live is None:
            return say("Active jobs: –")
        words = f"{live}"
        if costs.unheard:
            words = say("{count} or more", count=live + costs.others) if live + costs.others else say("unknown")
        elif costs.others:
            words = say("{count} and {others} made elsewhere", count=live, others=costs.others)
        if (age := self._age_of_last_known()) is not None:
            return say("Active jobs {age}: {words}", age=age_words(age), words=words)
        return say("Active jobs: {words}", words=words)

    def price_words(self) -> str:
        """Never 0 for a job that is charged: what is not known is said so."""
        costs = self.state.costs
        if costs.jobs is None:
            return say("Cost: –")
        from traindeck.domain.jobs.prices import money_words  # not for the first frame

        known = money_words(costs.per_hour, costs.currency)
        if costs.unknown == costs.paid and (costs.paid or costs.unheard):
            words = say("unknown")
        elif not costs.paid:
            words = say("none right now") if self._age_of_last_known() is None else say("none", "cost")
        elif costs.unheard:
            words = say("{price} per hour or more", price=known)
        elif costs.unknown:
            words = say("{price} per hour, {count} unknown", price=known, count=costs.unknown)
        else:
            words = say("{price} per hour", price=known)
        if self._age_of_last_known() is not None:
            return say("Cost then: {words}", words=words)
        return say("Cost: {words}", words=words)

    def _age_of_last_known(self) -> float | None:
        """In seconds, while the account does not answer; None: it does, or never has."""
        last = self.state.last_known
        return None if last is None else max(0.0, (datetime.now(UTC) - last).total_seconds())

    def longest_words(self) -> str:
        """Empty: nothing runs."""
        longest = self.state.costs.longest
        if longest is None or longest.started is None:
            return ""
        from traindeck.domain.jobs.job import duration_words

        took = duration_words((datetime.now(UTC) - longest.started).total_seconds())
        return say("Longest: {name}, {time}", name=longest.name, time=took)

    def rate_words(self) -> str:
        if not self.state.moving:
            return say("Transfers: on hold") if self.state.on_hold else say("No transfers")
        if self.state.bytes_per_s is None:
            return say("Transfers: –")
        return say("Transfers: {rate}/s", rate=size_words(int(self.state.bytes_per_s)))

    def answer_words(self) -> str:
        if self.state.last_answer is None:
            is_asked = self.state.live or self.state.trouble or self.state.costs.unheard
            return say("No response yet") if is_asked else ""
        age_s = max(0.0, (datetime.now(UTC) - self.state.last_answer).total_seconds())
        if age_s < 2:
            return say("Updated just now")
        return say("Updated {age}", age=age_words(age_s))


def age_words(seconds: float) -> str:
    """How long ago; from a minute on coarse, for nobody reads seconds of an hour."""
    if seconds < 60:
        return say("{count} s ago", count=int(seconds))
    if seconds < 3600:
        return say("{count} min ago", count=int(seconds // 60))
    if seconds < 86400:
        return say("{count} h ago", count=int(seconds // 3600))
    return say_count("{count} day ago", "{count} days ago", int(seconds // 86400))


def region_words(region: str) -> str:
    """The region's name in the user's language; one we do not know stays as it is."""
    for name, english, chinese in REGIONS:
        if name == region:
            return chinese if spoken() == CHINESE else english
    return region
