"""The bytes of a log on their way to the terminal: as they are, or as chosen lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from traindeck.cli.output import Output
from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import text


def pattern_of(expression: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as error:
        raise InvalidInput(
            text("“{expression}” is not a regular expression: {problem}.", expression=expression, problem=str(error)),
            text("Put a backslash before signs that are meant as they are, such as ( [ * + ?."),
        ) from error


@dataclass(slots=True)
class LogPrinter:
    """Prints one worker's log; unchanged unless lines have to be told apart."""

    output: Output
    worker: str
    named: bool = False
    pattern: re.Pattern[str] | None = None
    as_documents: bool = False
    _rest: bytes = b""
    _number: int = field(default=0)

    def take(self, block: bytes) -> None:
        if not (self.named or self.pattern or self.as_documents):
            self.output.bytes(block)
            return
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._line(line, b"\n")

    def end(self) -> None:
        if self._rest:
            self._line(self._rest, b"")
            self._rest = b""

    def _line(self, line: bytes, ending: bytes) -> None:
        self._number += 1
        words = line.decode(errors="replace").removesuffix("\r")
        if self.pattern and not self.pattern.search(words):
            return
        if self.as_documents:
            self.output.document({"worker": self.worker, "line": self._number, "text": words})
        else:
            # Another worker's line may follow, so a last line without an end gets one.
            self.output.bytes(f"[{self.worker}] ".encode() + line + b"\n" if self.named else line + ending)
