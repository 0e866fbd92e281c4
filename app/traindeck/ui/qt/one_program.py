"""One window for each home: a second start hands over what it was to open, and brings the first to the front."""

from __future__ import annotations

import json
import logging
import os
import socket
import struct
import sys
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QLockFile, QObject, QTimer
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication

from traindeck.domain.errors import Conflict
from traindeck.domain.openings import MOST_AT_ONCE, MOST_WORDS
from traindeck.domain.texts import text

log = logging.getLogger(__name__)

Opened = Callable[[list[str]], None]

_MOST_BYTES = 256 * 1024
_MOST_GUESTS = 16
_PATIENCE_MS = 5000
_LOCK_MS = 10_000
_TAKEN = b"taken\n"


def hand_over(place: str, openings: Sequence[str]) -> bool:
    """Whether a program took it that listens there; raises Conflict where one is there and does not answer."""
    way = QLocalSocket()
    way.connectToServer(place)
    if not way.waitForConnected(_PATIENCE_MS):
        return False
    way.write(json.dumps({"open": list(openings)}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n") and way.waitForReadyRead(_PATIENCE_MS):
        answer += bytes(way.readAll().data())
    way.abort()
    if answer != _TAKEN:
        raise Conflict(
            text("TrainDeck is open already, and does not respond."),
            text("Wait a moment, then try again; or end it with the system's task manager. Nothing was changed."),
        )
    return True


class MeetingPoint(QObject):
    """The window that is there; `opened` is told what others were to open, an empty list: only to come to the front."""

    def __init__(self, place: str, lock: str, opened: Opened) -> None:
        """`lock`: the file that only one start at a time has, while it looks who is there."""
        super().__init__()
        self._place = place
        self._lock = lock
        self._opened = opened
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.setMaxPendingConnections(_MOST_GUESTS)
        self._server.newConnection.connect(self._on_guest)
        self._guests: set[QLocalSocket] = set()

    def open(self, openings: Sequence[str]) -> bool:
        """False: another was quicker, and has taken what is to be opened."""
        place, lock = self._place, QLockFile(self._lock)
        if not lock.tryLock(_LOCK_MS):
            log.warning("another program is just starting on this home")
        try:
            if hand_over(place, openings):
                return False
            QLocalServer.removeServer(place)  # of one that was killed
            if not self._server.listen(place):
                log.warning("a second start cannot be noticed: %s", self._server.errorString())
        finally:
            lock.unlock()
        return True

    def close(self) -> None:
        self._server.close()
        for guest in tuple(self._guests):
            guest.abort()

    def _on_guest(self) -> None:
        while (guest := self._server.nextPendingConnection()) is not None:
            if len(self._guests) >= _MOST_GUESTS or not _is_ours(guest):
                guest.abort()
                guest.deleteLater()
                continue
            self._guests.add(guest)
            guest.readyRead.connect(lambda guest=guest: self._read(guest))
            guest.disconnected.connect(lambda guest=guest: self._leave(guest))
            patience = QTimer(guest, singleShot=True, interval=_PATIENCE_MS)
            patience.timeout.connect(lambda guest=guest: guest.abort())
            patience.start()
            self._read(guest)

    def _read(self, guest: QLocalSocket) -> None:
        if guest.bytesAvailable() > _MOST_BYTES:
            guest.abort()
        elif guest.canReadLine():
            openings = _understood(bytes(guest.readLine().data()))
            if openings is None:
                guest.abort()
                return
            guest.write(_TAKEN)
            guest.flush()
            guest.disconnectFromServer()
            self._opened(openings)

    def _leave(self, guest: QLocalSocket) -> None:
        if guest in self._guests:
            self._guests.discard(guest)
            guest.deleteLater()


class FileOpenings(QObject):
    """What the desktop of a Mac asks a running program to open."""

    def __init__(self, application: QApplication, opened: Opened) -> None:
        super().__init__()
        self._application = application
        self._opened = opened
        application.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FileOpen and isinstance(event, QFileOpenEvent):
            self._opened([event.file() or event.url().toString()])
            return True
        return super().eventFilter(watched, event)

    def close(self) -> None:
        self._application.removeEventFilter(self)


def _understood(line: bytes) -> list[str] | None:
    try:
        openings = json.loads(line)["open"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    if not isinstance(openings, list) or len(openings) > MOST_AT_ONCE:
        return None
    return openings if all(isinstance(one, str) and len(one) <= MOST_WORDS for one in openings) else None


def _is_ours(guest: QLocalSocket) -> bool:
    """Of the same user; elsewhere than on Linux the rights of the socket see to it."""
    if not sys.platform.startswith("linux"):
        return True
    with socket.socket(fileno=os.dup(guest.socketDescriptor())) as way:
        who = way.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", who)[1] == os.getuid())
