"""A line to the Lab on which the answer to a submission gets lost; everything else passes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from support.servers.faults import Fault, FaultyProxy, Request
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from traindeck.runtime.blocking import BlockingCalls


class HeldAnswers(FaultyProxy):
    """Who looks for the Lab of `home` finds this line in its place."""

    def __init__(self, lab: LabProcess, home: Path) -> None:
        super().__init__(lab.modelarts, self._sign_again)
        self._way = Way.to(lab, BlockingCalls(1, "unused"))
        self._running = home / "lab" / "running.json"
        self.creations = 0

    async def __aenter__(self) -> HeldAnswers:
        await super().__aenter__()
        facts = json.loads(self._running.read_text("utf-8"))
        self._running.write_text(json.dumps({**facts, "modelarts": self.url, "iam": self.url}), "utf-8")
        return self

    def is_holding(self) -> bool:
        """The Lab has made the job, and the window waits for the answer."""
        return self.creations > 0

    async def _serve(self, request: Request, fault: Fault | None, writer: asyncio.StreamWriter) -> bool:
        if request.method == "POST" and request.target.rstrip("/").endswith("/training-jobs"):
            await self._forward(request)
            self.creations += 1
            await asyncio.Event().wait()
        return await super()._serve(request, fault, writer)

    def _sign_again(self, request: Request, host: str) -> None:
        if any(name.lower() == "authorization" for name in request.headers):
            self._way.resign(request, host)
