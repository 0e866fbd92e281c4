"""Starts windows from a process that has loaded the program already: loading it is most of what a short test costs.

`forking.py FD`: each request on that socket is a line of JSON, with the descriptors of standard output, of standard
error, and of a pipe that is told how the window ended. The answer is the number of the process.
"""

from __future__ import annotations

import faulthandler
import json
import os
import selectors
import signal
import socket
import sys
from importlib import import_module

import as_program  # noqa: F401
import journey

from traindeck import loading
from traindeck.services.accounts.connections import ADAPTERS


def load() -> None:
    """All that a window loads until it is in use."""
    names = ("assembly.core", "left_open", "ui.kit.dialogs", "ui.qt.watchdog")
    for name in (*names, *loading._FOR_RUNS, *loading._SERVICES, *loading._ROOMS):
        import_module(f"traindeck.{name}")
    for name in (*ADAPTERS, *journey.JOURNEYS):
        import_module(name)


def serve(server: socket.socket) -> list[str]:
    """Return, in each new process, what it is to do."""
    ends: dict[int, int] = {}
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    looks = selectors.DefaultSelector()
    looks.register(server, selectors.EVENT_READ)
    looks.register(woken, selectors.EVENT_READ)
    while True:
        for key, _ in looks.select():
            if key.fileobj == woken:
                os.read(woken, 100)
                _tell_ends(ends)
                continue
            words, given, _, _ = socket.recv_fds(server, 1 << 20, 3)
            if not words:
                sys.exit(0)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                looks.close()
                for one in (woken, waker, server.detach(), given[2], *ends.values()):
                    os.close(one)
                return _become(json.loads(words), *given[:2])
            os.close(given[0])
            os.close(given[1])
            ends[pid] = given[2]
            server.sendall(b"%d\n" % pid)


def _tell_ends(ends: dict[int, int]) -> None:
    for pid in list(ends):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            end = ends.pop(pid)
            os.write(end, b"%d\n" % os.waitstatus_to_exitcode(status))
            os.close(end)


def _become(wanted: dict[str, object], output: int, errors: int) -> list[str]:
    """As if it had been started so."""
    os.environ.clear()
    os.environ.update(wanted["environment"])  # type: ignore[call-overload]
    os.chdir(str(wanted["folder"]))
    for one, place in ((output, 1), (errors, 2)):
        os.dup2(one, place)
        os.close(one)
    if os.environ.get("PYTHONFAULTHANDLER"):
        faulthandler.enable()
    sys.argv = list(wanted["words"])  # type: ignore[call-overload]
    return sys.argv


if __name__ == "__main__":
    load()
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        asked.sendall(b"ready\n")
        words = serve(asked)
    journey.main(words[1:])
