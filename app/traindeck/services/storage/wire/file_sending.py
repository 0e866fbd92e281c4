"""A stretch of a file leaves by way of the system alone: nothing of it is copied into our memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from types import TracebackType
from typing import Self

# Between two of these an answer that came early is seen, and others have their turn.
_AT_ONCE = 1024 * 1024


class FileLine:
    """The way out of a connection without TLS, beside the transport, which goes on reading. Enter it to use it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, wake: Callable[[], None]) -> None:
        self._loop = loop
        self._wake = wake
        # A descriptor of its own: the loop leaves that of a transport to the transport.
        self._descriptor = os.dup(transport.get_extra_info("socket").fileno())
        self._is_waiting = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rest()
        os.close(self._descriptor)

    def send(self, file: int, at: int, most: int) -> int | None:
        """How much has left, 0 at the end of the file; None: `wake` is called when there is room again."""
        try:
            return os.sendfile(self._descriptor, file, at, min(most, _AT_ONCE))
        except BlockingIOError:
            self._is_waiting = True
            self._loop.add_writer(self._descriptor, self._go_on)
            return None

    def _go_on(self) -> None:
        self._rest()
        self._wake()

    def _rest(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            self._loop.remove_writer(self._descriptor)


def can_send_files(transport: asyncio.Transport) -> bool:
    """Not where what leaves has to be encrypted, nor on a system that has no such way."""
    if not hasattr(os, "sendfile"):
        return False
    return transport.get_extra_info("sslcontext") is None and transport.get_extra_info("socket") is not None
