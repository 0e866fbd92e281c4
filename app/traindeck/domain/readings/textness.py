"""Whether bytes are those of a text, in whatever encoding, or of anything else."""

from __future__ import annotations

_STEERING = bytes([*range(1, 7), 14, 15, *range(16, 27), *range(28, 32), 127])
"""What no program prints: all but those that move the cursor, ring or begin a colour."""
_MOST_STEERING = 0.03
_MOST_STRANGE = 0.15


class Textness:
    """Fed with what is read; NULs are neither: a hole in a file has them, and UTF-16."""

    __slots__ = ("_bytes", "_steering", "_undecodable")

    def __init__(self) -> None:
        self._bytes = self._steering = self._undecodable = 0

    def take(self, data: bytes) -> None:
        seen = len(data) - data.count(0)
        steering = len(data) - len(data.translate(None, _STEERING))
        self._bytes += seen
        self._steering += steering
        if steering > _MOST_STEERING * seen:
            self._undecodable += data.decode("utf-8", "replace").count("\ufffd")

    @property
    def is_text(self) -> bool:
        """Many signs that steer are asked for as well: a text of another encoding has none."""
        strange = self._steering + self._undecodable
        return self._steering <= _MOST_STEERING * self._bytes or strange <= _MOST_STRANGE * self._bytes
