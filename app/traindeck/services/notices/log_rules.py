"""Does what the user's rules say when a line comes in the log of a run: once for each place, also over restarts."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, InvalidInput, KeysRefused
from traindeck.domain.jobs.job import Run
from traindeck.domain.notices.line_rules import LineRule, RuleAct
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.clock import delays, utc_now
from traindeck.runtime.files import local_errors, write_whole
from traindeck.runtime.tasks import Listeners, set_within
from traindeck.services.logs.bounded_expression import BoundedExpression
from traindeck.services.logs.log_files import LogFile, alone_with_log

if TYPE_CHECKING:
    from traindeck.services.jobs.runs import RunService
    from traindeck.services.logs.run_logs import RunLogs
    from traindeck.store.rule_file import RuleFile
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

_BLOCK = 4 << 20
# A line without an end is looked at in pieces of so much.
_LONGEST = 1 << 16
_LOOK_S = 2.0
_RETRIES_S = (2.0, 60.0)
_PATIENCE_S = 5.0
_TAKEN_UP = timedelta(days=2)
MOST_FOUND = 20
"""How often a rule acts on one run; a line that comes ten thousand times is one piece of news."""
_MOST_WORDS = 300


@dataclass(frozen=True, slots=True)
class LineFound:
    """A rule found a line; `is_last_told`: more of them are not told of."""

    run: Run
    rule: LineRule
    worker: str
    offset: int
    line: str
    is_last_told: bool = False
    trouble: AppError | None = None
    """Why what the rule says could not be done."""


@dataclass(slots=True)
class _Done:
    """What was looked at of a run's logs, and what is still to be done about it; written before it is done."""

    offsets: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By worker: the generation of the file, and up to where."""
    counts: dict[str, int] = field(default_factory=dict)
    """By rule: how often it has acted."""
    due: list[tuple[str, str, int, str]] = field(default_factory=list)
    """Rule, worker, offset and line."""


@dataclass(eq=False, slots=True)
class LogRules:
    """Looks at what is new in the logs of live runs while `run()` runs."""

    file: RuleFile
    records: RunStore
    logs: RunLogs
    runs: RunService
    disk: BlockingCalls
    place: Callable[[str], Path]
    """Where it is noted of a run what was done."""
    found: Listeners[LineFound] = field(default_factory=Listeners)
    refused: Listeners[InvalidInput] = field(default_factory=Listeners)
    """The rules cannot be used; told once for each state of the file."""
    _rules: tuple[tuple[LineRule, BoundedExpression], ...] = ()
    _read_at: float = -1.0
    _knows_ended: bool = False
    _watched: dict[str, int] = field(default_factory=dict)
    """Runs that were live at the last look, with how much was held of them."""

    async def run(self) -> None:
        grown = asyncio.Event()
        pauses = delays(*_RETRIES_S, random.Random())
        with self.logs.grew.heard_by(lambda _: grown.set()):
            while True:
                grown.clear()
                try:
                    await self._look()
                except AppError as error:
                    # What is due is noted, and done at a later look.
                    log.warning("looking at logs for rules: %s %s", error, error.detail)
                    await asyncio.sleep(next(pauses))
                else:
                    pauses = delays(*_RETRIES_S, random.Random())
                await asyncio.sleep(_LOOK_S / 10)
                await set_within(grown, _LOOK_S)

    async def _look(self) -> None:
        await self._read_rules()
        if not self._rules:
            return
        live = {run.id: run for run in await self.records.live() if run.job_id}
        if not self._knows_ended:
            await self._take_up_ended()
            self._knows_ended = True
        troubles = []
        # The last lines of one that has ended are looked at, too.
        for run_id in {*self._watched, *live}:
            try:
                await self._look_at_one(run_id, live.get(run_id))
            except AppError as error:
                troubles.append(error)
        if troubles:
            raise troubles[0]

    async def _take_up_ended(self) -> None:
        """Those that were looked at before: the cloud may have brought their last lines when nobody waited for them."""
        ended = [run for run in await self.records.since(utc_now() - _TAKEN_UP) if run.state.is_over and run.job_id]
        begun = await self.disk.run(lambda _: [run.id for run in ended if self.place(run.id).exists()])
        self._watched |= dict.fromkeys(begun, -1)

    async def _look_at_one(self, run_id: str, live: Run | None) -> None:
        run = live or await self.records.get(run_id)
        if run is None:
            self._watched.pop(run_id, None)
            return
        is_whole = live is None and await self.logs.are_whole(run)
        held_bytes = await self.disk.run(partial(self._held_bytes, run))
        self._watched.setdefault(run_id, -1)
        if self._watched[run_id] != held_bytes or is_whole:
            await self.look_at(run)
        self._watched[run_id] = held_bytes
        if is_whole:
            del self._watched[run_id]

    async def are_there(self) -> bool:
        """Whether anything would be done about any line."""
        await self._read_rules()
        return bool(self._rules)

    # For whoever edits them

    async def known(self) -> tuple[LineRule, ...]:
        """As the file has them; raises InvalidInput where it cannot be used."""
        return await self.disk.run(lambda _: self.file.read())

    async def put(self, rule: LineRule, instead_of: str = "") -> None:
        """Raises InvalidInput for one that cannot be used; it applies from the next line on."""

        def work(_: CancelToken) -> None:
            BoundedExpression(rule.pattern, minds_case=False)
            self.file.put(rule, instead_of)

        await self.disk.run(work)

    async def remove(self, name: str) -> None:
        await self.disk.run(lambda _: self.file.remove(name))

    async def tried(self, pattern: str, run: Run, most: int) -> list[tuple[str, str]]:
        """Which lines it would find in the logs of a run, with their workers; nothing is done about them."""

        def work(token: CancelToken) -> list[tuple[str, str]]:
            expression, found = BoundedExpression(pattern, minds_case=False), list[tuple[str, str]]()
            for task in run.tasks:
                token.check()
                left = most - len(found)
                found += [(task, line) for line in lines_found(self.logs.file(run.id, task), expression, left)]
            return found

        return await self.disk.run(work)

    async def look_at(self, run: Run) -> None:
        """Find what is new in its logs, and do what is to be done."""
        rules = [pair for pair in self._rules if pair[0].concerns(run.spec.name)]
        if not rules:
            return
        has_more = True
        while has_more:
            has_more, due = await self.disk.run(lambda token: self._scan(run, rules, token))
            for one in due:
                await self._act(run, one)
            if due:
                await self.disk.run(partial(self._settle, run, due))

    async def _read_rules(self) -> None:
        changed = await self.disk.run(lambda _: self.file.changed())
        if changed == self._read_at:
            return
        self._read_at = changed
        try:
            self._rules = await self.disk.run(lambda _: compiled(self.file.read()))
        except InvalidInput as error:
            self._rules = ()
            self.refused.tell(error)

    def _held_bytes(self, run: Run, _: CancelToken) -> int:
        return sum(self.logs.file(run.id, task).size() for task in run.tasks)

    async def _act(self, run: Run, found: LineFound) -> None:
        try:
            if found.rule.act is RuleAct.LABEL:
                await self.runs.notes.tag(run.id, [found.rule.label])
            elif found.rule.act is RuleAct.STOP:
                now = await self.records.get(run.id)
                if now is not None and now.state.can_stop:
                    await self.runs.stop(run.id)
        except AppError as error:
            if error.passes or isinstance(error, KeysRefused):
                raise
            found = replace(found, trouble=error)
        self.found.tell(found)

    # In a worker

    def _scan(
        self, run: Run, rules: Sequence[tuple[LineRule, BoundedExpression]], token: CancelToken
    ) -> tuple[bool, list[LineFound]]:
        """One step: note what is found, and what was left undone before. Whether there is more to look at."""
        with alone_with_log(self.place(run.id), _PATIENCE_S):
            done = self._read(run)
            has_more = False
            for worker in run.tasks:
                token.check()
                has_more |= self._scan_worker(run, worker, rules, done)
            self._write(run, done)
        known = {rule.name: rule for rule, _ in rules}
        due = [
            LineFound(run, known[name], worker, offset, line, done.counts.get(name, 0) >= MOST_FOUND)
            for name, worker, offset, line in done.due
            if name in known
        ]
        return has_more, due

    def _scan_worker(
        self, run: Run, worker: str, rules: Sequence[tuple[LineRule, BoundedExpression]], done: _Done
    ) -> bool:
        file = self.logs.file(run.id, worker)
        generation = file.notes().generation
        known = done.offsets.get(worker)
        if known is None:
            # What was there before the rules were written is not their matter.
            known = (generation, file.size() if self._read_at > run.created.timestamp() else 0)
        offset = known[1] if known[0] == generation else 0
        block = file.read(offset, _BLOCK)
        end = _whole_lines(block, is_over=file.notes().is_whole)
        lines = block[:end].replace(b"\r", b"\n")
        for rule, expression in rules:
            most = MOST_FOUND if rule.act is RuleAct.NOTIFY else 1
            for begin, line_end in islice(expression.lines_in(lines), max(0, most - done.counts.get(rule.name, 0))):
                count = done.counts.get(rule.name, 0)
                done.counts[rule.name] = count + 1
                words = lines[begin : min(line_end, begin + _MOST_WORDS)].decode("utf-8", "replace")
                done.due.append((rule.name, worker, offset + begin, words))
        done.offsets[worker] = (generation, offset + end)
        return len(block) == _BLOCK

    def _settle(self, run: Run, acted: Sequence[LineFound], _: CancelToken) -> None:
        """These are done."""
        gone = {(one.rule.name, one.worker, one.offset) for one in acted}
        with alone_with_log(self.place(run.id), _PATIENCE_S):
            done = self._read(run)
            done.due = [one for one in done.due if tuple(one[:3]) not in gone]
            self._write(run, done)

    def _read(self, run: Run) -> _Done:
        try:
            kept = json.loads(self.place(run.id).read_bytes())
            return _Done(
                {worker: (int(one[0]), int(one[1])) for worker, one in kept["offsets"].items()},
                {str(name): int(count) for name, count in kept["counts"].items()},
                [(str(one[0]), str(one[1]), int(one[2]), str(one[3])) for one in kept["due"]],
            )
        except FileNotFoundError:
            return _Done()
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            # Damaged: what was done is not known, so nothing of what is held is acted on again.
            files = {worker: self.logs.file(run.id, worker) for worker in run.tasks}
            return _Done({worker: (file.notes().generation, file.size()) for worker, file in files.items()})

    def _write(self, run: Run, done: _Done) -> None:
        content = {"offsets": done.offsets, "counts": done.counts, "due": done.due}
        place = self.place(run.id)
        with local_errors(place):
            write_whole(place, json.dumps(content).encode())


def compiled(rules: Sequence[LineRule]) -> tuple[tuple[LineRule, BoundedExpression], ...]:
    """Raises InvalidInput for the first whose pattern cannot be used."""
    return tuple((rule, BoundedExpression(rule.pattern, minds_case=False)) for rule in rules if rule.is_enabled)


def lines_found(file: LogFile, expression: BoundedExpression, most: int) -> list[str]:
    """Which lines of a log it finds, at most so many; nothing is done about them."""
    found: list[str] = []
    offset = 0
    while len(found) < most and (block := file.read(offset, _BLOCK)):
        end = _whole_lines(block, is_over=len(block) < _BLOCK)
        lines = block[:end].replace(b"\r", b"\n")
        spans = islice(expression.lines_in(lines), most - len(found))
        found += [lines[begin : min(last, begin + _MOST_WORDS)].decode("utf-8", "replace") for begin, last in spans]
        offset += end
    return found


def _whole_lines(block: bytes, *, is_over: bool) -> int:
    """How much of it is lines that are complete; a bar that is drawn over and over counts each time."""
    end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
    return len(block) if is_over or len(block) - end > _LONGEST else end
