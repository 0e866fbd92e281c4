"""The checks of the job form, while it is filled in: what was found out, how long ago, and what is still looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError, Unexpected
from traindeck.domain.jobs.checks import CheckFinding, CheckFix, CheckLevel, CheckReport
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.start_kinds import StartKind
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form.job_form import JobForm

if TYPE_CHECKING:
    from traindeck.services.jobs.checks.job_checks import JobChecks
    from traindeck.services.jobs.code.code_tree import FrozenCode

QUIET_S = 0.4
"""Somebody who types is not checked after each letter."""
_TOLD_MS = 40
_LOOK = "check the form"

LoadChecks = Callable[[], Awaitable["JobChecks"]]


@dataclass(frozen=True, slots=True)
class CheckedForm:
    """All that the answer of the checks depends on."""

    spec: JobSpec
    base: Path
    profile: str
    frozen: FrozenCode | None = None
    """The code of the run that the form is like, if it is that which goes."""
    kind: StartKind = StartKind.PRESET
    edition: int = 0
    """Of the code directory, as often as its files were seen to be others."""


@dataclass(frozen=True, slots=True)
class ChecksState:
    findings: tuple[CheckFinding, ...] = ()
    """In the order of the checks; those of checks that are still looked at are as they were before."""
    stale: frozenset[str] = frozenset()
    """The checks whose findings are of the form as it was before."""
    is_running: bool = False
    report: CheckReport | None = None
    """All about the form as it is now; None: that is not known yet."""
    trouble: AppError | None = None
    """Why nothing could be checked at all."""

    def of(self, level: CheckLevel) -> tuple[CheckFinding, ...]:
        return tuple(one for one in self.findings if one.level is level)

    @property
    def head(self) -> Text:
        """How many there are, and what they came to."""
        if self.trouble is not None:
            return text("The checks could not run: {reason}", reason=self.trouble.title)
        if not self.findings:
            return text("Checking…") if self.is_running else text("Not checked yet")
        counts = {level: len(self.of(level)) for level in CheckLevel}
        parts = [count_text("{count} check", "{count} checks", len(self.findings))]
        if failed := counts[CheckLevel.RED]:
            parts.append(text("{count} failed", "checks", count=f"{failed:,}"))
        if warned := counts[CheckLevel.AMBER]:
            parts.append(count_text("{count} warning", "{count} warnings", warned))
        if unknown := counts[CheckLevel.NOT_CHECKED]:
            parts.append(text("{count} not checked", count=f"{unknown:,}"))
        if len(parts) == 1 and self.report is not None:
            parts.append(text("all passed"))
        if self.is_running:
            parts.append(text("checking…"))
        return reduce(lambda before, part: text("{some}, {more}", "clauses", some=before, more=part), parts)

    @property
    def oldest(self) -> datetime | None:
        """When the services were asked about the one that is known the longest."""
        return min((one.as_of for one in self.findings if one.as_of is not None), default=None)


class LiveChecks(QObject):
    """Looks at the form whenever it rests, as long as somebody sees it; `state` says what is known."""

    changed = Signal()

    def __init__(self, form: JobForm, load: LoadChecks, scope: TaskScope, clock: Clock = utc_now) -> None:
        super().__init__()
        self._form = form
        self._load = load
        self._scope = scope
        self.clock = clock
        self.state = ChecksState()
        self.frozen: FrozenCode | None = None
        self._is_seen = False
        self._checks: JobChecks | None = None
        self._known: CheckReport | None = None
        self._about: CheckedForm | None = None
        self._edition = 0
        self._found: dict[str, tuple[CheckFinding, ...]] = {}
        self._settled: Callable[[], None] = lambda: None
        # Findings come by the dozen in a moment: they are shown together.
        self._telling = QTimer(self, singleShot=True, interval=_TOLD_MS)
        self._telling.timeout.connect(self._tell)
        form.changed.connect(self._on_form)

    # who looks

    def watch(self, is_seen: bool) -> None:
        """While nobody sees the form, nobody is asked about it."""
        if is_seen == self._is_seen:
            return
        self._is_seen = is_seen
        if is_seen:
            self._on_form()
        else:
            self.cancel()

    def cancel(self) -> None:
        """What is under way ends; what it has not come to stays as it was."""
        if self._scope.is_running(_LOOK):
            self._scope.cancel(_LOOK)
            self._about = None
            self._end(replace(self.state, is_running=False))

    def look_again(self) -> None:
        """All of it anew, also what was asked a moment ago."""
        self._known = self._about = None
        if self._checks is not None:
            self._checks.facts.forget(self._form.state.profile)
        self._on_form(at_once=True)

    def use_edited(self) -> None:
        """The code is another than it was; what services said of the rest still holds."""
        self._edition += 1
        self._known = None
        self._on_form(at_once=True)

    def use_frozen(self, code: FrozenCode | None) -> None:
        """It is this code that goes, or that of the working folder."""
        self.frozen = code
        self._on_form()

    def mend(self, fix: CheckFix) -> None:
        """Go this way out of what was found."""
        if fix.changes:
            self._form.mend(fix)
        if fix.creates is not None:
            profile = self._form.state.profile
            making = partial(self._make, profile, fix)
            self._scope.start(f"create {fix.creates}", making, words=text("Creating {place}…", place=str(fix.creates)))

    async def _make(self, profile: str, fix: CheckFix) -> None:
        await (await self._loaded()).mend(profile, fix)
        self.look_again()

    # for who submits

    @property
    def wanted(self) -> CheckedForm:
        state = self._form.state
        return CheckedForm(state.spec, state.base, state.profile, self.frozen, state.kind, self._edition)

    async def report(self) -> CheckReport:
        """All about the form as it stands; waits for what is under way, and begins what is not."""
        while (known := self._report_now()) is None:
            settled = asyncio.Event()
            self._settled = settled.set
            if not self._scope.is_running(_LOOK):
                self._start(0.0)
            await settled.wait()
            if self.state.trouble is not None:
                raise self.state.trouble
        return known

    def adopt(self, report: CheckReport) -> None:
        """What was found when the job was about to be sent."""
        self._known = report
        self._become(findings=report.findings, stale=frozenset(), report=report, trouble=None)

    def _report_now(self) -> CheckReport | None:
        return self.state.report if self._about == self.wanted else None

    # inside

    def _on_form(self, *, at_once: bool = False) -> None:
        if not self._form.wants_checks:
            self._leave_alone()
            return
        if self._about == self.wanted and self.state.report is not None:
            return
        if self._about != self.wanted:
            self._forget()
        if self._is_seen and self._form.state.profile:
            if self._scope.is_running(_LOOK) and self._about == self.wanted:
                return
            self._start(0.0 if at_once else QUIET_S)

    def _leave_alone(self) -> None:
        """Nothing is said about a form that nobody has begun."""
        self.cancel()
        self._found, self._known, self._about = {}, None, None
        self._become(findings=(), stale=frozenset(), is_running=False, report=None)

    def _forget(self) -> None:
        """What was said about it is about another form now."""
        if self.state.report is not None:
            self._become(report=None, stale=frozenset(one.check for one in self.state.findings))

    def _start(self, after_s: float) -> None:
        before, wanted = self._about, self.wanted
        if before is not None and before.kind is not wanted.kind:
            self._known = None  # what is missing is another thing now
        self._about = wanted
        if self._scope.start(_LOOK, lambda: self._look(wanted, after_s), Repeat.REPLACE):
            self._become(is_running=True)

    async def _look(self, wanted: CheckedForm, after_s: float) -> None:
        try:
            await asyncio.sleep(after_s)
            checks = await self._loaded()
            self._found = {}
            report = await checks.check(
                wanted.spec, wanted.base, wanted.profile,
                known=self._known, found=self._on_found, frozen=wanted.frozen, kind=wanted.kind,
            )  # fmt: skip
        except AppError as error:
            self._end(replace(self.state, is_running=False, trouble=error))
        except Exception as error:
            trouble = Unexpected(f"{type(error).__name__}: {error}")
            self._end(replace(self.state, is_running=False, trouble=trouble))
            raise
        else:
            self._known = report
            if self._about == wanted:
                self._end(ChecksState(report.findings, report=report))

    async def _loaded(self) -> JobChecks:
        if self._checks is None:
            self._checks = await self._load()
        return self._checks

    def _on_found(self, findings: Sequence[CheckFinding]) -> None:
        if findings:
            self._found[findings[0].check] = tuple(findings)
            if not self._telling.isActive():
                self._telling.start()

    def _tell(self) -> None:
        """What came takes the place of what the same check said before."""
        if self.state.is_running and self._found:
            self._become(
                findings=_in_place(self.state.findings, self._found),
                stale=self.state.stale - self._found.keys(),
                trouble=None,
            )

    def _end(self, state: ChecksState) -> None:
        self._telling.stop()
        self.state = state
        self.changed.emit()
        settled, self._settled = self._settled, lambda: None
        settled()

    def _become(self, **changes: object) -> None:
        state = replace(self.state, **changes)  # type: ignore[arg-type]
        if state != self.state:
            self.state = state
            self.changed.emit()


def _in_place(
    before: Sequence[CheckFinding], found: Mapping[str, tuple[CheckFinding, ...]]
) -> tuple[CheckFinding, ...]:
    shown: list[CheckFinding] = []
    left = dict(found)
    told: set[str] = set()
    for one in before:
        if one.check not in found:
            shown.append(one)
        elif one.check not in told:
            told.add(one.check)
            shown += left.pop(one.check)
    return (*shown, *(one for findings in left.values() for one in findings))
