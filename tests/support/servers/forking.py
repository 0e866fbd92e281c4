"""A process that has loaded a program, and becomes that program again and again.

To load it is most of what a short test costs. Each request on the socket is a line of JSON, with the descriptors of
standard output, of standard error, and of a pipe that is told how the new process ended. The answer is its number.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import selectors
import signal
import socket
import sys


def requested(descriptor: int) -> list[str]:
    """Return, in each new process, the words of its command line; the process that forks ends with its tests."""
    gc.freeze()  # else a look of the collector would copy what both have
    with socket.socket(fileno=descriptor) as server:
        server.sendall(b"ready")
        return _serve(server)


def _serve(server: socket.socket) -> list[str]:
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
            server.sendall(b"%d" % pid)


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
    words = [*wanted["words"]]  # type: ignore[misc]
    sys.argv[1:] = words
    return words
