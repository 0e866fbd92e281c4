"""What a form cannot hold of another program's file is said, whatever the file holds."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.jobs.formats.test_job_formats import MA_CLI, OLD
from traindeck.domain.errors import InvalidInput, Unreachable
from traindeck.domain.jobs.choices import Choices, Engine
from traindeck.domain.jobs.form.job_format import JobFormat
from traindeck.domain.jobs.job_spec import JobSpec, Target, Volume, VolumeKind
from traindeck.domain.texts import text
from traindeck.services.jobs.formats.job_formats import read_job, write_job
from traindeck.services.jobs.formats.reading import ReadJob, with_engine
from traindeck.services.jobs.modelarts.request import job_request

CONFIG = {
    "worker_server_num": 1, "app_url": "/usr/app/", "boot_file_url": "/usr/app/boot.py",
    "parameter": [{"label": "steps", "value": 0}, {"label": "amp", "value": False},
                  {"value": "x"}, {"label": "d", "value": {}}],
    "dataset_id": "38277e62", "dataset_version_id": "2ff0d6ba", "model_id": 1, "spec_id": 7, "engine_id": 130,
    "nas_type": "nfs", "nas_share_addr": "192.168.8.150:/", "nas_mount_path": "/home/work/nas",
    "volumes": [
        {"nfs": {"id": "43b3", "src_path": "192.168.8.151:/", "dest_path": "/data", "read_only": True}},
        {"host_path": {"src_path": "/root/work", "dest_path": "/home/mind", "read_only": False}},
    ],
    "train_url": "/usr/train/", "create_version": False,
}  # fmt: skip
REST = {
    "kind": "job",
    "metadata": {"name": "digits", "training_experiment_reference": {"name": "e", "description": "why"},
                 "annotations": {"job_template": "Template RL"}},
    "algorithm": {"code_dir": "/code-b/c/", "command": "bash run.sh",
                  "engine": {"image_url": "org/image:1", "run_user": "1101"}},
    "spec": {"auto_stop": {"time_unit": "HOURS", "duration": 2},
             "resource": {"flavor_id": "f", "node_count": 1, "policy": "economic"}},
}  # fmt: skip


def words(read: ReadJob) -> str:
    return " ".join(str(remark) for remark in read.remarks)


def of_config(**changes: Any) -> ReadJob:
    return read_job(json.dumps({"job_name": "old", "config": {**CONFIG, **changes}}))


def test_what_the_toolkit_says_and_a_job_cannot_hold_is_named() -> None:
    read = of_config()
    assert "only the ID “7” of its specification" in words(read)
    for name in ("dataset_id", "dataset_version_id", "model_id", "parameter[2].value", "parameter[3].label",
                 "volumes[1].host_path.src_path"):  # fmt: skip
        assert f"config.{name}" in words(read), name
    assert "create_version" not in words(read) and "spec_id" not in words(read)
    # A zero is a value, and false another.
    assert dict(read.spec.parameters) == {"steps": 0, "amp": False}
    assert read.spec.volumes == (
        Volume(VolumeKind.NFS, "192.168.8.150:/", "/home/work/nas"),
        Volume(VolumeKind.NFS, "192.168.8.151:/", "/data", read_only=True),
    )


def test_what_an_image_of_the_older_service_was_given_were_variables() -> None:
    """There they went into the container, and the command had no arguments but its own."""
    read = of_config(user_image_url="org/image:1", user_command="bash run.sh", parameter=[{"label": "A", "value": "1"}])
    assert (read.spec.parameters, read.spec.environment) == ((), (("A", "1"),))
    written = write_job(read.spec, JobFormat.TOOLKIT)
    assert "engine_id" in words(read) and (read_job(written.content).spec, written.lost) == (read.spec, ())


async def test_the_number_of_an_engine_is_looked_up_or_said() -> None:
    asked = []

    async def offered() -> Choices:
        asked.append(1)
        return Choices((Engine("XGBoost-Sklearn", "XGBoost-0.80", "131"), Engine("PyTorch", "pytorch_2.1", "130")), ())

    async def nothing() -> Choices:
        raise Unreachable(text("ModelArts does not respond."), text("Try again."))

    found = await with_engine(of_config(), offered)
    assert (found.spec.engine, found.spec.engine_version) == ("PyTorch", "pytorch_2.1")
    assert "Engine “130” is PyTorch, version pytorch_2.1." in words(found)
    other = await with_engine(of_config(engine_id=9), offered)
    assert other.spec.engine == "" and "the account offers no engine of this ID" in words(other)
    away = await with_engine(of_config(), nothing)
    assert "could not be looked up: ModelArts does not respond." in words(away)
    asked.clear()
    named = await with_engine(of_config(engine_name="PyTorch", engine_version="v"), offered)
    assert asked == [] and named.spec.engine == "PyTorch" and "engine" not in words(named)


def test_a_request_keeps_what_only_a_request_can_say() -> None:
    read = read_job(json.dumps(REST))
    assert read.remarks == ()
    body = job_request("digits", read.spec.for_run("digits"), None)
    assert body["algorithm"]["engine"]["run_user"] == "1101"
    assert body["spec"]["resource"]["policy"] == "economic"
    assert body["metadata"]["training_experiment_reference"] == {"name": "e", "description": "why"}
    assert body["metadata"]["annotations"] == {"job_template": "Template RL"}


def test_what_a_request_says_in_no_known_way_is_named() -> None:
    document = copy.deepcopy(REST)
    document["algorithm"] = {
        "parameters": [{"name": "lr", "value": 0.1}, {"value": 1}, {"name": "lr", "value": 2},
                       {"name": "grid", "value": [1]}],
        "inputs": [{"remote": {}}], "outputs": {"train_url": "x"}, "environments": ["A=1"],
    }  # fmt: skip
    document["metadata"] = {"name": "x" * 60, "tags": [{"value": "cv"}]}
    document["spec"]["schedule_policy"] = {"priority": "high"}  # type: ignore[index]
    read = read_job(json.dumps(document))
    for name in ("parameters[1]", "parameters[2]", "inputs[0]", "outputs", "environments"):
        assert f"algorithm.{name}" in words(read), name
    assert "metadata.tags[0]" in words(read) and "spec.schedule_policy.priority" in words(read)
    assert f"was shortened to “{'x' * 40}”" in words(read)
    assert dict(read.spec.parameters) == {"lr": 0.1, "grid": "[1]"}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (MA_CLI + "name: other\n", "“name” appears twice"),
        (MA_CLI + "boot_file: other.py\n", "“boot-file” appears twice"),
        (MA_CLI.replace("read_only=true", "read_only=yes"), "local_path=…"),
        ('{"metadata": {"name": "x", "name": "y"}}', "“name” appears twice"),
    ],
)
def test_what_would_be_lost_between_two_is_refused(source: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_job(source)
    assert said in refused.value.sentence()


def test_options_of_the_program_itself_are_named() -> None:
    read = read_job(MA_CLI + "quiet: true\n")
    left, no_stop_time = read.remarks
    assert str(left) == "Not imported, because a job has no place for it: quiet."
    assert "no stop time" in str(no_stop_time) and read.spec.stop_after == ""


json_scalars = st.one_of(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8),
                         st.integers(1, 10**6), st.just(True))  # fmt: skip
json_values = st.recursive(
    json_scalars,
    lambda inside: st.one_of(
        st.lists(inside, min_size=1, max_size=3),
        st.dictionaries(st.from_regex(r"[a-z_]{2,8}", fullmatch=True), inside, min_size=1, max_size=3),
    ),
    max_leaves=6,
)


def leaves(value: Any, way: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{way}.{key}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from leaves(part, f"{way}[{number}]")
    else:
        yield way


@given(st.dictionaries(st.from_regex(r"zz_[a-z_]{1,8}", fullmatch=True), json_values, max_size=3))
def test_nothing_of_the_older_service_goes_unseen(unknown: dict[str, Any]) -> None:
    """Every place of a file that we know nothing of is named, however deep it is."""
    read = read_job(json.dumps({**OLD, "config": {**OLD["config"], **unknown}}))  # type: ignore[dict-item]
    said = words(read)
    assert all(f"config{place}" in said for place in leaves(unknown))


@given(st.dictionaries(st.from_regex(r"zz_[a-z_]{1,8}", fullmatch=True), json_values, max_size=3), st.booleans())
def test_nothing_of_a_request_goes_unseen(unknown: dict[str, Any], is_told: bool) -> None:
    """What we know nothing of goes out again as it came, and is not told of as lost."""
    document: dict[str, Any] = {**copy.deepcopy(REST), **unknown}
    document["spec"] |= unknown
    if is_told:
        document["status"] = {"phase": "Running"}
    read = read_job(json.dumps(document))
    body = job_request("digits", read.spec.for_run("digits"), None)
    assert all(body["spec"][name] == value and body[name] == value for name, value in unknown.items())
    assert read.remarks == ()


def test_every_format_says_the_same_of_keys_that_were_left_out() -> None:
    spec = JobSpec(
        name="x", target=Target.MODELARTS, parameters=(("hf_token", "abc"),), stop_after="none", code_folder=""
    )
    for kind in JobFormat:
        assert "Empty in the file, because they may be keys: hf_token." in words(
            read_job(write_job(spec, kind).content)
        )
