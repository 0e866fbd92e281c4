"""From the bytes of a log to the lines a person reads. Only what is shown changes, never the file."""

from __future__ import annotations

import codecs
import re

LONGEST_LINE = 4000
"""Longer ones are shown as several; one line of a megabyte would stop the window."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# Qt begins a new line at U+2028 and U+2029, which would spoil the count of lines.
_CONTROLS: dict[int, str | None] = {0x2028: " ", 0x2029: " "}
_CONTROLS |= dict.fromkeys((*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, *range(0x80, 0xA0)))


class LogText:
    """Decodes piece by piece; a progress bar redrawn with a carriage return stays one line."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete now."""
        pieces = (self._rest + self._decoder.decode(data)).split("\n")
        self._rest = pieces.pop()
        lines: list[str] = []
        for piece in pieces:
            lines.extend(_shown(piece))
        if len(self._rest) > LONGEST_LINE:
            self._rest = _last_redraw(self._rest)
            while len(self._rest) > LONGEST_LINE:
                lines.extend(_shown(self._rest[:LONGEST_LINE]))
                self._rest = self._rest[LONGEST_LINE:]
        return lines

    @property
    def open_line(self) -> str:
        """What stands after the last line end: a progress bar, or half a line."""
        return "".join(_shown(self._rest))

    def break_line(self) -> list[str]:
        """End the open line, because what follows does not belong to it."""
        rest = self._rest + self._decoder.decode(b"", final=True)
        self._decoder.reset()
        self._rest = ""
        return _shown(rest) if rest else []


def _shown(line: str) -> list[str]:
    if not line.isprintable():
        line = _ESCAPES.sub("", _last_redraw(line)).rstrip("\r").translate(_CONTROLS)
    if len(line) <= LONGEST_LINE:
        return [line]
    return [line[start : start + LONGEST_LINE] for start in range(0, len(line), LONGEST_LINE)]


def _last_redraw(line: str) -> str:
    """What is left to see of `10%\\r20%\\r`; the end is kept, a line end may follow."""
    body = line.rstrip("\r")
    return body[body.rfind("\r") + 1 :] + line[len(body) :]
