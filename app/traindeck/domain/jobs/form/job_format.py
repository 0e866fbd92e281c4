"""The kinds of file that a job is written as, by this program and by others."""

from __future__ import annotations

from enum import StrEnum


class JobFormat(StrEnum):
    TOML = "toml"
    YAML = "yaml"
    JSON = "json"
    TOOLKIT = "toolkit"

    @property
    def suffix(self) -> str:
        """How the name of such a file ends."""
        return ".json" if self is JobFormat.TOOLKIT else f".{self}"
