"""A line to the Lab on which requests to make a job break, and arrive when the test lets them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from support.servers.faults import Fault, FaultyProxy, Request, Reset
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import PATIENT_S
from support.work_bench import CREATES
from traindeck.runtime.blocking import BlockingCalls


class LateLine(FaultyProxy):
    """A program that looks for the Lab of `home` finds this line instead; works across threads."""

    def __init__(self, lab: LabProcess, home: Path) -> None:
        super().__init__(lab.modelarts, self._sign_again)
        self._way = Way.to(lab, BlockingCalls(1, "unused"))
        self._running = home / "lab" / "running.json"
        self._held: list[Request] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> LateLine:
        await super().__aenter__()
        self._loop = asyncio.get_running_loop()
        facts = json.loads(self._running.read_text("utf-8"))
        self._running.write_text(json.dumps({**facts, "modelarts": self.url}), "utf-8")
        return self

    @property
    def creations(self) -> int:
        return sum(1 for line in self.seen if CREATES.search(line))

    def deliver(self) -> list[str]:
        """Let the held requests arrive; return what the service answers to each."""
        assert self._loop is not None
        answers = []
        while self._held:
            arrival = asyncio.run_coroutine_threadsafe(self._forward(self._held.pop()), self._loop)
            answers.append(arrival.result(PATIENT_S)[0].decode().splitlines()[0])
        return answers

    async def _serve(self, request: Request, fault: Fault | None, writer: asyncio.StreamWriter) -> bool:
        if CREATES.search(f"{request.method} {request.target}"):
            self._held.append(request)
            fault = Reset()
        return await super()._serve(request, fault, writer)

    def _sign_again(self, request: Request, host: str) -> None:
        if any(name.lower() == "authorization" for name in request.headers):
            self._way.resign(request, host)
