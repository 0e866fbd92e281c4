"""The documents of a job: what we send, and what we make of the answers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import CHINESE
from traindeck.runtime.language import speak
from traindeck.services.jobs.modelarts.documents import (
    engine_of,
    flavor_of,
    remote_job,
)
from traindeck.services.jobs.modelarts.request import job_request

CODE = ObjectPath("demo", "runs/r1/code")
SPEC = JobSpec(
    name="digits",
    description="from the form",
    boot="src\\train.py",
    engine="PyTorch",
    engine_version="pytorch_2.1",
    flavor="cpu",
    stop_after="2d",
    inputs=(Channel("data_url", " obs:/demo/data/ "), Channel("one", "demo/set.tar"), Channel("none", "")),
    outputs=(Channel("train_url", "s3://demo/out/{run}"),),
    log_to="/demo/log/{run}",
    parameters=(("lr", 0.01), ("amp", True), ("epochs", 3), ("note", "a=1;b")),
    environment=(("A", "1"), ("PYTHONUNBUFFERED", "0")),
)


def test_the_form_becomes_the_request() -> None:
    assert job_request("digits-1", SPEC.for_run("digits-1"), CODE) == {
        "kind": "job",
        "metadata": {"name": "digits-1", "workspace_id": "0", "description": "from the form"},
        "algorithm": {
            "code_dir": "/demo/runs/r1/code/",
            "boot_file": "/demo/runs/r1/code/src/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_2.1"},
            "parameters": [
                {"name": "lr", "value": "0.01"},
                {"name": "amp", "value": "true"},
                {"name": "epochs", "value": "3"},
                {"name": "note", "value": "a=1;b"},
            ],
            "inputs": [
                {"name": "data_url", "access_method": "parameter", "remote": {"obs": {"obs_url": "/demo/data/"}}},
                {"name": "one", "access_method": "parameter", "remote": {"obs": {"obs_url": "/demo/set.tar"}}},
            ],
            "outputs": [
                {
                    "name": "train_url",
                    "access_method": "parameter",
                    "remote": {"obs": {"obs_url": "/demo/out/digits-1/"}},
                }
            ],
            "environments": {"A": "1", "PYTHONUNBUFFERED": "0"},
        },
        "spec": {
            "resource": {"node_count": 1, "flavor_id": "cpu"},
            "log_export_path": {"obs_url": "/demo/log/digits-1/"},
            "auto_stop": {"time_unit": "HOURS", "duration": 48},
        },
    }


def test_an_own_image_runs_its_command_or_the_launcher_of_an_engine() -> None:
    alone = replace(SPEC, image="org/image:1", command="bash run.sh", boot="", engine="", engine_version="")
    algorithm = job_request("x", alone, CODE)["algorithm"]
    assert algorithm["engine"] == {"image_url": "org/image:1"}
    assert algorithm["command"] == "bash run.sh"
    assert "boot_file" not in algorithm
    on_top = job_request("x", replace(SPEC, image="org/image:1"), CODE)["algorithm"]
    assert on_top["engine"] == {
        "engine_name": "PyTorch",
        "engine_version": "pytorch_2.1",
        "image_url": "org/image:1",
    }
    assert on_top["boot_file"].endswith("train.py")


def test_no_limit_and_an_own_pool() -> None:
    document = job_request("x", replace(SPEC, stop_after="none", pool="pool-1", priority=2, flavor="", log_to=""), CODE)
    assert document["spec"] == {
        "resource": {"node_count": 1, "pool_id": "pool-1"},
        "schedule_policy": {"priority": 2},
    }


def test_an_answer_becomes_a_job() -> None:
    job = remote_job(
        {
            "metadata": {"id": "j1", "name": "n", "create_time": 1763453105000},
            "status": {
                "phase": "Failed",
                "start_time": "1763453115000",
                "duration": 4200,
                "tasks": ["worker-0", "worker-1"],
                "task_statuses": [{"task": "worker-1", "exit_code": 2, "message": ""}],
            },
        }
    )
    assert job.state is RunState.FAILED
    assert job.created == datetime(2025, 11, 18, 8, 5, 5, tzinfo=UTC)
    assert job.started == datetime(2025, 11, 18, 8, 5, 15, tzinfo=UTC)
    assert (job.duration_ms, job.tasks, str(job.exit_message)) == (
        4200,
        ("worker-0", "worker-1"),
        "worker-1: Exit code 2",
    )


@pytest.mark.parametrize(
    ("task", "english", "chinese"),
    [
        ({"exit_code": 1, "message": "job failed: worker-0 ended with exit code 1"}, "Exit code 1", "退出码 1"),
        ({"exit_code": "2", "message": "[worker-0] training process exited with code 2."}, "Exit code 2", "退出码 2"),
        ({"exit_code": 137}, "Exit code 137: the process was killed, often because memory ran out",
         "退出码 137：进程被终止，通常是因为内存不足"),
        ({"exit_code": 247}, "Exit code 247: the process was killed, often because memory ran out",
         "退出码 247：进程被终止，通常是因为内存不足"),
        ({"exit_code": 139, "message": "core"},
         "Exit code 139: the process crashed, often because packages do not fit together. The service says: core",
         "退出码 139：进程崩溃，通常是因为软件包不兼容。服务端返回：core"),
        ({"message": "NodeNotReady"}, "NodeNotReady", "NodeNotReady"),
        ({"exit_code": "no number", "message": "lost"}, "lost", "lost"),
    ],
)  # fmt: skip
def test_how_a_job_ended_is_told_in_the_language_of_the_user(task: dict[str, Any], english: str, chinese: str) -> None:
    """Words of the service are kept where they say more than the code."""
    job = remote_job({"status": {"phase": "Failed", "tasks": ["worker-0"], "task_statuses": [task]}})
    assert str(job.exit_message) == english
    speak(CHINESE)
    assert str(job.exit_message) == chinese


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"metadata": None, "status": []},
        {"metadata": {"id": "j", "create_time": ""}, "status": {"start_time": 0, "duration": 0, "tasks": None}},
        {"metadata": {"id": "j"}, "status": {"phase": "Hibernating", "task_statuses": [None]}},
    ],
)
def test_what_is_not_told_stays_unknown(document: dict[str, object]) -> None:
    job = remote_job(document)
    assert (job.started, job.duration_ms, job.created, job.tasks) == (None, None, None, ())
    assert job.state is RunState.UNKNOWN


def test_odd_engines_and_flavors_are_read() -> None:
    engine = engine_of({"engine_name": "MPI", "engine_version": "mindspore_1.3-x86_64"})
    assert (engine.id, engine.arch) == ("mindspore_1.3-x86_64", "x86_64")
    flavor = flavor_of(
        {
            "flavor_id": "f",
            "flavor_type": "Ascend",
            "max_num": "4",
            "flavor_info": {"npu": {"unit_num": "8", "product_name": "Snt9", "memory": "32GB"}, "memory": []},
        }
    )
    assert (flavor.name, flavor.max_nodes, flavor.accelerator, flavor.cores) == ("f", 4, "8 × Snt9 32GB", None)
    assert flavor.memory == ""


def test_all_that_is_told_of_a_specification_is_kept() -> None:
    flavor = flavor_of(
        {
            "flavor_id": "modelarts.p3.large.public.free",
            "flavor_type": "GPU",
            "billing": {"code": "modelarts.vm.gpu.free", "unit_num": 1},
            "flavor_info": {
                "cpu": {"arch": "x86", "core_num": 8},
                "gpu": {"unit_num": 1, "product_name": "V100", "memory": "32GB"},
                "disk": {"size": "3200", "unit": "GB"},
            },
            "support_engines": '["PyTorch"]',
            "attributes": {"sold_out": "true"},
        }
    )
    assert (flavor.cards, flavor.card, flavor.card_memory, flavor.disk) == (1, "V100", "32GB", "3200 GB")
    assert (flavor.arch, flavor.is_free, flavor.billing_code) == ("x86", True, "modelarts.vm.gpu.free")
    assert (flavor.engines, flavor.attributes) == (("PyTorch",), (("sold_out", "true"),))
    assert flavor_of({"support_engines": "[", "attributes": []}).engines == ()


def test_a_worker_whose_name_would_lead_its_log_elsewhere_is_none() -> None:
    tasks = ["worker-0", "../../.bashrc", "/etc/x", "..", "", "a/b", "a\\b", "w\n", 7, None, "ps-0.a_b"]
    job = remote_job({"metadata": {"id": "j"}, "status": {"tasks": tasks}})
    assert job.tasks == ("worker-0", "ps-0.a_b")
