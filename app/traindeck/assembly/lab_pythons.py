"""Which Python the Lab of this home runs an engine with, for those who look at a job before it is sent."""

from __future__ import annotations

from pathlib import Path

from traindeck.domain.texts import CHINESE, spoken
from traindeck.lab.training.catalogue import Engine
from traindeck.lab.training.running.interpreters import Interpreters
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs.checks.lab_limits import LabPython


class LabPythons:
    """Asks as the Lab itself does for each job; a Python is started once for each question."""

    def __init__(self, root: Path, usual: str, calls: BlockingCalls) -> None:
        self._interpreters = Interpreters(root, usual)
        self._calls = calls
        self._known: dict[str, LabPython] = {}

    async def of_engine(self, version: str) -> LabPython:
        if version not in self._known:
            self._known[version] = await self._calls.run(lambda _: self._asked(version))
        return self._known[version]

    def _asked(self, version: str) -> LabPython:
        (row,) = self._interpreters.checked([Engine(id=version, version=version)])
        if row.problem is None:
            return LabPython(str(row.python or ""), row.version)
        problem = row.problem.chinese if spoken() == CHINESE else row.problem.english
        return LabPython(str(row.python or ""), row.version, problem)
