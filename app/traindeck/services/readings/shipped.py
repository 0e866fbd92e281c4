"""The patterns and rules that come with the program, read when first needed."""

from __future__ import annotations

import tomllib
from functools import lru_cache

from traindeck.domain.readings.failure_rules import FailureRules, rules_of
from traindeck.domain.readings.patterns import Patterns, patterns_of
from traindeck.domain.readings.phases import PhaseRules, phase_rules_of
from traindeck.runtime.resources import resource

_FOLDER = "readings"


@lru_cache(maxsize=1)
def progress_patterns() -> Patterns:
    return patterns_of(tomllib.loads(resource(_FOLDER, "progress.toml").read_text(encoding="utf-8")))


@lru_cache(maxsize=1)
def failure_rules() -> FailureRules:
    return rules_of(tomllib.loads(resource(_FOLDER, "failures.toml").read_text(encoding="utf-8")))


@lru_cache(maxsize=1)
def phase_rules() -> PhaseRules:
    return phase_rules_of(tomllib.loads(resource(_FOLDER, "phases.toml").read_text(encoding="utf-8")))
