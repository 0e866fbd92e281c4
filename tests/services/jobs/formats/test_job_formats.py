"""Forms as other programs write them: read, written, and what does not fit named."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.form.test_job_file import specs
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.jobs.form.job_format import JobFormat
from traindeck.domain.jobs.job_spec import Channel, JobSpec, Target, Volume, VolumeKind
from traindeck.runtime.secret_names import opens
from traindeck.services.jobs.formats.job_formats import read_job, write_job

# Made after the options that https://support.huaweicloud.com/devtool-modelarts/devtool-modelarts_0322.html explains.
MA_CLI = """\
# a job of ma-cli
name: test-job
code-dir: obs://your-bucket/code/
boot-file: main.py
framework-type: PyTorch
framework-version: pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64
data-url: obs://your-bucket/dataset/
log-url: obs://your-bucket/logs/
train-instance-type: modelarts.vm.cpu.8u
train-instance-count: 2
policy: regular
env-variables:
  - ENV1=a=b
parameters:
  - epoch=10
  - lr=1e-3
  - id=007
input:
  val_url: obs://your-bucket/val/
output:
  - train_url=obs://your-bucket/out/
volumes:
  - local_path=/data;nfs_server_path=192.168.0.10:/;read_only=true
"""
OLD = {
    "job_name": "MA-new-biggan-11-18-08-05",
    "job_desc": "from the ToolKit",
    "config": {
        "worker_server_num": 2,
        "app_url": "/demo-bucket/code/biggan/",
        "boot_file_url": "/demo-bucket/code/biggan/src/main.py",
        "parameter": [{"label": "batchsize", "value": "4"}, {"label": "lr", "value": "1e-3"}],
        "data_source": [{"type": "obs", "data_url": "/demo-bucket/cat/"}],
        "train_url": "/demo-bucket/out/",
        "log_url": "/demo-bucket/log/",
        "flavor": {"code": "modelarts.kat1.xlarge"},
        "engine_id": 130,
    },
}


def spec_in(source: str) -> JobSpec:
    return read_job(source).spec


def test_a_job_of_ma_cli_is_read() -> None:
    spec = spec_in(MA_CLI)
    assert (spec.name, spec.code_url, spec.boot, spec.nodes) == ("test-job", "obs://your-bucket/code/", "main.py", 2)
    assert spec.inputs == (
        Channel("data_url", "obs://your-bucket/dataset/"),
        Channel("val_url", "obs://your-bucket/val/"),
    )
    assert spec.parameters == (("epoch", 10), ("lr", "1e-3"), ("id", "007"))
    assert spec.environment == (("ENV1", "a=b"),)
    assert spec.volumes == (Volume(VolumeKind.NFS, "192.168.0.10:/", "/data", read_only=True),)
    assert spec_in(write_job(spec, JobFormat.YAML).content) == spec


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (MA_CLI.replace("boot-file", "bootfile"), "Did you mean “boot-file”?"),
        (MA_CLI.replace("framework-type: PyTorch", "framework-type: [PyTorch"), "Line "),
        (MA_CLI.replace("train-instance-count: 2", "train-instance-count: two"), "a whole number"),
        (MA_CLI.replace("  - epoch=10", "  - epoch"), "name=value"),
        (MA_CLI.replace("local_path", "path"), "local_path=…"),
        ("- a\n- b\n", "This is not a job of ma-cli"),
        ('{"kind": "job"', "line 1"),
        ('{"kind": "job"}', "This is not a training job"),
        ("[job]\nnam = 1\n", "Line 2"),
    ],
)
def test_what_cannot_be_read_says_why(source: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_job(source)
    assert said in refused.value.sentence()


def test_a_job_of_the_toolkit_is_read_and_written() -> None:
    spec = spec_in(json.dumps(OLD))
    assert (spec.name, spec.description, spec.boot) == (OLD["job_name"], "from the ToolKit", "src/main.py")
    assert spec.code_url == "obs://demo-bucket/code/biggan/"
    assert spec.inputs == (Channel("data_url", "obs://demo-bucket/cat/"),)
    assert spec.outputs == (Channel("train_url", "obs://demo-bucket/out/"),)
    assert spec.parameters == (("batchsize", 4), ("lr", "1e-3"))
    assert spec.flavor == "modelarts.kat1.xlarge"
    written = write_job(spec, JobFormat.TOOLKIT)
    assert (spec_in(written.content), written.lost) == (spec, ())


def test_what_a_format_does_not_hold_is_named_and_keys_are_left_out() -> None:
    spec = replace(
        spec_in(json.dumps(OLD)), tags=(("team", "cv"),),
        environment=(("API_KEY", "abc"), ("MYSQL_PWD", "abc"), ("ASK", "1")),
        parameters=(("hf_token", "abc"), ("lr", 1), ("tokenizer", "bert")),
    )  # fmt: skip
    written = write_job(spec, JobFormat.TOOLKIT)
    assert [str(label) for label in written.lost] == ["Environment variables", "Tags"]
    for kind in JobFormat:
        found = write_job(spec, kind)
        assert found.masked == ("hf_token", "API_KEY", "MYSQL_PWD") and "abc" not in found.content


@given(specs)
def test_yaml_and_toml_lose_nothing(spec: JobSpec) -> None:
    for kind in (JobFormat.YAML, JobFormat.TOML):
        written = write_job(spec, kind)
        if not written.masked:
            assert (spec_in(written.content), written.lost) == (spec, ())


@given(specs)
def test_what_the_toolkit_has_no_place_for_is_named_and_the_rest_comes_back(spec: JobSpec) -> None:
    written = write_job(spec, JobFormat.TOOLKIT)
    back = spec_in(written.content)
    labels = {field.label for field in FIELDS if getattr(back, field.name) != getattr(spec, field.name)}
    assert written.masked or labels == set(written.lost)


old_words = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)
old_places = st.from_regex(r"/[a-z]{3,8}/[a-z0-9]{1,8}/", fullmatch=True)


old_rows = st.tuples(st.from_regex(r"[a-z]{1,8}", fullmatch=True), old_words)


@given(
    st.lists(old_rows, max_size=3, unique_by=lambda row: row[0]),
    old_places, old_places, st.integers(1, 9),
)  # fmt: skip
def test_a_job_of_the_toolkit_comes_through_unchanged(
    rows: list[tuple[str, str]], code: str, out: str, nodes: int
) -> None:
    parameters = [{"label": name, "value": value} for name, value in rows if not opens(name)]
    config: dict[str, Any] = {"worker_server_num": nodes, "app_url": f"obs:/{code}", "train_url": f"obs:/{out}"}
    document = {"job_name": "x", "config": config | ({"parameter": parameters} if parameters else {})}
    assert json.loads(write_job(spec_in(json.dumps(document)), JobFormat.TOOLKIT).content) == document


def test_every_kind_of_file_is_known_by_what_is_in_it() -> None:
    spec = JobSpec(name="x", target=Target.MODELARTS, flavor="f", stop_after="none", code_folder="")
    for kind in JobFormat:
        back = spec_in("\ufeff\n" + write_job(spec, kind).content)
        assert (back.name, back.flavor) == ("x", "f")
    assert {field.name for field in fields(JobSpec)} == {field.name for field in FIELDS}
    assert job_file.parse(write_job(spec, JobFormat.TOML).content) == spec
