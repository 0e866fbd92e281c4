"""Which code an earlier job is run again with; apart from the runs, for the parser of commands is loaded by each."""

from __future__ import annotations

from enum import StrEnum


class CodeOf(StrEnum):
    THEN = "then"
    NOW = "now"
