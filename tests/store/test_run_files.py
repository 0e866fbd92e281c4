"""Small files in the folder of a run: what is damaged is not there, and a deleted run stays deleted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from traindeck.domain.errors import LocalTrouble
from traindeck.domain.readings.curves import SmallCurve
from traindeck.domain.readings.phases import PhaseTime
from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with
from traindeck.store import run_waits
from traindeck.store.curve_file import keep_curve
from traindeck.store.phase_file import keep_phases, kept_phases
from traindeck.store.run_waits import RunWaits

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "words",
    [
        "", "[]", "7", '{"hang": 7}', '{"hang": {"until": "2026-03-02T09:00:00+00:00", "times": 1e999}}',
        '{"hang": {"until": "2026-03-02T09:00:00", "times": 1}}', "[" * 200_000, " " * (1 << 20) + "{}",
    ],
)  # fmt: skip
def test_a_wait_that_cannot_be_read_was_not_said(tmp_path: Path, words: str) -> None:
    place = tmp_path / "waits.json"
    place.write_text(words, "utf-8")
    waits = RunWaits(lambda _: place)
    assert waits.of("r1", "hang") is None
    waits.put("r1", "hang", NOW)
    assert waits.of("r1", "hang") == (NOW, 1)


def test_what_two_programs_keep_at_once_is_kept_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "run" / "waits.json"
    waits = RunWaits(lambda _: place)
    waits.put("r1", "hang", NOW)
    monkeypatch.setattr(run_waits, "_PATIENCE_S", 0.0)
    with alone_with(place, 0.0, text("busy"), text("")), pytest.raises(LocalTrouble, match="Another TrainDeck"):
        waits.put("r1", "unused", NOW)  # else it would write over what the other one is about to write
    waits.put("r1", "unused", NOW)
    assert waits.of("r1", "hang") == waits.of("r1", "unused") == (NOW, 1)


def test_of_a_file_that_is_too_large_no_more_than_a_piece_is_read(tmp_path: Path) -> None:
    place = tmp_path / "waits.json"
    with place.open("wb") as file:
        file.truncate(1 << 40)
    assert RunWaits(lambda _: place).of("r1", "hang") is None


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1", "1" + "0" * 400, "[1]"])
def test_phases_that_last_no_time_are_not_kept(tmp_path: Path, seconds: str) -> None:
    place = tmp_path / "phases.json"
    place.write_text(f'[{{"name": "queue", "seconds": {seconds}, "over": true}}]', "utf-8")
    assert kept_phases(place) is None


def test_the_folder_of_a_deleted_run_stays_away(tmp_path: Path) -> None:
    there, gone = tmp_path / "there", tmp_path / "gone"
    there.mkdir()
    phases = [PhaseTime("queue", 3.0)]
    for folder in (there, gone):
        keep_phases(folder / "phases.json", phases)
        keep_curve(folder / "curve.json", SmallCurve((1.0,), log_bytes=1))
    assert kept_phases(there / "phases.json") == phases and (there / "curve.json").exists()
    assert not gone.exists()
