"""A log on a terminal: its colours, and nothing else that steers it."""

from __future__ import annotations

import os
import re

from traindeck.cli.columns import cut
from traindeck.domain.readings.encodings import encoding_of

_MOST_OPEN = 1 << 16
_ERASE = "\r\x1b[K"
_RESET = "\x1b[0m"
# CSI, then what runs up to its own end (titles, links, queries), then the short ones; the last may be cut off.
_STEERING = re.compile(
    r"\x1b\[(?P<colours>[0-9;:]{0,64})m"
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
# Controls of both sets but the tab, and those that turn the direction of what is read.
_UNSEEN = re.compile("[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_WITH_A_COLOUR = ("38", "48", "58")
_CONCEALED = "8"


def decoded(line: bytes) -> str:
    """UTF-8, or what Chinese systems write; what cannot be read is replaced."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode(encoding_of(line) or "utf-8", "replace")


def last_drawn(line: bytes) -> bytes:
    """What is left to see of a line that was drawn over and over, as a progress bar is."""
    body = line.rstrip(b"\r")
    return body[body.rfind(b"\r") + 1 :]


class TerminalText:
    """Turns the bytes of one log into what may be written to a terminal, as they come."""

    def __init__(self, columns: int, *, has_colours: bool | None = None) -> None:
        self._columns = columns
        self._has_colours = _wants_colours() if has_colours is None else has_colours
        self._open = b""
        self._shown = ""
        self._was_redrawn = False

    def feed(self, data: bytes) -> str:
        *whole, last = data.split(b"\n")
        pieces = [self._ended(line) for line in whole]
        self._add(last)
        pieces.append(self._so_far())
        return "".join(pieces)

    def end(self) -> str:
        """An open line may have been shown in part, and a colour may still be on."""
        words = self._delta(self.line(last_drawn(self._open)))
        self._open, self._shown = b"", ""
        return words + (_RESET if self._has_colours else "")

    def whole(self, content: bytes) -> str:
        """One line that nothing was shown of, in colours that end with it."""
        words = self.line(last_drawn(content))
        return words + _RESET if "\x1b" in words else words

    def line(self, content: bytes) -> str:
        """One line without its end."""
        words = decoded(content)
        if words.isprintable():
            return words
        return _UNSEEN.sub("", _STEERING.sub(self._colour, words))

    def _ended(self, line: bytes) -> str:
        self._add(line)
        words = self._delta(self.line(last_drawn(self._open))) + "\n"
        self._open, self._shown, self._was_redrawn = b"", "", False
        return words

    def _add(self, data: bytes) -> None:
        self._open += data
        if b"\r" in data:
            self._was_redrawn = True
            body = self._open.rstrip(b"\r")
            self._open = body[body.rfind(b"\r") + 1 :] + self._open[len(body) :]

    def _so_far(self) -> str:
        """The line that is still being written; a redrawn one must not run over, or it could not be drawn again."""
        words = self.line(last_drawn(_whole_characters(self._open)))
        if self._was_redrawn:
            words = cut(_STEERING.sub("", words), self._columns - 1)
        piece = self._delta(words)
        if len(self._open) > _MOST_OPEN:
            self._open, self._shown = b"", ""
        return piece

    def _delta(self, words: str) -> str:
        before, self._shown = self._shown, words
        return words[len(before) :] if words.startswith(before) else _ERASE + words

    def _colour(self, found: re.Match[str]) -> str:
        colours = found["colours"]
        if colours is None or not self._has_colours or _conceals(colours):
            return ""
        return found[0]


def _conceals(colours: str) -> bool:
    """What is not seen is no colour."""
    parts = colours.replace(":", ";").split(";")
    return any(
        part.lstrip("0") == _CONCEALED and not any(before in _WITH_A_COLOUR for before in parts[max(0, at - 4) : at])
        for at, part in enumerate(parts)
    )


def _whole_characters(data: bytes) -> bytes:
    """Without the beginning of a character whose other bytes have not come."""
    for back in range(1, min(4, len(data)) + 1):
        sign = data[-back]
        if sign >= 0xC0:
            length = 2 if sign < 0xE0 else 3 if sign < 0xF0 else 4
            return data[:-back] if length > back else data
        if sign < 0x80:
            return data
    return data


def _wants_colours() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
