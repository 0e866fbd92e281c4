"""The ways a job can be started, and which fields of the form count in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, text


class StartKind(StrEnum):
    PRESET = "preset"
    IMAGE = "image"
    IMAGE_ON_PRESET = "image on preset"
    ALGORITHM = "algorithm"

    @property
    def words(self) -> Text:
        return _WORDS[self]


_WORDS = {
    StartKind.PRESET: text("Preset engine"),
    StartKind.IMAGE: text("Custom image"),
    StartKind.IMAGE_ON_PRESET: text("Custom image and engine"),
    StartKind.ALGORITHM: text("Algorithm of the service"),
}

_CODE = ("code_folder", "code_url", "ignore")
_FIELDS: Mapping[StartKind, tuple[str, ...]] = {
    StartKind.PRESET: (*_CODE, "boot", "engine", "engine_version"),
    StartKind.IMAGE: (*_CODE, "command", "image", "local_code_dir", "working_dir"),
    StartKind.IMAGE_ON_PRESET: (*_CODE, "boot", "engine", "engine_version", "image", "install_moxing"),
    StartKind.ALGORITHM: ("algorithm_id", "subscription_id", "item_version_id"),
}

NEEDED: Mapping[StartKind, tuple[str, ...]] = {
    StartKind.PRESET: ("boot",),
    StartKind.IMAGE: ("command", "image"),
    StartKind.IMAGE_ON_PRESET: ("boot", "image"),
    StartKind.ALGORITHM: ("algorithm_id",),
}
"""What is never folded away where a job is started so."""

OF_START: frozenset[str] = frozenset().union(*_FIELDS.values())
"""Fields that count in some ways to start a job only."""

_KEPT = frozenset(_CODE)
"""They stay as they are where they do not count: another folder would be another job."""


def start_kind_of(spec: JobSpec) -> StartKind:
    if spec.has_algorithm:
        return StartKind.ALGORITHM
    if spec.image and (spec.engine or spec.engine_version):
        return StartKind.IMAGE_ON_PRESET
    return StartKind.IMAGE if spec.image or spec.command else StartKind.PRESET


def counts_in(kind: StartKind, field: str) -> bool:
    """Whether this field means anything where a job is started so."""
    return field not in OF_START or field in _FIELDS[kind]


def not_counting(kind: StartKind, spec: JobSpec) -> dict[str, Any]:
    """What the form says beyond what counts, by field."""
    others = (name for name in OF_START - _KEPT if name not in _FIELDS[kind])
    return {name: value for name in others if (value := getattr(spec, name)) != getattr(_EMPTY, name)}


def as_started(spec: JobSpec, kind: StartKind) -> JobSpec:
    """The same job with nothing in it that does not count."""
    return replace(spec, **{name: getattr(_EMPTY, name) for name in not_counting(kind, spec)})


_EMPTY = JobSpec()
