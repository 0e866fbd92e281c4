"""Names, times and states of runs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from traindeck.domain.jobs.choices import Choices, Engine, Flavor
from traindeck.domain.jobs.job import NAME, Run, RunState, duration_words, run_name, state_of
from traindeck.domain.jobs.job_spec import Channel, JobSpec, Target, wire_value
from traindeck.domain.jobs.validation import validate

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
GOOD = JobSpec(
    name="digits", boot="train.py", engine="PyTorch", engine_version="pytorch_2.1.0-cuda_12.1", flavor="cpu",
    stop_after="1h", inputs=(Channel("data_url", "obs://digits/data/"),), outputs=(Channel("train_url", "obs://digits/{run}/"),),
)  # fmt: skip


@pytest.mark.parametrize("name", ["digits", "名字", "", "a" * 200, "two words/slash", "---"])
def test_a_run_name_is_always_one_the_service_takes(name: str) -> None:
    assert NAME.fullmatch(run_name(name, NOON, "x7k2"))


def test_unknown_phases_are_kept_apart_from_our_own_words() -> None:
    assert state_of("Running") is RunState.RUNNING
    assert state_of("Hibernating") is RunState.UNKNOWN
    assert state_of("Preparing") is RunState.UNKNOWN  # our word, never the service's
    assert not RunState.UNKNOWN.is_over


def test_values_reach_the_script_as_they_stand_in_the_file() -> None:
    assert [wire_value(value) for value in (True, False, 3, 0.1, "x y")] == ["true", "false", "3", "0.1", "x y"]


def test_run_time_is_unknown_until_it_starts_and_stands_still_after_the_end() -> None:
    run = Run("1", 1, "n", "lab", GOOD, RunState.PENDING, NOON)
    assert run.run_seconds(NOON) is None
    running = replace(run, state=RunState.RUNNING, started=NOON)
    assert running.run_seconds(NOON + timedelta(seconds=5)) == 5
    over = replace(running, state=RunState.COMPLETED, duration_ms=42_000)
    assert over.run_seconds(NOON + timedelta(days=1)) == 42
    assert (duration_words(None), duration_words(42), duration_words(3723)) == ("–", "0:42", "1:02:03")


def test_run_fills_its_name_into_every_place() -> None:
    spec = replace(GOOD, log_to="obs://digits/log/{run}/").for_run("digits-1")
    assert spec.outputs == (Channel("train_url", "obs://digits/digits-1/"),)
    assert spec.log_to == "obs://digits/log/digits-1/"


ENGINES = (Engine("PyTorch", "pytorch_2.1.0-cuda_12.1", "p"), Engine("Ascend-Powered-Engine", "ms-cann_5-aarch64", "m"))
FLAVORS = (Flavor("cpu", "CPU", "CPU", max_nodes=1), Flavor("npu", "NPU", "Ascend", max_nodes=16))


def test_a_good_form_has_nothing_to_mend() -> None:
    assert validate(GOOD, Choices(ENGINES, FLAVORS)) == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "two words"}, "name"),
        ({"target": Target.APULIS}, "target"),
        ({"boot": ""}, "boot"),
        ({"boot": "train.sh"}, "boot"),
        ({"boot": "../train.py"}, "boot"),
        ({"command": "bash run.sh"}, "image"),
        ({"engine_version": "pytorch_9"}, "engine"),
        ({"flavor": "gone"}, "flavor"),
        ({"flavor": "npu"}, "flavor"),
        ({"nodes": 2}, "nodes"),
        ({"nodes": 0}, "nodes"),
        ({"stop_after": ""}, "stop_after"),
        ({"outputs": ()}, "outputs"),
        ({"inputs": (Channel("data_url", "obs://A/"),)}, "inputs:data_url"),
        ({"outputs": (Channel("data_url", "obs://digits/o/"),)}, "outputs:data_url"),
        ({"log_to": "nowhere at all"}, "log_to"),
        ({"parameters": (("data_url", "x"),)}, "parameters:data_url"),
        ({"parameters": (("lr rate", 1),)}, "parameters:lr rate"),
        ({"environment": (("MA_HOME", "x"),)}, "environment:MA_HOME"),
        ({"environment": (("1A", "x"),)}, "environment:1A"),
    ],
)
def test_each_mistake_is_said_at_its_field(changes: dict[str, Any], field: str) -> None:
    assert field in [error.field for error in validate(replace(GOOD, **changes), Choices(ENGINES, FLAVORS))]
