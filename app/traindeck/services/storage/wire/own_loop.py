"""A data plane for those who list and look now and then, from another loop than the one it lives on."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.runtime.loop_thread import LoopThread
from traindeck.services.storage.wire.data_plane import WireDataPlane

Result = TypeVar("Result")


class OwnLoop:
    """Connected when first asked; reading long listings keeps nobody else's loop busy."""

    def __init__(self, profile: Profile, credentials: Credentials) -> None:
        self._profile = profile
        self._credentials = credentials
        self._running: tuple[LoopThread, WireDataPlane] | None = None
        self._under_way = 0
        self._may_end = False

    async def run(self, work: Callable[[WireDataPlane], Coroutine[Any, Any, Result]]) -> Result:
        """When cancelled, the work is ended before this returns."""
        self._may_end = False
        if self._running is None:
            thread, plane = LoopThread("objects"), WireDataPlane(self._profile, self._credentials)
            self._running = thread, plane
            weakref.finalize(self, thread.stop, plane.end)
        thread, plane = self._running
        self._under_way += 1
        try:
            return await thread.run(lambda: work(plane))
        finally:
            self._under_way -= 1
            if self._may_end:
                self.close()

    @property
    def clock_ahead_s(self) -> float | None:
        return self._running[1].clock_ahead_s if self._running else None

    def close(self) -> None:
        """Close it when nobody waits for anything any more; asking again opens another."""
        self._may_end = True
        if self._running is not None and not self._under_way:
            thread, plane = self._running
            self._running = None
            thread.stop(plane.end)
