"""Where a training is and what it measures, read out of logs as the frameworks print them."""

from __future__ import annotations

import math
import random
import re
import time
from collections import defaultdict
from typing import Any

import pytest

from support.reading_corpora import READINGS, reading_cases
from traindeck.domain.jobs.run_query import Metric
from traindeck.domain.readings.curves import MOST_POINTS
from traindeck.domain.readings.log_reader import MOST_SERIES, LogReader
from traindeck.domain.readings.reading import LogReading
from traindeck.domain.readings.tracking import tracked_number
from traindeck.services.readings.shipped import progress_patterns

BEGAN = 1_770_000_000.0
NAN = math.nan
MOST_ETA_ERROR = 0.2


def reader_for(case: dict[str, Any] | None = None) -> LogReader:
    reader = LogReader(progress_patterns())
    reader.expect(*(case or {}).get("parameters", {}).values())
    return reader


def read(log: str | bytes, at: float | None = None) -> LogReading:
    reader = reader_for()
    reader.take(log.encode() if isinstance(log, str) else log, at)
    reader.end()
    return reader.reading()


def wrong_values(case: dict[str, Any], reading: LogReading) -> dict[str, object]:
    def differs(name: str, value: float) -> bool:
        found = reading.values.get(name)
        return found is None or not math.isclose(found, value, rel_tol=1e-6)

    return {name: reading.values.get(name) for name, value in case["values"].items() if differs(name, value)}


CASES = reading_cases()


@pytest.mark.parametrize("case", CASES, ids=[case["log"] for case in CASES])
def test_the_last_values_are_those_that_the_training_had(case: dict[str, Any]) -> None:
    log = (READINGS / "logs" / case["log"]).read_bytes()
    reader = reader_for(case)
    reader.take(log)
    reader.end()
    reading = reader.reading()
    assert wrong_values(case, reading) == {}
    assert reading.progress.restarts == case.get("restarts", 0)
    assert (reading.not_finite.name if reading.not_finite else None) == case.get("not_finite")


def test_the_corpus_is_as_wide_as_promised() -> None:
    assert len(CASES) >= 25
    assert len({case["framework"] for case in CASES}) >= 8


TIMED = [case for case in CASES if "arrived" in case and not case.get("tells_no_end")]


@pytest.mark.parametrize("case", TIMED, ids=[case["log"] for case in TIMED])
def test_the_time_left_is_about_right_after_a_tenth_of_the_run(case: dict[str, Any]) -> None:
    log = (READINGS / "logs" / case["log"]).read_bytes()
    reader, begin = reader_for(case), 0
    for end, seconds in case["arrived"]:
        reader.take(log[begin:end], BEGAN + seconds)
        begin = end
        if seconds >= case["took_s"] * case.get("eta_at", 0.1):
            break
    left = reader.reading(BEGAN + seconds).progress.seconds_left
    assert left is not None
    truly = case["took_s"] - seconds
    assert abs(left - truly) / truly < MOST_ETA_ERROR


@pytest.mark.parametrize("case", CASES[::6], ids=[case["log"] for case in CASES[::6]])
def test_in_whatever_pieces_a_log_comes_it_says_the_same(case: dict[str, Any]) -> None:
    log = (READINGS / "logs" / case["log"]).read_bytes()[:60_000]
    whole, pieces, chance, begin = reader_for(case), reader_for(case), random.Random(7), 0
    whole.take(log)
    while begin < len(log):
        end = begin + chance.choice((1, 3, 40, 900, 5000))
        pieces.take(log[begin:end])
        begin = end
    for reader in (whole, pieces):
        reader.end()
    assert dict(pieces.reading().values) == dict(whole.reading().values)
    assert [*pieces.reading().series] == [*whole.reading().series]


def test_what_a_log_does_not_say_is_unknown() -> None:
    reading = read("loading libraries\nready, 404 files\n")
    assert reading.is_empty and dict(reading.values) == {}
    progress = reading.progress
    assert (progress.epoch, progress.step, progress.share, progress.seconds_left) == (None, None, None, None)


def test_steps_of_an_epoch_are_no_share_of_all_when_nobody_knows_how_many_epochs_there_are() -> None:
    assert read("Epoch 3: 50%|█████     | 50/100 [00:10<00:10, 5.0it/s, loss=0.4]\n").progress.share is None
    assert read("Epoch 3/10: 50%|█████     | 50/100 [00:10<00:10, 5.0it/s, loss=0.4]\n").progress.share == 0.25


def test_a_bar_of_a_download_is_not_the_training() -> None:
    reading = read("Downloading data: 40%|████      | 40/100 [00:10<00:15, 4.0it/s]\n")
    assert reading.progress.step is None


def test_numbers_that_are_settings_are_not_measured() -> None:
    reading = read("Namespace(batch_size=64, epochs=14, loss_scale=1024.0, label_smoothing_loss_weight=0.1)\n")
    assert reading.progress.epochs == 14 and reading.progress.epoch is None
    assert reading.metrics == {}


def test_not_a_number_is_said_with_the_line_that_said_it_first_and_is_never_0() -> None:
    reading = read("epoch 1 loss 0.5\nepoch 2 loss nan\nepoch 3 loss nan\n")
    assert math.isnan(reading.values["loss"]) and reading.not_finite is not None
    assert (reading.not_finite.line, reading.not_finite.offset) == ("epoch 2 loss nan", 17)
    assert reading.metrics["loss"] == Metric(math.nan, 0.5, 0.5)
    assert [point.value for point in reading.series["loss"].points()] == pytest.approx([0.5, NAN, NAN], nan_ok=True)
    assert read("epoch 1 loss inf\n").not_finite is not None
    assert read("epoch 1 loss nan\nepoch 2 loss 0.4\n").not_finite is None, "it is a number again"


@pytest.mark.parametrize(
    "line, name, value",
    [
        ("Epoch [7/20], Step [100/600], Loss: nan", "Loss", NAN),  # the tutorials of PyTorch
        ("epoch: 3 step: 1875, loss is nan", "loss", NAN),  # LossMonitor of MindSpore
        ("epoch: 3 step: 1875, loss is NaN", "loss", NAN),
        ("469/469 [==============================] - 2s 4ms/step - loss: nan - accuracy: 0.0980", "loss", NAN),  # Keras
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: inf", "Loss", math.inf),
        ("step 30 loss: -inf", "loss", -math.inf),
        ("{'loss': nan, 'learning_rate': 4.7e-05, 'epoch': 0.5}", "loss", NAN),  # the Trainer of transformers
    ],
)
def test_every_spelling_of_not_a_number_is_the_last_value(line: str, name: str, value: float) -> None:
    before = re.sub("-?(nan|inf)", "0.5", line, flags=re.IGNORECASE)
    reading = read(f"{before}\n{line}\n")
    assert reading.not_finite is not None and reading.not_finite.name == name and reading.not_finite.is_measured
    assert reading.metrics[name].last == pytest.approx(value, nan_ok=True) and reading.metrics[name].lowest == 0.5
    assert reading.small_curve.is_bad


def test_a_loss_that_stays_not_a_number_leaves_the_curve_before_it() -> None:
    reading = read("".join(f"step {at} loss {9 / at:.4f}\n" for at in range(1, 1500)) + "step 2000 loss nan\n" * 60_000)
    values = [point.value for point in reading.series["loss"].points()]
    assert sum(map(math.isfinite, values)) > 20 and math.isnan(values[-1])


def test_a_rate_that_is_infinite_for_a_moment_is_no_loss_of_a_number() -> None:
    reading = read("step 1 loss 0.5 throughput inf\n")
    assert reading.not_finite is None or not reading.not_finite.is_measured


def test_of_several_processes_the_first_speaks() -> None:
    reading = read("[rank1]: epoch 1 loss 9.0\n[rank0]: epoch 1 loss 1.0\n[rank1]: epoch 2 loss 8.0\n")
    assert reading.values["loss"] == 1.0 and reading.values["epoch"] == 1


def test_thousands_that_stand_apart_are_of_one_number() -> None:
    values = read("step 1,200/10,000 loss 1,234.5 ppl: 2,000, 12,345 tokens/s acc: 9,832/10,000 lr 0.1,200\n").values
    assert (values["step"], values["steps"], values["loss"], values["perplexity"]) == (1200, 10000, 1234.5, 2000)
    assert (values["throughput"], values["accuracy"], values["lr"]) == (12345, 0.9832, 0.1)


def test_an_epoch_told_after_the_first_step_is_no_restart() -> None:
    lines = "".join(f"step={step}, lr=[1e-05]\nepoch=0/micro_step={step}, speed=30.1\n" for step in (10, 20, 30, 40))
    assert read(lines).progress.restarts == 0


def test_the_time_left_that_a_log_tells_needs_no_clock() -> None:
    line = '{"current_steps": 44, "total_steps": 82, "loss": 0.8, "remaining_time": "1:24:45"}\n'
    assert read(line).progress.seconds_left == 5085


def test_a_restart_begins_the_measuring_of_time_anew() -> None:
    reader = LogReader(progress_patterns())
    for second, epoch in enumerate([*range(1, 21), *range(5, 12)]):
        reader.take(f"epoch {epoch}/100 loss 0.5\n".encode(), BEGAN + 60 * second)
    progress = reader.reading(BEGAN + 26 * 60).progress
    assert progress.restarts == 1 and progress.epoch == 11
    assert progress.seconds_left is not None and abs(progress.seconds_left - 89 * 60) < 10 * 60


def test_the_time_since_the_last_news_is_known_and_taken_from_what_is_left() -> None:
    reader = LogReader(progress_patterns())
    for epoch in range(1, 11):
        reader.take(f"epoch {epoch}/100 loss 0.5\n".encode(), BEGAN + 60 * epoch)
    at_once, later = reader.reading(BEGAN + 600).progress, reader.reading(BEGAN + 900).progress
    assert at_once.news_at == later.news_at == BEGAN + 600
    assert at_once.seconds_left is not None and later.seconds_left is not None
    assert at_once.seconds_left - later.seconds_left == 300


def test_lines_that_tell_whole_seconds_are_not_before_one_that_tells_parts_of_them() -> None:
    reader = LogReader(progress_patterns())
    reader.take(b"2026-01-01 10:00:00.700 loss 2.0\n2026-01-01 10:00:00 loss 1.5\n2026-01-01 10:00:02 loss 1.0\n")
    assert list(reader.reading().series["loss"].columns()[2]) == pytest.approx([0.0, 0.0, 1.3])


def test_times_in_lines_go_with_the_time_they_arrive() -> None:
    """A log of another time zone, most of it there already when somebody begins to look."""
    reader = LogReader(progress_patterns())
    for epoch in range(1, 21):
        reader.take(f"2026-03-02 09:{epoch:02}:00 epoch {epoch}/100 loss 0.5\n".encode())
    reader.take(b"2026-03-02 09:21:00 epoch 21/100 loss 0.5\n", BEGAN)
    progress = reader.reading(BEGAN).progress
    assert progress.news_at == BEGAN
    assert progress.seconds_left is not None and abs(progress.seconds_left - 79 * 60) < 60


def test_what_was_written_while_nobody_looked_did_not_come_in_a_second() -> None:
    """Half of the training was held before the program ended, a piece more came in one when it began again."""
    reader = LogReader(progress_patterns())
    lines = [f"epoch {epoch}/100 loss 0.5\n" for epoch in range(1, 101)]
    reader.take("".join(lines[:10]).encode())
    reader.take("".join(lines[10:60]).encode(), BEGAN)
    for minute, line in enumerate(lines[60:64], start=1):
        reader.take(line.encode(), BEGAN + 60 * minute)
    left = reader.reading(BEGAN + 4 * 60).progress.seconds_left
    assert left is not None and abs(left - 36 * 60) < 4 * 60


def test_room_is_bounded_however_much_is_printed() -> None:
    chance = random.Random(3)
    reader = LogReader(progress_patterns())
    lines = [f"step {step} loss {chance.random():.4f} loss_{step % 500} 0.5\n" for step in range(30_000)]
    reader.take("".join(lines).encode())
    reading = reader.reading()
    assert len(reading.series) == MOST_SERIES
    points = list(reading.series["loss"].points())
    assert MOST_POINTS / 2 <= len(points) <= MOST_POINTS
    assert reading.series["loss"].count == 30_000 and points[-1].step is not None and points[-1].step > 29_000
    steps = [point.step or 0 for point in points]
    assert steps == sorted(steps)


@pytest.mark.parametrize(
    "line",
    [
        b"a" * 2_000_000,
        b"epoch " * 300_000,
        b"loss: " + b"9" * 2_000_000,
        b"1/" * 500_000,
        b"| " * 500_000 + b"5/10 [00:01<",
        b"(" * 1_000_000,
        b"\x1b[" * 500_000,
        bytes(random.Random(1).randbytes(1_000_000)),
        b"loss=[[[[{{{{((((" * 50_000,
        b"epoch [[[ (( [ ( " * 60_000,
    ],
)
def test_no_text_takes_long(line: bytes) -> None:
    reader = LogReader(progress_patterns())
    began = time.process_time()
    reader.take(line + b"\n" + line + b"\n")
    reader.end()
    reader.reading()
    # Bytes, not what is in them: a hundred times this is what a machine under load may take.
    assert time.process_time() - began < 20


def test_a_number_of_ones_own_is_followed() -> None:
    reader = LogReader(progress_patterns(), (tracked_number("3 queue depth <1234> ok", 17, 18, "queue"),))
    reader.take(b"1 queue depth <12> ok\n22  queue depth  <7> ok\n")
    assert reader.reading().values["queue"] == 7


def test_only_what_is_skipped_is_missing() -> None:
    reader = LogReader(progress_patterns())
    reader.take(b"step 1 loss 0.9\nstep 2 lo")
    reader.skip(1000)
    reader.take(b"step 50 loss 0.5\n")
    assert [point.step for point in reader.reading().series["loss"].points()] == [1, 50]
    assert reader.offset == 1017


def test_each_framework_is_there_more_than_once() -> None:
    counted: dict[str, int] = defaultdict(int)
    for case in CASES:
        counted[case["framework"]] += 1
    assert counted["MindSpore"] >= 4 and counted["PyTorch"] >= 6


@pytest.mark.parametrize("seed", range(6))
def test_a_file_that_is_no_text_has_no_values(seed: int) -> None:
    """Among so many bytes a few look like an epoch by chance."""
    noise = random.Random(seed).randbytes(300_000)
    reading = read(noise + b"\nepoch 6 loss 0.5\n")
    assert reading.is_empty and not reading.values and reading.bytes_read == len(noise) + 18
    holes = bytes(byte for byte in noise if byte % 3)
    assert read(holes.replace(b"\x01", b"\0" * 40) + b"\nepoch 6 loss 0.5\n").is_empty


@pytest.mark.parametrize(
    "log",
    [
        b"\xff\xfe\x80\x81\x01" * 20 + b"\n",  # a few broken bytes
        b"\0" * 100_000,  # a hole, where another program emptied the file
        b"10%|\x08\x08\x08\x08\x1b[A\x1b[31m" * 300 + b"\n",
    ],
)
def test_a_log_with_broken_bytes_keeps_its_values(log: bytes) -> None:
    lines = b"".join(b"epoch %d/90 loss %.3f\n" % (epoch, 1 / epoch) for epoch in range(1, 61))
    assert read(log + lines).values["epoch"] == 60


@pytest.mark.parametrize("encoding", ["gb18030", "utf-16", "latin-1"])
def test_a_log_of_another_encoding_keeps_its_values(encoding: str) -> None:
    words = "é" if encoding == "latin-1" else "第一轮" if encoding == "gb18030" else ""
    lines = "".join(f"{words} epoch {epoch}/90 loss {1 / epoch:.3f}\n" for epoch in range(1, 61))
    assert read(lines.encode(encoding)).values["epoch"] == 60
