"""Decodes pictures in a process of its own, for whoever looks at a dataset: a picture made to crash its reader, or to
eat the memory, ends this process and nothing else.

On standard input: the name of the format, a blank, the length, a line end, and the bytes; for each, one line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_MOST_MEMORY = 2 << 30
_MOST_MEGABYTES = 256
"""What Qt may take for one picture."""


def serve() -> int:
    _bound_memory()
    from PySide6.QtCore import qInstallMessageHandler
    from PySide6.QtGui import QImageReader

    told: list[str] = []
    qInstallMessageHandler(lambda _kind, _context, words: told.append(words or ""))
    QImageReader.setAllocationLimit(_MOST_MEGABYTES)
    known = {bytes(one.data()).decode() for one in QImageReader.supportedImageFormats()}
    source, answers = sys.stdin.buffer, sys.stdout
    answers.write(json.dumps({"formats": sorted(known)}) + "\n")
    answers.flush()
    while line := source.readline():
        form, _, length = line.decode().strip().partition(" ")
        content = source.read(int(length))
        told.clear()
        answers.write(json.dumps(_decoded(form, content, told)) + "\n")
        answers.flush()
    return 0


def _decoded(form: str, content: bytes, told: list[str]) -> dict[str, Any]:
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice
    from PySide6.QtGui import QImageReader

    buffer = QBuffer()
    buffer.setData(QByteArray(content))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(form.encode()))
    reader.setAutoDetectImageFormat(False)
    image = reader.read()
    if image.isNull():
        return {"why": reader.errorString()}
    # A reader that makes up what is missing says so only here.
    return {"why": told[0] if told else ""}


def _bound_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = _MOST_MEMORY if hard == resource.RLIM_INFINITY else min(hard, _MOST_MEMORY)
    if sys.platform == "linux" and (soft == resource.RLIM_INFINITY or soft > most):
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
