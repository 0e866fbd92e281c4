"""Which Python the Lab of this home runs an engine with, for those who look at a job before it is sent."""

from __future__ import annotations

import os
from pathlib import Path

from traindeck.domain.jobs.job import Isolation
from traindeck.domain.texts import CHINESE, spoken
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.http.calls import load
from traindeck.services.jobs.checks.lab_limits import LabPython


class LabPythons:
    """Asks as the Lab itself does for each job; each engine's Python is started once."""

    def __init__(self, root: Path, usual: str, calls: BlockingCalls) -> None:
        self._root = root
        self._usual = usual
        self._calls = calls
        self._known: dict[str, LabPython] = {}

    async def of_engine(self, version: str) -> LabPython:
        known = self._known.get(version)
        if known is None or known.problem:  # what is wrong may be mended by now
            known = self._known[version] = await self._calls.run(lambda _: self._asked(version))
        return known

    def _asked(self, version: str) -> LabPython:
        # In the worker: it brings much of the Lab along.
        load(
            "traindeck.lab.training.catalogue",
            "traindeck.lab.training.running.containers",
            "traindeck.lab.training.running.interpreters",
        )
        from traindeck.lab.training.catalogue import Engine
        from traindeck.lab.training.running.containers import Containers
        from traindeck.lab.training.running.interpreters import Interpreters

        (row,) = Interpreters(self._root, self._usual).checked([Engine(id=version, version=version)])
        if row.problem is None:
            python, root = row.python, Path(os.path.realpath(self._root))
            isolation = Containers(root).isolation(python) if python is not None and root.is_dir() else ""
            return LabPython(str(python or ""), row.version, isolation=Isolation(isolation))
        problem = row.problem.chinese if spoken() == CHINESE else row.problem.english
        return LabPython(str(row.python or ""), row.version, problem)
