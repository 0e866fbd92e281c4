"""Every request of the service's documentation is sent as it stands there, accepted, and read back unchanged.

Only what must exist differs: the project, ids of what was made before, and objects at the paths that are named.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from huaweicloudsdkmodelarts.v1 import model as sdk

from support.documented_bodies import (
    ALGORITHM,
    ASCEND_PRESET,
    BIGGAN,
    CREATE,
    CUSTOM_IMAGE,
    DEMO,
    EXPERIMENT,
    FILTERS,
    SEARCH,
    TAGS,
)
from support.lab_app import Jobs, LabApp, json_of, signed_request, wait_for
from traindeck.lab.faults import Fault, Kind


def holds(kept: Any, given: Any, place: str = "") -> None:
    """All that was given is in what was kept, at its place; the service may have added to it."""
    if isinstance(given, dict):
        assert isinstance(kept, dict), place
        for key, value in given.items():
            assert key in kept, f"{place}.{key} is missing"
            holds(kept[key], value, f"{place}.{key}")
    elif isinstance(given, list):
        assert isinstance(kept, list), place
        assert len(kept) == len(given), place
        for number, (one, other) in enumerate(zip(kept, given, strict=True)):
            holds(one, other, f"{place}[{number}]")
    else:
        assert kept == given, place


@pytest.fixture
def demo(jobs: Jobs) -> Jobs:
    """A Lab with what the documentation's paths name, whose jobs wait for their turn."""
    objects = jobs.lab.objects
    objects.create_bucket(DEMO, jobs.lab.account.domain_id)
    for key in (f"{BIGGAN}/code/biggan/main.py", "code/ddp/train.py"):
        objects.put(DEMO, key, b"print('ok')")
    objects.put(DEMO, "dataset/cat/1.jpg", b"cat")
    return jobs


@pytest.fixture
def waiting(demo: Jobs) -> Iterator[tuple[Jobs, str]]:
    """The documented job, before it begins."""
    demo.lab.rules(Fault(Kind.SOLD_OUT, body="pending"))
    job_id = demo.create(ASCEND_PRESET)["metadata"]["id"]
    yield demo, job_id
    demo.delete(job_id)


@pytest.mark.parametrize("case", CREATE)
def test_a_documented_job_is_accepted_run_and_read_back(demo: Jobs, case: str) -> None:
    body: dict[str, Any] = json.loads(json.dumps(CREATE[case]))
    reply = demo.client.create_training_job(sdk.CreateTrainingJobRequest(body=body))
    assert reply.status_code == 201
    created = json_of(reply)
    job_id = created["metadata"]["id"]
    # Experiments are made by name and named by id.
    experiment = body["metadata"].pop("training_experiment_reference", None)
    if experiment:
        reference = created["metadata"]["training_experiment_reference"]
        assert reference["name"] == experiment["name"]
        show = sdk.ShowTrainingExperimentDetailsRequest(experiment_id=reference["id"])
        holds(json_of(demo.client.show_training_experiment_details(show))["metadata"], experiment)
    shown = demo.ended(job_id)
    assert shown["status"]["phase"] == "Completed", demo.log(job_id)
    found = next(job for job in demo.search(limit=1)["items"] if job["metadata"]["id"] == job_id)
    for kept in (created, shown, found):
        holds(kept, body)
        assert kept["metadata"]["annotations"]["job_template"] == "Template DL"
        assert kept["metadata"]["annotations"]["key_task"] == "worker"
        assert kept["spec"]["is_hosted_log"] is True
        assert kept["metadata"]["ai_project"] == "default-ai-project"
    # As the typed models of the SDK see it.
    request = sdk.ShowTrainingJobDetailsRequest(training_job_id=job_id)
    typed = demo.client.show_training_job_details(request)
    assert (typed.kind, typed.metadata.name, typed.status.phase) == ("job", body["metadata"]["name"], "Completed")
    assert typed.algorithm.code_dir == body["algorithm"]["code_dir"]
    assert typed.spec.resource.flavor_id == body["spec"]["resource"]["flavor_id"]
    names = [(row.name, row.value) for row in typed.algorithm.parameters or []]
    assert names == [(row["name"], row["value"]) for row in body["algorithm"].get("parameters", [])]
    # What they drop is in the reply nevertheless.
    assert not hasattr(typed.spec, "auto_stop")
    raw = json.loads(typed.raw_content)
    assert raw["spec"].get("auto_stop") == body["spec"].get("auto_stop")
    assert raw["spec"].get("volumes") == body["spec"].get("volumes")


def test_the_documented_defaults_are_filled_in(waiting: tuple[Jobs, str]) -> None:
    jobs, job_id = waiting
    job = jobs.show(job_id)
    name = job["algorithm"]["engine"]["engine_name"]
    version = job["algorithm"]["engine"]["engine_version"]
    assert (name, version) == tuple(ASCEND_PRESET["algorithm"]["engine"].values())
    holds(
        job,
        {
            "metadata": {"annotations": {"job_template": "Template DL", "key_task": "worker"}},
            "status": {"phase": "Pending", "secondary_phase": "Queuing", "duration": 0, "start_time": 0,
                       "node_count_metrics": None, "tasks": ["worker-0"]},
            "algorithm": {
                "parameters": [
                    {"name": "batchsize", "value": "4", "description": "", "i18n_description": None,
                     "constraint": {"type": "String", "editable": True, "required": False, "sensitive": False,
                                    "valid_type": "None", "valid_range": []}},
                    {"name": "learning_rate"},
                ],
                "outputs": [{"mode": "upload_periodically", "period": 30}],
                "engine": {"engine_id": version, "v1_compatible": False, "run_user": "1000"},
                "policies": {},
            },
            "spec": {
                "resource": {
                    "policy": "regular",
                    "flavor_name": "Ascend: 1*Ascend 910(32GB) | ARM: 24核 96GB",
                    "flavor_detail": {
                        "flavor_type": "Ascend",
                        "billing": {"code": "modelarts.kat1.xlarge", "unit_num": 1},
                        "flavor_info": {
                            "cpu": {"arch": "aarch64", "core_num": 24},
                            "npu": {"unit_num": "1", "product_name": "Ascend 910", "memory": "32GB"},
                            "memory": {"size": 96, "unit": "GB"},
                            "disk": {"size": "3200", "unit": "GB"},
                        },
                    },
                },
            },
            "endpoints": {},
        },
    )  # fmt: skip


def test_the_documented_search_finds_the_documented_job(waiting: tuple[Jobs, str]) -> None:
    jobs, job_id = waiting
    reply = jobs.search(**SEARCH)
    assert [item["metadata"]["id"] for item in reply["items"]] == [job_id]
    for name in ("offset", "limit", "sort_by", "order", "workspace_id"):
        assert reply[name] == SEARCH[name]
    assert (reply["total"], reply["count"], reply["group_by"]) == (1, 1, "")
    known = {"id": [job_id], "user_id": [jobs.lab.account.user_id]}
    for key, value in FILTERS.items():
        wanted = known.get(key, value)
        for operator, count in (("in", 1), ("like", 1), ("not", 1 if wanted == [""] else 0)):
            rows = [{"key": key, "operator": operator, "value": wanted}]
            assert jobs.search(filters=rows)["total"] == count, (key, operator)
    now = datetime.now(UTC)
    for first, last, count in ((-1, 1, 1), (-2, -1, 0), (-30, 1, 1)):
        value = [(now + timedelta(days=days)).isoformat() for days in (first, last)]
        assert jobs.search(filters=[{"key": "create_time", "operator": "between", "value": value}])["total"] == count


def test_names_tasks_stages_events_and_stop(waiting: tuple[Jobs, str]) -> None:
    jobs, job_id = waiting
    client = jobs.client
    name = sdk.ValidateTrainingJobNameRequest(job_name="job-d3cf", workspace_id="0")
    assert json_of(client.validate_training_job_name(name)) == {"is_duplicate": False}
    (task,) = json.loads(client.list_training_job_tasks(sdk.ListTrainingJobTasksRequest(job_id)).raw_content)
    assert task == {"task": "worker-0", "ip": "127.0.0.1", "schedule_count": 1}
    stages = json_of(client.list_training_job_stages(sdk.ListTrainingJobStagesRequest(job_id)))
    (stage,) = stages["running_records"][0]["stages"]
    assert (stage["name"], stage["stage_order"], stage["job_id"], stages["total_count"]) == ("scheduling", 1, job_id, 1)
    now = int(datetime.now(UTC).timestamp() * 1000)
    query = {"limit": 50, "offset": 0, "order": "desc", "start_time": str(now - 3_600_000), "end_time": str(now + 1000)}
    reply = jobs.events_reply(job_id, **query, level="Info", pattern="job is", x_language="en-us")
    assert [(event["level"], event["source"], event["message"]) for event in reply["events"]] == [
        ("Info", "Job", "job is queuing"),
        ("Info", "Job", "job is created"),
    ]
    assert (reply["total"], reply["limit"], reply["offset"], reply["order"]) == (2, 50, 0, "desc")
    for text in (reply["start_time"], reply["end_time"], reply["events"][0]["time"]):
        assert datetime.fromisoformat(text).tzinfo is not None

    stop = sdk.StopTrainingJobRequest(training_job_id=job_id, body={"action_type": "terminate"})
    stopped = client.stop_training_job(stop)
    assert (stopped.status_code, stopped.status.phase) == (202, "Terminating")
    assert jobs.ended(job_id)["status"]["phase"] == "Terminated"


def test_changes_of_a_waiting_job(waiting: tuple[Jobs, str]) -> None:
    jobs, job_id = waiting
    for body in (
        {"description": "另一个"},
        {"spec": {"schedule_policy": {"priority": 3, "preemptible": True}}},
        {"spec": {"notification": {"topic_urn": "urn:smn:y", "events": ["JobHanged"]}}},
        {"endpoints": {"ssh": {"key_pair_names": ["KeyPair-2"]}}},
    ):
        request = sdk.ChangeTrainingJobDescriptionRequest(training_job_id=job_id, body=body)
        reply = jobs.client.change_training_job_description(request)
        assert (reply.status_code, reply.raw_content) == (200, b"")
        described: dict[str, Any] = {"metadata": body} if "description" in body else body
        holds(jobs.show(job_id), described)
    annotated = {"metadata": {"annotation": {"jupyter-lab/enable": "true"}}}
    request = sdk.ChangeTrainingJobDescriptionRequest(training_job_id=job_id, body=annotated)
    jobs.client.change_training_job_description(request)
    assert jobs.show(job_id)["metadata"]["annotations"]["jupyter-lab/enable"] == "true"


def test_tags_of_a_job_as_documented(waiting: tuple[Jobs, str]) -> None:
    jobs, job_id = waiting
    client = jobs.client
    assert client.create_train_job_tags(sdk.CreateTrainJobTagsRequest(job_id, TAGS)).status_code == 204
    assert json_of(client.show_train_job_tags(sdk.ShowTrainJobTagsRequest(job_id))) == TAGS
    listed = json_of(client.list_training_job_tags(sdk.ListTrainingJobTagsRequest(limit=1000, offset=0)))
    assert listed == {"tags": [{"key": "team", "values": ["cv"]}]}
    wanted = {"tags": [{"key": "team", "values": ["cv", "nlp"]}],
              "matches": [{"key": "resource_name", "value": "biggan"}], "workspace_id": "0"}  # fmt: skip
    found = json_of(client.list_training_jobs_by_tags(sdk.ListTrainingJobsByTagsRequest(10, 0, wanted)))
    assert [row["resource_id"] for row in found["resources"]] == [job_id]
    assert (
        json_of(client.count_training_jobs_by_tags(sdk.CountTrainingJobsByTagsRequest(body=wanted)))["total_count"] == 1
    )
    assert client.delete_train_job_tags(sdk.DeleteTrainJobTagsRequest(job_id, TAGS)).status_code == 204
    assert json_of(client.show_train_job_tags(sdk.ShowTrainJobTagsRequest(job_id))) == {"tags": []}


def test_experiments_and_algorithms_as_documented(demo: Jobs) -> None:
    client = demo.client
    reply = client.create_training_experiment(sdk.CreateTrainingExperimentRequest(body=EXPERIMENT))
    made = json_of(reply)
    experiment_id = made["metadata"]["id"]
    assert reply.status_code == 201
    holds(made, {**EXPERIMENT, "statistic": {"job_count": 0}})
    show = sdk.ShowTrainingExperimentDetailsRequest(experiment_id=experiment_id)
    assert json_of(client.show_training_experiment_details(show)) == made
    query = {"workspace_id": "0", "limit": 10, "offset": 0, "sort_by": "update_time", "order": "desc"}
    listed = json_of(client.list_training_experiments(sdk.ListTrainingExperimentsRequest(**query)))
    assert (listed["items"], listed["total"], listed["count"]) == ([made], 1, 1)
    check = sdk.CheckTrainingExperimentRequest(experiment_name="experiment-1", workspace_id="0")
    assert json_of(client.check_training_experiment(check)) == {"is_duplicate": True}
    assert client.delete_training_experiment(sdk.DeleteTrainingExperimentRequest(experiment_id)).status_code == 200

    reply = client.create_algorithm(sdk.CreateAlgorithmRequest(body=ALGORITHM))
    assert reply.status_code == 201
    algorithm = json_of(reply)
    holds(algorithm, ALGORITHM)
    algorithm_id = algorithm["metadata"]["id"]
    assert json_of(client.show_algorithm_by_uuid(sdk.ShowAlgorithmByUuidRequest(algorithm_id))) == algorithm
    rows = json_of(client.list_algorithms(sdk.ListAlgorithmsRequest(offset=0, limit=50, searches="algorithm")))
    assert [row["metadata"]["id"] for row in rows["items"]] == [algorithm_id]
    by_id = {
        "kind": "job",
        "metadata": {"name": "by-id"},
        "algorithm": {
            "id": algorithm_id,
            "inputs": ASCEND_PRESET["algorithm"]["inputs"],
            "outputs": ASCEND_PRESET["algorithm"]["outputs"],
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u", "node_count": 1}},
    }
    job = demo.run(by_id)
    holds(job, by_id)
    assert job["status"]["phase"] == "Completed"
    wanted = [{"key": "algorithm_id", "operator": "in", "value": [algorithm_id]}]
    assert demo.search(filters=wanted)["total"] == 1


POOL = {
    "metadata": {"name": "pool-lab", "labels": {"os.modelarts/name": "Lab pool"}},
    "status": {"phase": "Running", "scope": [{"scopeType": "Train", "state": "Enabled"}]},
}

OFFERS: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "quotas": (
        lambda client: client.show_training_quotas(sdk.ShowTrainingQuotasRequest(resource="job-num")),
        {"quotas": [{"resource": "job-num", "quota": 10000, "used": 0}]},
    ),
    "search of one": (
        lambda client: client.list_training_jobs(sdk.ListTrainingJobsRequest(body={"limit": 1})),
        {"total": 0, "items": []},
    ),
    "categories": (
        lambda client: client.list_event_categories(sdk.ListEventCategoriesRequest(flavor_type="Ascend")),
        {"event-categories": [
            {"id": name, "name": name, "notification": True}
            for name in ("JobStarted", "JobCompleted", "JobFailed", "JobTerminated", "JobRestarted", "JobHanged",
                         "JobPreempted")
        ]},
    ),
    "workspaces": (
        lambda client: client.list_workspace(sdk.ListWorkspaceRequest(filter_accessible=True)),
        {"workspaces": [{"id": "0", "status": "NORMAL"}], "total_count": 1, "count": 1},
    ),
    "pools": (lambda client: client.list_pools(sdk.ListPoolsRequest(workspace_id="0")), {"items": [POOL]}),
    "authorizations": (lambda client: client.get_authorizations(sdk.GetAuthorizationsRequest()), {"total_count": 1}),
    "auth mode": (lambda client: client.show_authmode_detail(sdk.ShowAuthmodeDetailRequest()), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", OFFERS)
def test_offers_are_answered_as_documented(jobs: Jobs, name: str) -> None:
    call, documented = OFFERS[name]
    reply = call(jobs.client)
    assert reply.status_code == 200
    holds(json_of(reply), documented)


# The catalogue: engine, type of flavor, and the user a container of it has where that is documented.
ENGINES = {
    ("Ascend-Powered-Engine", "tensorflow_1.15-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"): "1000",
    ("Ascend-Powered-Engine", "mindspore_1.7.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"): "1000",
    ("Ascend-Powered-Engine", "mindspore_1.6.0-cann_5.0.3.6-py_3.7-euler_2.8.3-aarch64"): "1000",
    ("Ascend-Powered-Engine", "mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt3p"): "1000",
    ("Ascend-Powered-Engine", "pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt3p"): "1000",
    ("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"): "1102",
    ("PyTorch", "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"): "1000",
    ("TensorFlow", "tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64"): "1102",
    ("Horovod", "horovod_0.20.0-tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64"): "1102",
    ("Horovod", "horovod_0.22.1-pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"): "1102",
    ("MPI", "mindspore_1.3.0-cuda_10.1-py_3.7-ubuntu_1804-x86_64"): "1102",
    ("XGBoost-Sklearn", "XGBoost-0.80-Sklearn-0.18.1-python3.6"): "",
    ("Ascend-Powered-Engine", "TF-1.15-python3.7-aarch64"): "",
    ("Ascend-Powered-Engine", "Mindspore-0.5-python3.7-aarch64"): "",
    ("Ascend-Powered-Engine", "MindSpore-1.2.0-c77-python3.7-euleros2.8-aarch64"): "",
    ("Ascend-Powered-Engine", "MindSpore-1.3-cann_5.0.2-python3.7-euleros2.8-aarch64"): "",
    # The Lab's own, and one that tutorials name.
    ("Local-Python", "local-python"): "",
    ("MindSpore", "mindspore_1.7.0-cpu-py_3.7-ubuntu_18.04-x86_64"): "1000",
}
FLAVORS = {
    "modelarts.vm.cpu.2u": ("CPU", 2, 8, 0, 50, 1),
    "modelarts.vm.cpu.8u": ("CPU", 8, 32, 0, 50, 16),
    "modelarts.p3.large.public.free": ("GPU", 8, 64, 1, None, 1),
    "modelarts.p3.large.public": ("GPU", 8, 64, 1, 3200, 16),
    "modelarts.p3.8xlarge.public": ("GPU", 72, 512, 8, 3200, 16),
    "modelarts.kat1.xlarge.public": ("Ascend", 24, 96, 1, 3200, 16),
    "modelarts.kat1.8xlarge.public": ("Ascend", 192, 768, 8, 3200, 16),
}


def test_the_catalogue_is_the_documented_one(jobs: Jobs) -> None:
    engines = jobs.client.show_training_job_engines(sdk.ShowTrainingJobEnginesRequest())
    assert {(row.engine_name, row.engine_version): row.run_user for row in engines.items} == ENGINES
    old = {row.engine_version for row in engines.items if row.v1_compatible}
    assert old == {
        version for _, version in ENGINES if version.endswith(("3.6", "-aarch64")) and "euler_" not in version
    }
    for row in engines.items:
        wanted = "xgboost-sklearn-python3.6" if row.engine_name == "XGBoost-Sklearn" else row.engine_version
        assert row.engine_id == wanted
    for kind in ("CPU", "GPU", "Ascend", None):
        reply = jobs.client.show_training_job_flavors(sdk.ShowTrainingJobFlavorsRequest(flavor_type=kind))
        found = {}
        for row in json_of(reply)["flavors"]:
            info = row["flavor_info"]
            cards = (info.get("gpu") or info.get("npu") or {"unit_num": 0})["unit_num"]
            disk = info.get("disk", {"size": None})["size"]
            sizes = (info["cpu"]["core_num"], info["memory"]["size"], cards, disk, info["max_num"])
            found[row["flavor_id"]] = (row["flavor_type"], *sizes)
            assert row["attributes"] == {}
            assert row["billing"]["code"].endswith("free") == row["flavor_id"].endswith("free")
        assert found == {key: row for key, row in FLAVORS.items() if kind in (None, row[0])}


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream"])
def test_the_log_link_is_asked_for_by_query_or_header(demo: Jobs, kind: str) -> None:
    job_id = demo.run(ASCEND_PRESET)["metadata"]["id"]
    path = f"/v2/{demo.lab.account.project_id}/training-jobs/{job_id}/tasks/worker-0/logs/url"
    began = int(datetime.now(UTC).timestamp())
    for query, headers in ((f"Content-Type={kind.replace('/', '%2F')}", {}), ("", {"Content-Type": kind})):
        status, answer = signed_request(demo.lab, "GET", path, query=query, headers=headers)
        assert status == 200
        link = urlsplit(answer["obs_url"])
        assert link.path == f"/{DEMO}/{BIGGAN}/log/modelarts-job-{job_id}-worker-0.log"
        expires = int(dict(part.split("=", 1) for part in link.query.split("&"))["Expires"])
        assert 298 <= expires - began <= 330


def test_many_jobs_are_deleted_as_documented(demo: Jobs) -> None:
    ids = [demo.run(CREATE[case])["metadata"]["id"] for case in ("ascend", "image")]
    rows = [{"kind": "job", "metadata": {"id": job_id}} for job_id in ids]
    request = sdk.BatchDeleteTrainingJobRequest(body={"jobs": rows})
    assert demo.client.batch_delete_training_job(request).status_code == 202
    assert demo.search()["total"] == 0
    last = demo.run(ASCEND_PRESET)["metadata"]["id"]
    reply = demo.client.delete_training_job(sdk.DeleteTrainingJobRequest(training_job_id=last))
    assert (reply.status_code, reply.raw_content) == (202, b'""')


def test_the_documented_signature_vectors_come_in(lab: LabApp) -> None:
    """The two requests the documentation signs step by step, with this Lab's keys and the time of now."""
    flavors = f"/v2/{lab.account.project_id}/training-job-flavors"
    status, answer = signed_request(lab, "GET", flavors, query="flavor_type=Ascend")
    assert (status, answer["total_count"]) == (200, 2)
    action = f"/v2/{lab.account.project_id}/training-jobs/job-1/actions"
    status, answer = signed_request(lab, "POST", action, b'{"action_type": "terminate"}')
    assert (status, answer["error_code"]) == (400, "ModelArts.2775")
    for path in ("/v2/%7Bproject_id%7D/training-quotas", "/v1/%7Bproject_id%7D/workspaces"):
        status, answer = signed_request(lab, "GET", path)
        assert (status, answer["error_code"]) == (404, "APIGW.0101")


def test_a_log_of_a_running_job_is_read_from_a_base_line(demo: Jobs) -> None:
    demo.lab.objects.put(DEMO, "code/ddp/train.py", b"import time; print('one'); print('two'); time.sleep(600)")
    job_id = demo.create(CUSTOM_IMAGE)["metadata"]["id"]
    wait_for(lambda: "two\n" in demo.log(job_id))

    def lines(**query: Any) -> dict[str, Any]:
        request = sdk.ShowTrainingJobLogsFromAomRequest(training_job_id=job_id, task_id="worker-0", **query)
        return json_of(demo.client.show_training_job_logs_from_aom(request))

    first = lines()
    assert first["content"].endswith("one\ntwo\n")
    assert (len(first["start_line"]), first["end_line"].isdigit()) == (19, True)
    later = lines(order="asc", base_line=first["end_line"], lines=500)
    assert (later["lines"], later["content"]) == (0, "")
    newest = lines(lines=1)
    assert (newest["content"], newest["end_line"]) == ("two\n", first["end_line"])
    demo.delete(job_id)
