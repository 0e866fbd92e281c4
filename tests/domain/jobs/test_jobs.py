"""Names, times and states of runs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from traindeck.domain import texts
from traindeck.domain.jobs.choices import Choices, Engine, Flavor, matching_engines, matching_flavors, misfit
from traindeck.domain.jobs.form.validation import remarks, validate
from traindeck.domain.jobs.job import NAME, Run, RunState, duration_words, job_name_of, run_name, state_of
from traindeck.domain.jobs.job_spec import (
    Channel,
    ChannelAccess,
    ChannelStyle,
    JobSpec,
    Target,
    Volume,
    VolumeKind,
    as_template,
    filled_in,
    wire_value,
)
from traindeck.runtime import language

NOON = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
GOOD = JobSpec(
    name="digits", boot="train.py", engine="PyTorch", engine_version="pytorch_2.1.0-cuda_12.1", flavor="cpu",
    stop_after="1h", inputs=(Channel("data_url", "obs://digits/data/"),), outputs=(Channel("train_url", "obs://digits/{run}/"),),
)  # fmt: skip


@pytest.mark.parametrize("name", ["digits", "名字", "", "a" * 200, "two words/slash", "---"])
def test_a_run_name_is_always_one_the_service_takes(name: str) -> None:
    assert NAME.fullmatch(run_name(name, NOON, "x7k2"))


@pytest.mark.parametrize("random_part", ["x7k2", "9upp74"])
def test_the_name_of_a_job_comes_back_out_of_that_of_its_run(random_part: str) -> None:
    assert job_name_of(run_name("digits", NOON, random_part)) == "digits"
    for theirs in ("job-2026-0101", "a-1120-0529-abcd-more", "x-1120-0529-abcdefgh"):
        assert job_name_of(theirs) == theirs, "not of our making"


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


ENVIRONMENT = ChannelAccess.ENVIRONMENT
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
        ({"priority": 99}, "priority"),
        ({"priority": -1}, "priority"),
        ({"parameters": (("--lr", 1),)}, "parameters:--lr"),
        ({"parameters": (("lr", float("nan")),)}, "parameters:lr"),
        ({"parameters": (("lr", float("-inf")),)}, "parameters:lr"),
        ({"description": "x" * 257}, "description"),
        ({"experiment": "x" * 65}, "experiment"),
        ({"image": "no slash"}, "image"),
        ({"image": "org/i:1", "command": "a\nb"}, "command"),
        ({"outputs": (Channel("o", "obs://digits/{runn}/"),)}, "outputs:o"),
        ({"log_to": "obs://digits/{what}/"}, "log_to"),
        ({"inputs": (Channel("d", "obs://digits/d/", local_dir="cache"),)}, "inputs:d"),
        ({"inputs": (Channel("d", "obs://digits/d/", ENVIRONMENT, ChannelStyle.OBS),)}, "inputs:d"),
        ({"volumes": (Volume(VolumeKind.NFS, "1.2.3.4:/", "/data"),)}, "volumes"),
        ({"pool": "p", "volumes": (Volume(VolumeKind.NFS, "1.2.3.4:/", "/cache/"),)}, "volumes"),
        ({"pool": "p", "volumes": (Volume(VolumeKind.OBS, "obs://A/", "/d"),)}, "volumes"),
        ({"pool": "p", "volumes": (Volume(VolumeKind.PFS, "obs://bb/", "/d"),) * 2}, "volumes"),
        ({"tags": (("_sys_x", "y"),)}, "tags:_sys_x"),
        ({"notify_events": ("JobFailed",)}, "notify_topic"),
        ({"notify_topic": "urn:smn:x"}, "notify_events"),
        ({"notify_topic": "urn:smn:x", "notify_events": ("JobFail",)}, "notify_events"),
        ({"algorithm_id": "a-1"}, "boot"),
        ({"subscription_id": "s-1", "boot": "", "engine": "", "engine_version": ""}, "item_version_id"),
        ({"install_moxing": True}, "install_moxing"),
        ({"code_url": "no bucket"}, "code_url"),
        ({"extra": (("spec", "1"),)}, "extra:spec"),
        ({"extra": (("/spec/x", "NaN"),)}, "extra:/spec/x"),
    ],
)
def test_each_mistake_is_said_at_its_field(changes: dict[str, Any], field: str) -> None:
    assert field in [error.field for error in validate(replace(GOOD, **changes), Choices(ENGINES, FLAVORS))]


def said(changes: dict[str, Any], offer: Choices | None = None) -> list[str]:
    return [str(error.message) for error in validate(replace(GOOD, **changes), offer)]


def test_what_is_misspelled_is_answered_with_the_nearest() -> None:
    offer = Choices(ENGINES, FLAVORS)
    assert said({"engine_version": "pytorch_2.1.0-cuda_12"}, offer) == [
        "“pytorch_2.1.0-cuda_12” is not available here. The nearest is “pytorch_2.1.0-cuda_12.1”."
    ]
    assert said({"flavor": "cpuu"}, offer) == ["“cpuu” is not available here. The nearest is “cpu”."]
    assert said({"flavor": "x"}, Choices(ENGINES, ())) == ["“x” is not available here."]
    assert said({"outputs": (Channel("o", "obs://digits/{runn}/"),)}) == ["“{runn}” is unknown. Did you mean “{run}”?"]
    assert said({"parameters": (("--lr", 1),)}) == ["Enter the name without dashes: “lr”."]
    topic = {"notify_topic": "urn:smn:x", "notify_events": ("JobFail",)}
    assert said(topic) == ["“JobFail” is unknown. Did you mean “JobFailed”?"]


def test_what_counts_otherwise_than_written_is_remarked() -> None:
    assert remarks(GOOD) == []
    assert [one.field for one in remarks(replace(GOOD, stop_after="30m", priority=2))] == ["stop_after", "priority"]
    assert remarks(replace(GOOD, priority=2, pool="p-1", stop_after="never")) == []


def test_places_are_filled_in_once_and_braces_of_names_stay() -> None:
    place = "obs://b-1/{account}/{name}/{run}/{{run}}/{other}/"
    filled = replace(GOOD, log_to=place).for_run("digits-{name}", "me").log_to
    assert filled == "obs://b-1/me/digits/digits-{name}/{run}/{other}/"
    assert filled_in(as_template("a{run}b{{"), {"run": "x"}) == "a{run}b{{"


@pytest.mark.parametrize(
    ("engine", "flavor", "nodes", "why"),
    [
        (ENGINES[0], FLAVORS[0], 1, None),
        (ENGINES[1], FLAVORS[1], 16, None),
        (ENGINES[1], FLAVORS[0], 1, "built for Ascend; this specification is CPU"),
        (ENGINES[0], FLAVORS[1], 1, "not built for Ascend"),
        (None, FLAVORS[0], 2, "at most 1 node"),
        (ENGINES[0], Flavor("f", "f", "GPU", engines=("tf",)), 1, "does not take this engine"),
    ],
)
def test_what_does_not_go_together_has_its_reason(
    engine: Engine | None, flavor: Flavor, nodes: int, why: str | None
) -> None:
    found = misfit(engine, flavor, nodes)
    assert found is None if why is None else found is not None and why in str(found)


def test_choices_are_found_by_words_and_the_recent_ones_come_first() -> None:
    assert [one.id for one in matching_flavors(FLAVORS, "")] == ["cpu", "npu"]
    assert [one.id for one in matching_flavors(FLAVORS, "", ["npu"])] == ["npu", "cpu"]
    assert [one.id for one in matching_flavors(FLAVORS, "ASC npu")] == ["npu"]
    assert [one.name for one in matching_engines(ENGINES, "cann")] == ["Ascend-Powered-Engine"]


def test_a_specification_is_found_by_the_kind_of_its_card_in_both_languages() -> None:
    flavors = [Flavor("kat1", "8*snt9b", "Ascend"), Flavor("p3", "8*V100", "GPU"), Flavor("2u", "2 cores", "CPU")]

    def found(words: str) -> list[str]:
        return [one.id for one in matching_flavors(flavors, words)]

    assert [found(words) for words in ("npu", "GPU", "cpu", "ascend NPU")] == [["kat1"], ["p3"], ["2u"], ["kat1"]]
    language.speak(texts.CHINESE)
    assert [found(words) for words in ("npu", "昇腾", "gpu")] == [["kat1"], ["kat1"], ["p3"]]


def test_a_specification_is_found_by_what_is_shown_of_it() -> None:
    language.speak(texts.CHINESE)
    found = matching_flavors(FLAVORS, "免费", shown=lambda one: [texts.text("free")] if one.id == "cpu" else [])
    assert [one.id for one in found] == ["cpu"]


def test_every_state_has_a_word_in_both_languages() -> None:
    assert str(RunState.TERMINATED.words) == "Stopped"
    language.speak(texts.CHINESE)
    assert {str(state.words) for state in RunState}.isdisjoint({state.value for state in RunState})
