"""Where the hour of a job went, from what the service tells of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from traindeck.domain.readings.phases import JobEvent, phase_times
from traindeck.lab.training import job_history as told
from traindeck.services.readings.shipped import phase_rules

BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)
TASK = {"task": "worker-0"}
HISTORY = [
    (0, told.CREATED),
    (1, told.QUEUED),
    (61, told.CODE_DOWNLOAD_STARTED.of(source="obs://b/code/", **TASK)),
    (61, told.CODE_DOWNLOADED.of(seconds=0.4, files=12, size_bytes=84000, **TASK)),
    (62, told.INPUT_DOWNLOAD_STARTED.of(name="data_url", source="obs://b/data/", **TASK)),
    (182, told.INPUT_DOWNLOADED.of(seconds=120.0, files=5, size_bytes=9, name="data_url", **TASK)),
    (182, told.INPUT_DOWNLOAD_STARTED.of(name="more", source="obs://b/more/", **TASK)),
    (242, told.INPUT_DOWNLOADED.of(seconds=60.0, files=5, size_bytes=9, name="more", **TASK)),
    (243, told.PACKAGES_STARTED.of(**TASK)),
    (263, told.PACKAGES_INSTALLED.of(seconds=20.0, **TASK)),
    (264, told.TRAINING_STARTED.of(**TASK)),
    (3264, told.TRAINING_ENDED.of(exit_code=0, **TASK)),
    (3265, told.OUTPUT_UPLOAD_STARTED.of(name="train_url", target="obs://b/out/", **TASK)),
    (3295, told.OUTPUT_UPLOADED.of(seconds=30.0, name="train_url", **TASK)),
    (3296, told.COMPLETED),
]


def events(language: str, until: float = 1e9) -> list[JobEvent]:
    return [
        JobEvent(BEGAN + timedelta(seconds=second), getattr(event, language))
        for second, event in HISTORY
        if second <= until
    ]


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_each_phase_has_its_time_in_both_languages(language: str) -> None:
    found = {one.name: one.seconds for one in phase_times(events(language), phase_rules(), None)}
    assert found == {"queue": 60, "code": 0.4, "data": 180, "packages": 20, "training": 3000, "upload": 30}


def test_what_goes_on_lasts_until_now() -> None:
    now = BEGAN + timedelta(seconds=1264)
    (*_, last) = phase_times(events("english", until=300), phase_rules(), now)
    assert (last.name, last.seconds, last.is_over) == ("training", 1000, False)


def test_without_events_nothing_is_known() -> None:
    assert phase_times([], phase_rules(), None) == []
    assert phase_times([JobEvent(BEGAN, "something else")], phase_rules(), None) == []
