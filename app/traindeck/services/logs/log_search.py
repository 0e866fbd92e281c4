"""Which runs said something: their logs on this computer, the newest first, within bounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from traindeck.domain.jobs.job import Run
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.logs.bounded_expression import BoundedExpression
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.logs.wanted import Wanted, expression_of

MOST_OF_ONE = 16 << 20
MOST_OF_ALL = 1 << 30
_BLOCK = 1 << 20
_LONGEST_LINE = 4096


@dataclass(frozen=True, slots=True)
class LogHit:
    run_id: str
    worker: str
    line: str


@dataclass(frozen=True, slots=True)
class LogHits:
    """The last line of each run that has it; `is_whole`: every log was read from beginning to end."""

    hits: tuple[LogHit, ...]
    is_whole: bool


class LogFinder:
    """Reads what is kept, asks no service."""

    def __init__(self, logs: RunLogs, disk: BlockingCalls) -> None:
        self._logs = logs
        self._disk = disk

    async def find(self, words: str, runs: Sequence[Run]) -> LogHits:
        """As typed, in capitals or not."""
        return await self._disk.run(lambda token: self._find(words, runs, token))

    def _find(self, words: str, runs: Sequence[Run], token: CancelToken) -> LogHits:
        pattern = BoundedExpression(expression_of(Wanted(words)), typed=words)
        hits, left, is_whole = [], MOST_OF_ALL, True
        for run in runs:
            for worker in run.tasks:
                token.check()
                file = self._logs.file(run.id, worker)
                size = file.size()
                is_whole = is_whole and size <= min(MOST_OF_ONE, left)
                found = _last_line(file, max(0, size - min(MOST_OF_ONE, left)), pattern)
                left = max(0, left - min(size, MOST_OF_ONE))
                if found is not None:
                    hits.append(LogHit(run.id, worker, found))
                    break
        return LogHits(tuple(hits), is_whole)


def _last_line(file: LogFile, first: int, pattern: BoundedExpression) -> str | None:
    """From the end on, because that is what most look for."""
    for data in _backwards(file, first):
        last = deque(pattern.spans(data), maxlen=1)
        if last:
            first_byte, behind = last[0]
            begin = max(data.rfind(b"\n", 0, first_byte) + 1, behind - _LONGEST_LINE)
            end = data.find(b"\n", behind)
            line = data[begin : min(end if end >= 0 else len(data), begin + _LONGEST_LINE)]
            return line.decode(errors="replace").rstrip("\r")
    return None


def _backwards(file: LogFile, first: int) -> Iterator[bytes]:
    """Blocks that overlap, so that no line is torn in all of them."""
    end = file.size()
    while end > first:
        begin = max(first, end - _BLOCK)
        yield file.read(begin, end - begin)
        if begin == first:
            return
        end = begin + _LONGEST_LINE
