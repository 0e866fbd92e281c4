"""Logs of trainings with what is in them, and of failures with why they failed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from traindeck.domain.readings.evidence import Evidence, LogPart, from_last_progress, lines_of, tracebacks_in
from traindeck.domain.readings.failure_rules import FailureRules
from traindeck.domain.readings.failures import Failure, failure_of
from traindeck.services.readings.shipped import failure_rules

READINGS = Path(__file__).parents[1] / "readings_corpus"
FAILURES = Path(__file__).parents[1] / "failures_corpus"


def reading_cases() -> list[dict[str, Any]]:
    found = []
    for name in ("cases.toml", "real.toml", "invented.toml"):
        found += tomllib.loads((READINGS / name).read_text(encoding="utf-8"))["case"]
    return found


def failure_cases(*names: str) -> list[dict[str, Any]]:
    found = []
    for path in sorted(FAILURES.glob("*.toml")):
        if not names or path.stem in names:
            cases = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
            found += [{**case, "name": f"{path.stem}: {case['name']}"} for case in cases]
    return found


def log_of(case: dict[str, Any]) -> bytes:
    return (FAILURES / case["log"]).read_bytes() if "log" in case else str(case["text"]).encode()


def failure_in(
    log: bytes, exit_code: int | None = None, *messages: str, rules: FailureRules | None = None, **facts: str
) -> Failure | None:
    lines = list(lines_of(LogPart(log)))
    evidence = Evidence(
        lines, from_last_progress(lines), tracebacks_in(lines), exit_code, messages, tuple(facts.items())
    )
    return failure_of(evidence, rules or failure_rules())
