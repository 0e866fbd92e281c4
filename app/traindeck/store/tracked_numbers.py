"""Numbers that users chose to follow in the logs of a job, by the name of the job."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from traindeck.domain.readings.tracking import MOST_AROUND, MOST_NAME, TrackedNumber
from traindeck.runtime.files import local_errors, our_folder, write_whole

log = logging.getLogger(__name__)

MOST_OF_A_JOB = 20
_MOST_BYTES = 1 << 20


class TrackedNumbers:
    """In one small file; what cannot be read of it is nobody's number."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_at: int | None = None
        self._jobs: dict[str, tuple[TrackedNumber, ...]] = {}

    def of(self, job: str) -> tuple[TrackedNumber, ...]:
        self._read()
        return self._jobs.get(job, ())

    def track(self, job: str, number: TrackedNumber) -> None:
        """One of the same name is replaced."""
        self._read()
        others = tuple(one for one in self._jobs.get(job, ()) if one.name != number.name)
        self._write({**self._jobs, job: (*others, number)[-MOST_OF_A_JOB:]})

    def forget(self, job: str, name: str) -> None:
        self._read()
        left = tuple(one for one in self._jobs.get(job, ()) if one.name != name)
        self._write({**self._jobs, job: left})

    def _write(self, jobs: dict[str, tuple[TrackedNumber, ...]]) -> None:
        content = {
            job: [{"name": one.name, "before": one.before, "after": one.after} for one in numbers]
            for job, numbers in jobs.items()
            if numbers
        }
        with local_errors(self._path):
            our_folder(self._path.parent)
            write_whole(self._path, json.dumps(content, ensure_ascii=False, indent=1).encode())
        self._read_at = None
        self._read()

    def _read(self) -> None:
        """Again when another program changed it."""
        try:
            changed = self._path.stat().st_mtime_ns
            if changed == self._read_at:
                return
            with self._path.open("rb") as file:
                content = json.loads(file.read(_MOST_BYTES))
        except FileNotFoundError:
            self._jobs, self._read_at = {}, None
            return
        except (OSError, ValueError, RecursionError) as error:
            log.warning("the tracked numbers in %s cannot be read: %s", self._path, error)
            return
        jobs = content if isinstance(content, dict) else {}
        self._jobs = {str(job): _numbers(found) for job, found in jobs.items()}
        self._read_at = changed


def _numbers(found: Any) -> tuple[TrackedNumber, ...]:
    numbers = []
    for one in found if isinstance(found, list) else ():
        kept = one if isinstance(one, dict) else {}
        parts = [part for name in ("name", "before", "after") if isinstance(part := kept.get(name), str)]
        if len(parts) == 3 and all(len(part) <= MOST_AROUND for part in parts):
            numbers.append(TrackedNumber(parts[0][:MOST_NAME], parts[1], parts[2]))
    return tuple(numbers[:MOST_OF_A_JOB])
