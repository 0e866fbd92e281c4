"""Every fault as the vendor's SDK meets it at ModelArts: by a file in the root, by a flag, and by the control port."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
from huaweicloudsdkcore.exceptions.exceptions import ConnectionException
from huaweicloudsdkmodelarts.v1 import model as sdk

from support.lab_app import Jobs, error_of, job_body, json_of, prepared, sdk_client, wait_for
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from traindeck.lab.accounts import LabAccount

GPU = {"engine_id": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"}
SCRIPT = b"import time; print('up'); time.sleep(600)"


def gpu_job(flavor: str) -> dict[str, Any]:
    resource = {"flavor_id": flavor, "node_count": 1}
    return job_body(flavor.replace(".", "-"), algorithm__engine=GPU, spec__resource=resource)


def seconds(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def late(jobs: Jobs) -> None:
    assert seconds(lambda: jobs.client.show_training_job_engines(sdk.ShowTrainingJobEnginesRequest())) >= 0.3


def slow(jobs: Jobs) -> None:
    request = sdk.ShowTrainingJobFlavorsRequest()
    size = len(jobs.client.show_training_job_flavors(request).raw_content)
    assert seconds(lambda: jobs.client.show_training_job_flavors(request)) >= size / 10_000 * 0.9


def throttled(jobs: Jobs) -> None:
    assert error_of(jobs.search) == (429, "APIGW.0308")


def failing(jobs: Jobs) -> None:
    request = sdk.ShowTrainingQuotasRequest()
    assert error_of(lambda: jobs.client.show_training_quotas(request)) == (500, "ModelArts.2950")


def unavailable(jobs: Jobs) -> None:
    request = sdk.ListWorkspaceRequest()
    assert error_of(lambda: jobs.client.list_workspace(request)) == (503, "APIGW.0613")


def lost_request(jobs: Jobs) -> None:
    body = {"metadata": {"name": "lost"}}
    with pytest.raises(ConnectionException):
        jobs.client.create_training_experiment(sdk.CreateTrainingExperimentRequest(body=body))
    listed = jobs.client.list_training_experiments(sdk.ListTrainingExperimentsRequest())
    assert json_of(listed)["total"] == 0


def lost_answer(jobs: Jobs) -> None:
    config = {"command": "true", "engine": {"image_url": "org/image:1"}}
    body = {"metadata": {"name": "made"}, "job_config": config}
    with pytest.raises(ConnectionException):
        jobs.client.create_algorithm(sdk.CreateAlgorithmRequest(body=body))
    assert json_of(jobs.client.list_algorithms(sdk.ListAlgorithmsRequest()))["total"] == 1


def cut_body(jobs: Jobs) -> None:
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        jobs.client.get_authorizations(sdk.GetAuthorizationsRequest())


def skewed(jobs: Jobs) -> None:
    request = sdk.ShowAuthmodeDetailRequest()
    assert error_of(lambda: jobs.client.show_authmode_detail(request)) == (401, "APIGW.0301")


def expired(jobs: Jobs) -> None:
    assert error_of(lambda: jobs.client.list_pools(sdk.ListPoolsRequest())) == (401, "APIGW.0301")


def sold_out(jobs: Jobs) -> None:
    assert error_of(lambda: jobs.create(gpu_job("modelarts.p3.large.public"))) == (400, "ModelArts.4992")


def over_quota(jobs: Jobs) -> None:
    assert error_of(lambda: jobs.create(gpu_job("modelarts.p3.8xlarge.public"))) == (400, "ModelArts.2815")


def limited_in_time(jobs: Jobs) -> None:
    """An hour, by the clock of this Lab: half a second."""
    job = jobs.run(job_body())
    assert job["status"]["phase"] == "Terminated"
    assert "stopped by the time limit of a fault rule" in jobs.messages(job["metadata"]["id"])


FAULTS: dict[str, tuple[dict[str, Any], Callable[[Jobs], None]]] = {
    "latency": ({"kind": "latency", "operation": "GET *-job-engines", "seconds": 0.3}, late),
    "bandwidth": ({"kind": "bandwidth", "operation": "GET *-job-flavors", "bytes_per_second": 10_000}, slow),
    "429": ({"kind": "error", "operation": "POST *-job-searches", "status": 429}, throttled),
    "500": ({"kind": "error", "operation": "GET *-quotas", "status": 500}, failing),
    "503": ({"kind": "error", "operation": "GET *workspaces", "status": 503, "code": "APIGW.0613"}, unavailable),
    "lost request": ({"kind": "lost-request", "operation": "POST *-experiments"}, lost_request),
    "lost answer": ({"kind": "lost-answer", "operation": "POST *algorithms"}, lost_answer),
    "cut body": ({"kind": "cut-body", "operation": "GET *authorizations", "after_bytes": 20}, cut_body),
    "clock skew": ({"kind": "clock-skew", "operation": "GET *auth-mode", "seconds": -1000}, skewed),
    "expired key": ({"kind": "expired-key", "operation": "GET *pools"}, expired),
    "sold out": ({"kind": "sold-out", "resource": "*.p3.large.public"}, sold_out),
    "quota": ({"kind": "quota", "resource": "*.p3.8xlarge.public"}, over_quota),
    "one hour": ({"kind": "time-limit", "resource": "*.cpu.2u"}, limited_in_time),
}  # fmt: skip
RULES = [rule for rule, _ in FAULTS.values()]


class Faulty:
    """A Lab in a process of its own, with its control port."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.account = prepared(root, {"code/job/train.py": SCRIPT})
        (root / "lab.toml").write_text("clock = 7200\n", encoding="utf-8")

    def control(self, method: str, content: object = None) -> dict[str, Any]:
        status, answer = Control(self.root).call(method, content)
        assert status == 200, answer
        return dict(answer)

    def rules(self, *faults: Mapping[str, Any], seed: int = 0) -> None:
        self.control("PUT", {"faults": faults, "seed": seed})


def in_toml(rules: list[dict[str, Any]]) -> str:
    # JSON and TOML write texts and numbers alike.
    tables = ("".join(f"{name} = {json.dumps(value)}\n" for name, value in rule.items()) for rule in rules)
    return "".join(f"[[fault]]\n{table}" for table in tables)


@pytest.fixture(scope="module", params=["file", "flag", "control"])
def faulty(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[LabProcess, LabAccount]]:
    folder = tmp_path_factory.mktemp("faults")
    lab = Faulty(folder / "lab")
    rules = lab.root / "faults.toml" if request.param == "file" else folder / "rules.toml"
    if request.param != "control":
        rules.write_text(in_toml(RULES), encoding="utf-8")
    more = ["--faults", str(rules)] if request.param == "flag" else []
    with LabProcess(lab.root, more=more) as process:
        if request.param == "control":
            lab.rules(*RULES)
        yield process, lab.account


@pytest.fixture
def jobs(faulty: tuple[LabProcess, LabAccount]) -> Iterator[Jobs]:
    process, account = faulty
    with sdk_client(process.modelarts, account) as client:
        yield Jobs(None, client)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_reaches_the_client(jobs: Jobs, name: str) -> None:
    FAULTS[name][1](jobs)


def test_rules_count_skip_repeat_by_seed_and_go(tmp_path: Path) -> None:
    lab = Faulty(tmp_path / "lab")
    with LabProcess(lab.root) as process, sdk_client(process.modelarts, lab.account) as client:
        jobs = Jobs(None, client)

        def struck(calls: int) -> str:
            def call() -> str:
                try:
                    error_of(lambda: client.show_training_quotas(sdk.ShowTrainingQuotasRequest()))
                except AssertionError:
                    return "."
                return "x"

            return "".join(call() for _ in range(calls))

        rule = {"kind": "error", "operation": "GET *-quotas", "status": 500}
        lab.rules({**rule, "skip": 1, "count": 2})
        assert struck(5) == ".xx.."
        assert jobs.search()["total"] == 0
        by_chance = {**rule, "probability": 0.5}
        runs = []
        for seed in (7, 7, 8):
            lab.rules(by_chance, seed=seed)
            runs.append(struck(40))
        assert runs[0] == runs[1] != runs[2]
        assert 8 < runs[0].count("x") < 32
        assert lab.control("GET")["faults"][0]["fired"] == runs[2].count("x")

        # Whoever heeds the answer asks again when it says so.
        lab.rules({**rule, "status": 429, "seconds": 1, "count": 1})
        with sdk_client(process.modelarts, lab.account, retry_times=1) as patient:
            assert seconds(lambda: patient.show_training_quotas(sdk.ShowTrainingQuotasRequest())) >= 1

        # Of jobs too: every other flavor is there, and one that is sold out comes back.
        lab.rules({"kind": "sold-out", "count": 1})
        assert error_of(lambda: jobs.create(job_body())) == (400, "ModelArts.4992")
        lab.rules({"kind": "sold-out", "body": "pending", "resource": "*.cpu.2u"})
        held = jobs.create(job_body())["metadata"]["id"]
        resource = {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}
        other = jobs.create(job_body("other", spec__resource=resource))["metadata"]["id"]
        wait_for(lambda: jobs.phase(other) == "Running")
        assert jobs.phase(held) == "Pending"
        assert lab.control("DELETE")["faults"] == []
        wait_for(lambda: jobs.phase(held) == "Running")
