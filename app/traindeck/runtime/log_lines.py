"""Lines of a log as they are read in a terminal: names from anywhere steer nothing in it and forge no line."""

from __future__ import annotations

import logging

from traindeck.domain.texts import printable


class LogLines(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:
        return printable(super().formatMessage(record))

    def formatException(self, ei: object) -> str:
        lines = super().formatException(ei)  # type: ignore[arg-type]  # the types of logging's own stubs are private
        return "\n".join(printable(line) for line in lines.split("\n"))
