"""Requests that are nearly right: each is refused with its code, and nothing is made of it."""

from collections.abc import Callable
from typing import Any

import pytest
from huaweicloudsdkmodelarts.v1 import model as sdk

from lab.training.test_operations import algorithm
from support.lab_app import BUCKET, Jobs, error_of, job_body, json_of

TEXTS = [str(number) for number in range(11)]

JOBS: dict[str, tuple[dict[str, Any], str]] = {
    "search for hyper-parameters": ({"algorithm__policies": {"auto_search": {"x": 1}}}, "0104"),
    "preemptible is a word": ({"spec__schedule_policy": {"preemptible": "yes"}}, "0104"),
    "a folder above": ({"algorithm__code_dir": f"/{BUCKET}/code/../"}, "2802"),
    "numbers in annotations": ({"metadata__annotations": {"fault-tolerance/job-retry-num": 3}}, "0104"),
    "a code folder that is no text": ({"algorithm__code_dir": 7}, "0104"),
    "tags that are texts": ({"metadata__tags": ["team"]}, "0104"),
    "too many tags": ({"metadata__tags": [{"key": f"k{number}", "value": ""} for number in range(21)]}, "2815"),
    "a log path that is none": ({"spec__log_export_path": {"obs_url": "nonsense"}}, "2791"),
    "a log path in a bucket that is not there": (
        {"spec__log_export_path": {"obs_url": "/no-such-bucket/log/"}},
        "2791",
    ),
    "an input in a bucket that is not there": (
        {"algorithm__inputs": [{"name": "data", "remote": {"obs": {"obs_url": "/no-such-bucket/data/"}}}]},
        "2791",
    ),
    "no boolean": (
        {"algorithm__parameters": [{"name": "p", "value": "maybe", "constraint": {"type": "Boolean"}}]},
        "2825",
    ),
    "outside of its range": (
        {
            "algorithm__parameters": [
                {
                    "name": "p",
                    "value": "11",
                    "constraint": {"type": "Integer", "valid_type": "Range", "valid_range": ["1", "10"]},
                }
            ]
        },
        "2816",
    ),
}
SEARCHES: dict[str, tuple[dict[str, Any], str]] = {
    "workspace": ({"workspace_id": 0.5}, "2809"),
    "kind of training": ({"train_type": "none"}, "2809"),
    "too many filters": ({"filters": [{"key": "name", "operator": "in", "value": ["x"]}] * 21}, "2809"),
    "a filter that is a text": ({"filters": ["name"]}, "2809"),
    "too many hosts": ({"host_ips": TEXTS}, "2809"),
    "a time that is listed": ({"filters": [{"key": "create_time", "operator": "in", "value": ["x"]}]}, "2808"),
    "a name between two": ({"filters": [{"key": "name", "operator": "between", "value": ["a", "b"]}]}, "2808"),
    "one time": (
        {"filters": [{"key": "create_time", "operator": "between", "value": ["2025-11-18T16:00:00+08:00"]}]},
        "2809",
    ),
    "no times": ({"filters": [{"key": "create_time", "operator": "between", "value": ["a", "b"]}]}, "2809"),
    "too many tags": ({"tags": [{"key": text, "values": []} for text in TEXTS]}, "2809"),
    "a tag that is a text": ({"tags": ["team"]}, "2809"),
    "too many values of a tag": ({"tags": [{"key": "team", "values": TEXTS}]}, "2809"),
}


def test_jobs_that_are_nearly_right(jobs: Jobs) -> None:
    jobs.script("print('never')")
    answers = {case: error_of(lambda given=given: jobs.create(job_body(**given))) for case, (given, _) in JOBS.items()}
    assert answers == {case: (400, f"ModelArts.{code}") for case, (_, code) in JOBS.items()}
    assert jobs.search()["total"] == 0
    truth = [{"name": "p", "value": "True", "constraint": {"type": "Boolean"}}]
    assert jobs.run(job_body(algorithm__parameters=truth))["status"]["phase"] == "Completed"


def test_searches_that_are_nearly_right(jobs: Jobs) -> None:
    answers = {case: error_of(lambda given=given: jobs.search(**given)) for case, (given, _) in SEARCHES.items()}
    assert answers == {case: (400, f"ModelArts.{code}") for case, (_, code) in SEARCHES.items()}
    # Fine-tuning is another service's; there are none.
    jobs.script("print('ok')")
    jobs.run(job_body())
    assert [jobs.search(train_type=kind)["total"] for kind in ("job", "ftjob")] == [1, 0]


def by_tags(**body: Any) -> Callable[[Jobs], Any]:
    return lambda jobs: jobs.client.list_training_jobs_by_tags(sdk.ListTrainingJobsByTagsRequest(10, 0, body))


def quotas(*rows: Any) -> Callable[[Jobs], Any]:
    request = sdk.ModifyTrainingQuotasRequest(body={"quotas": list(rows)})
    return lambda jobs: jobs.client.modify_training_quotas(request)


OTHERS: dict[str, tuple[Callable[[Jobs], Any], int, str]] = {
    "two matches": (by_tags(matches=[{"key": "resource_name", "value": "a"}] * 2), 400, "2809"),
    "a match of an id": (by_tags(matches=[{"key": "resource_id", "value": "a"}]), 400, "2807"),
    "another quota": (quotas({"resource": "disk", "quota": 1}), 400, "0104"),
    "half a job": (quotas({"resource": "job-num", "quota": 1.5}), 400, "2816"),
    "a pool": (
        lambda jobs: jobs.client.show_training_flavor_max_available_resource(
            sdk.ShowTrainingFlavorMaxAvailableResourceRequest(flavor_id="modelarts.pool.visual.xlarge", pool_id="p")
        ),
        404,
        "2890",
    ),
    "an order": (
        lambda jobs: jobs.client.list_algorithms(sdk.ListAlgorithmsRequest(order="up")),
        400,
        "2790",
    ),
    "jobs without ids": (
        lambda jobs: jobs.client.batch_delete_training_job(
            sdk.BatchDeleteTrainingJobRequest(body={"jobs": [{"kind": "job"}]})
        ),
        400,
        "0104",
    ),
    "a requirement": (
        lambda jobs: jobs.client.create_algorithm(
            sdk.CreateAlgorithmRequest(
                body={
                    "metadata": {"name": "a"},
                    "job_config": {"command": "true", "engine": {"image_url": "org/image:1"}},
                    "resource_requirements": [{"key": "colour"}],
                }
            )
        ),
        400,
        "2788",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_requests_that_are_nearly_right(jobs: Jobs, case: str) -> None:
    call, status, code = OTHERS[case]
    assert error_of(lambda: call(jobs)) == (status, f"ModelArts.{code}")


def test_jobs_of_an_algorithm_that_are_nearly_right(jobs: Jobs) -> None:
    jobs.script("print('never')")
    algorithm_id = algorithm(jobs)["metadata"]["id"]
    for rows in (["data_url"], [{"name": "data_url"}] * 2):
        wrong = job_body(algorithm={"id": algorithm_id, "inputs": rows})
        assert error_of(lambda wrong=wrong: jobs.create(wrong)) == (400, "ModelArts.2753")


def test_events_and_tags_of_a_job_that_are_nearly_right(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    job_id = jobs.run(job_body())["metadata"]["id"]
    bad: list[dict[str, Any]] = [
        {"pattern": "x" * 257}, {"offset": 1.5}, {"start_time": "soon", "end_time": "later"}, {"limit": 0},
    ]  # fmt: skip
    for query in bad:
        assert error_of(lambda query=query: jobs.events(job_id, **query)) == (400, "ModelArts.50004000")
    assert jobs.events(job_id, pattern="x" * 256) == []
    # Before anything happened, and after all of it.
    for start, end in (("0", "1000"), ("99999999999998", "99999999999999")):
        assert jobs.events(job_id, start_time=start, end_time=end) == []
    bodies: tuple[dict[str, Any], ...] = ({"tags": []}, {"tags": ["team"]})
    for body in bodies:
        request = sdk.CreateTrainJobTagsRequest(job_id, body)
        assert error_of(lambda request=request: jobs.client.create_train_job_tags(request)) == (400, "ModelArts.0104")
    other = jobs.client.show_training_quotas(sdk.ShowTrainingQuotasRequest(resource="disk"))
    assert json_of(other) == {"quotas": []}
