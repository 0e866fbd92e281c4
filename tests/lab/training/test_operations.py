"""Experiments, tags, algorithms and the smaller operations, asked through the vendor's SDK and read back."""

from pathlib import Path
from typing import Any

import pytest
from huaweicloudsdkmodelarts.v1 import model as sdk

from support.lab_app import BUCKET, Jobs, channel, error_of, job_body, json_of, wait_for

SLEEP = "import time; print('up'); time.sleep(600)"


def experiment(jobs: Jobs, name: str, **more: str) -> dict[str, Any]:
    body = {"metadata": {"name": name, "workspace_id": "0", **more}}
    return json_of(jobs.client.create_training_experiment(sdk.CreateTrainingExperimentRequest(body=body)))


def experiments(jobs: Jobs, **query: Any) -> dict[str, Any]:
    return json_of(jobs.client.list_training_experiments(sdk.ListTrainingExperimentsRequest(**query)))


def test_an_experiment_gathers_jobs(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    made = experiment(jobs, "大小实验", description="first")
    experiment_id = made["metadata"]["id"]
    assert made["statistic"] == {"job_count": 0}
    assert made["metadata"]["create_time"] == made["metadata"]["update_time"] > 0

    by_id = jobs.run(job_body("by-id", metadata__training_experiment_reference={"id": experiment_id}))
    jobs.run(job_body("by-name", metadata__training_experiment_reference={"name": "大小实验"}))
    fresh = jobs.run(job_body("fresh", metadata__training_experiment_reference={"name": "new", "description": "d"}))
    assert by_id["metadata"]["training_experiment_reference"] == {"id": experiment_id, "name": "大小实验"}

    show = sdk.ShowTrainingExperimentDetailsRequest(experiment_id=experiment_id)
    assert json_of(jobs.client.show_training_experiment_details(show))["statistic"] == {"job_count": 2}
    new_id = fresh["metadata"]["training_experiment_reference"]["id"]
    wanted = [{"key": "training_experiment_id", "operator": "in", "value": [new_id]}]
    assert [item["metadata"]["name"] for item in jobs.search(filters=wanted)["items"]] == ["fresh"]

    change = sdk.ChangeTrainingExperimentRequest(experiment_id=experiment_id, body={"description": "second"})
    assert json_of(jobs.client.change_training_experiment(change))["metadata"]["description"] == "second"
    rename = sdk.ChangeTrainingExperimentRequest(experiment_id=experiment_id, body={"name": "new"})
    assert error_of(lambda: jobs.client.change_training_experiment(rename)) == (400, "ModelArts.2841")

    names = [item["metadata"]["name"] for item in experiments(jobs, sort_by="name", order="asc")["items"]]
    assert names == ["new", "大小实验"]
    second = experiments(jobs, sort_by="create_time", order="asc", limit=1, offset=1)
    assert (second["total"], second["count"], second["items"][0]["metadata"]["name"]) == (2, 1, "new")

    def taken(name: str) -> object:
        request = sdk.CheckTrainingExperimentRequest(experiment_name=name, workspace_id="0")
        return json_of(jobs.client.check_training_experiment(request))["is_duplicate"]

    assert taken("new") is True
    delete = sdk.DeleteTrainingExperimentRequest(experiment_id=new_id)
    jobs.client.delete_training_experiment(delete)
    assert taken("new") is False
    assert error_of(lambda: jobs.client.delete_training_experiment(delete)) == (400, "ModelArts.2842")
    assert jobs.show(fresh["metadata"]["id"])["status"]["phase"] == "Completed"


def test_experiments_that_are_refused(jobs: Jobs) -> None:
    experiment(jobs, "one")
    assert error_of(lambda: experiment(jobs, "one")) == (400, "ModelArts.2841")
    assert error_of(lambda: experiment(jobs, "x" * 65)) == (400, "ModelArts.0104")
    assert error_of(lambda: experiment(jobs, "x", description="y" * 257)) == (400, "ModelArts.0104")
    assert error_of(lambda: experiments(jobs, sort_by="size")) == (400, "ModelArts.2790")
    assert error_of(lambda: experiments(jobs, limit=51)) == (400, "ModelArts.2764")


def add_tags(jobs: Jobs, job_id: str, **tags: str) -> int:
    rows = [{"key": key, "value": value} for key, value in tags.items()]
    request = sdk.CreateTrainJobTagsRequest(training_job_id=job_id, body={"tags": rows})
    return int(jobs.client.create_train_job_tags(request).status_code)


def tags_of(jobs: Jobs, job_id: str) -> dict[str, str]:
    reply = jobs.client.show_train_job_tags(sdk.ShowTrainJobTagsRequest(training_job_id=job_id))
    return {tag["key"]: tag["value"] for tag in json_of(reply)["tags"]}


def test_tags_are_kept_and_find_their_jobs(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    first = jobs.run(job_body("first", metadata__tags=[{"key": "team", "value": "cv"}]))["metadata"]
    second = jobs.run(job_body("second"))["metadata"]
    jobs.run(job_body("third"))
    assert first["tags"] == [{"key": "team", "value": "cv"}]
    assert add_tags(jobs, first["id"], 阶段="试验/一") == 204
    assert add_tags(jobs, second["id"], team="nlp") == 204
    assert add_tags(jobs, second["id"], team="speech") == 204
    assert tags_of(jobs, first["id"]) == {"team": "cv", "阶段": "试验/一"}
    assert tags_of(jobs, second["id"]) == {"team": "speech"}
    assert jobs.show(second["id"])["metadata"]["tags"] == [{"key": "team", "value": "speech"}]

    listed = json_of(jobs.client.list_training_job_tags(sdk.ListTrainingJobTagsRequest(limit=1, offset=0)))
    assert listed["tags"] == [{"key": "team", "values": ["cv", "speech"]}]

    def found(body: dict[str, Any]) -> list[str]:
        reply = jobs.client.list_training_jobs_by_tags(sdk.ListTrainingJobsByTagsRequest(limit=10, offset=0, body=body))
        rows = json_of(reply)
        count = jobs.client.count_training_jobs_by_tags(sdk.CountTrainingJobsByTagsRequest(body=body))
        assert rows["total_count"] == json_of(count)["total_count"] == len(rows["resources"])
        return sorted(row["resource_name"] for row in rows["resources"])

    assert found({"tags": [{"key": "team", "values": ["cv", "speech"]}]}) == ["first", "second"]
    assert found({"tags": [{"key": "team", "values": ["cv"]}, {"key": "阶段", "values": []}]}) == ["first"]
    assert found({"tags": [{"key": "team", "values": ["nlp"]}]}) == []
    assert found({"without_any_tag": True}) == ["third"]
    assert found({"matches": [{"key": "resource_name", "value": "ir"}]}) == ["first", "third"]

    def searched(**body: Any) -> list[str]:
        return sorted(item["metadata"]["name"] for item in jobs.search(**body)["items"])

    assert searched(tags=[{"key": "team", "values": ["cv", "speech"]}]) == ["first", "second"]
    assert searched(tags=[{"key": "team", "values": ["cv"]}, {"key": "阶段", "values": ["试验/一"]}]) == ["first"]
    old = [{"key": "create_time", "operator": "between", "value": ["2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z"]}]
    assert searched(tags=[{"key": "team", "values": ["cv"]}], filters=old) == []
    assert searched(host_ips=["10.0.0.5"]) == []

    delete = {"tags": [{"key": "team", "value": "wrong"}, {"key": "阶段"}]}
    request = sdk.DeleteTrainJobTagsRequest(training_job_id=first["id"], body=delete)
    assert jobs.client.delete_train_job_tags(request).status_code == 204
    assert tags_of(jobs, first["id"]) == {"team": "cv"}


@pytest.mark.parametrize(
    "tag", [("", "x"), ("_sys_a", "x"), (" a", "x"), ("a" * 129, "x"), ("a*b", "x"), ("a", "x" * 256), ("a", "x*")]
)
def test_a_tag_that_is_none(jobs: Jobs, tag: tuple[str, str]) -> None:
    jobs.script("print('ok')")
    job_id = jobs.create(job_body())["metadata"]["id"]
    assert error_of(lambda: add_tags(jobs, job_id, **{tag[0]: tag[1]})) == (400, "ModelArts.0104")
    jobs.ended(job_id)


ALGORITHM: dict[str, Any] = {
    "metadata": {"name": "digits", "description": "reads digits", "workspace_id": "0"},
    "job_config": {
        "code_dir": f"/{BUCKET}/code/job/",
        "boot_file": f"/{BUCKET}/code/job/train.py",
        "engine": {"engine_id": "local-python"},
        "parameters": [
            {"name": "lr", "value": "0.1",
             "constraint": {"type": "Float", "valid_type": "Range", "valid_range": ["0", "1"]}},
            {"name": "mode", "value": "fast", "constraint": {"valid_type": "Choice", "valid_range": ["fast", "good"]}},
            {"name": "fixed", "value": "7", "constraint": {"type": "Integer", "editable": False}},
            {"name": "must", "constraint": {"required": True}},
        ],
        "inputs": [{"name": "data_url", "access_method": "env"}],
        "outputs": [{"name": "train_url"}],
        "parameters_customization": False,
        "field_of_tomorrow": 1,
    },
    "resource_requirements": [{"key": "flavor_type", "operator": "in", "value": ["CPU"]}],
}  # fmt: skip


def algorithm(jobs: Jobs, **config: Any) -> dict[str, Any]:
    body = {**ALGORITHM, "job_config": {**ALGORITHM["job_config"], **config}}
    return json_of(jobs.client.create_algorithm(sdk.CreateAlgorithmRequest(body=body)))


def test_a_job_is_made_from_an_algorithm(jobs: Jobs) -> None:
    jobs.script("import os, sys; print('ARGS', sys.argv[1:], 'data_url' in os.environ)")
    jobs.lab.put("data/x", "x")
    made = algorithm(jobs)
    algorithm_id = made["metadata"]["id"]
    assert made["job_config"] == ALGORITHM["job_config"]
    assert made["metadata"]["user_name"] == jobs.lab.account.user_name
    assert made["resource_requirements"] == ALGORITHM["resource_requirements"]

    def body(name: str, **values: str) -> dict[str, Any]:
        given = {
            "id": algorithm_id,
            "parameters": [{"name": key, "value": value} for key, value in values.items()],
            "inputs": [channel("data_url", "data/")],
            "outputs": [channel("train_url", "out/")],
        }
        return job_body(name, algorithm=given)

    job = jobs.run(body("good", must="yes", lr="0.5"))
    job_id = job["metadata"]["id"]
    assert job["status"]["phase"] == "Completed", jobs.log(job_id)
    assert (job["algorithm"]["id"], job["algorithm"]["name"]) == (algorithm_id, "digits")
    assert job["algorithm"]["engine"]["engine_name"] == "Local-Python"
    line = next(line for line in jobs.log(job_id).splitlines() if line.startswith("ARGS"))
    assert line.endswith("'--lr=0.5', '--mode=fast', '--fixed=7', '--must=yes'] True")
    wanted = [{"key": "algorithm_id", "operator": "in", "value": [algorithm_id]}]
    assert jobs.search(filters=wanted)["total"] == 1

    refused = {
        "no value": (body("a"), "2788"),
        "out of range": (body("a", must="1", lr="2"), "2816"),
        "no number": (body("a", must="1", lr="fast"), "2825"),
        "no choice": (body("a", must="1", mode="slow"), "2765"),
        "fixed": (body("a", must="1", fixed="8"), "2814"),
        "unknown parameter": (body("a", must="1", other="8"), "2814"),
        "other code": ({**body("a", must="1")}, "2814"),
        "no input": ({**body("a", must="1")}, "2753"),
    }
    refused["other code"][0]["algorithm"]["code_dir"] = f"/{BUCKET}/other/"
    refused["no input"][0]["algorithm"]["inputs"] = []
    for case, (wrong, code) in refused.items():
        assert error_of(lambda wrong=wrong: jobs.create(wrong)) == (400, f"ModelArts.{code}"), case

    delete = sdk.DeleteAlgorithmRequest(algorithm_id=algorithm_id)
    assert jobs.client.delete_algorithm(delete).status_code == 202
    show = sdk.ShowAlgorithmByUuidRequest(algorithm_id=algorithm_id)
    assert error_of(lambda: jobs.client.show_algorithm_by_uuid(show)) == (400, "ModelArts.2755")
    assert error_of(lambda: jobs.create(body("b", must="1"))) == (400, "ModelArts.2755")


def test_algorithms_are_listed_and_changed(jobs: Jobs) -> None:
    for name in ("a-1", "a-2", "b-1"):
        body = {**ALGORITHM, "metadata": {"name": name}}
        jobs.client.create_algorithm(sdk.CreateAlgorithmRequest(body=body))

    def listed(**query: Any) -> dict[str, Any]:
        return json_of(jobs.client.list_algorithms(sdk.ListAlgorithmsRequest(**query)))

    def names(reply: dict[str, Any]) -> list[str]:
        return [item["metadata"]["name"] for item in reply["items"]]

    # The offset counts algorithms, not pages.
    page = listed(sort_by="name", order="asc", limit=2, offset=1)
    assert (names(page), page["total"], page["count"]) == (["a-2", "b-1"], 3, 2)
    assert names(listed(searches="a-", sort_by="name")) == ["a-2", "a-1"]
    algorithm_id = listed(searches="b-1")["items"][0]["metadata"]["id"]

    def change(body: dict[str, Any]) -> dict[str, Any]:
        request = sdk.ChangeAlgorithmRequest(algorithm_id=algorithm_id, body=body)
        return json_of(jobs.client.change_algorithm(request))

    changed = change({"metadata": {"description": "new"}, "job_config": ALGORITHM["job_config"]})
    assert (changed["metadata"]["name"], changed["metadata"]["description"]) == ("b-1", "new")
    assert error_of(lambda: change({"metadata": {"name": "a-1"}})) == (400, "ModelArts.2821")
    show = sdk.ShowAlgorithmByUuidRequest(algorithm_id=algorithm_id)
    assert json_of(jobs.client.show_algorithm_by_uuid(show))["metadata"]["description"] == "new"


def one_parameter(**constraint: Any) -> dict[str, Any]:
    return {"parameters": [{"name": "p", "value": constraint.pop("value", ""), "constraint": constraint}]}


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"engine": {}}, "2780"),
        ({"code_dir": ""}, "2757"),
        ({"boot_file": ""}, "2758"),
        ({"inputs": [{"name": "lr"}]}, "2767"),
        (one_parameter(editable=False), "2766"),
        (one_parameter(type="Integer", value="x"), "2768"),
        (one_parameter(valid_type="Choice", valid_range=["a"], value="b"), "2769"),
        (one_parameter(type="Float", valid_type="Range", valid_range=["2", "1"]), "2770"),
        (one_parameter(type="Complex"), "2788"),
    ],
)
def test_an_algorithm_that_cannot_be(jobs: Jobs, config: dict[str, Any], code: str) -> None:
    assert error_of(lambda: algorithm(jobs, **config)) == (400, f"ModelArts.{code}")


def test_many_jobs_go_at_once_or_none(jobs: Jobs) -> None:
    jobs.script(SLEEP)
    ids = [jobs.create(job_body(f"job-{number}"))["metadata"]["id"] for number in range(2)]

    def delete(*wanted: str) -> int:
        rows = [{"kind": "job", "metadata": {"id": job_id}} for job_id in wanted]
        request = sdk.BatchDeleteTrainingJobRequest(body={"jobs": rows})
        return int(jobs.client.batch_delete_training_job(request).status_code)

    assert error_of(lambda: delete(*ids, "unknown")) == (400, "ModelArts.2775")
    assert jobs.search()["total"] == 2
    assert error_of(lambda: delete()) == (400, "ModelArts.0104")
    assert delete(*ids) == 202
    assert jobs.search()["total"] == 0


def test_the_quota_can_be_lowered(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    body = {"user_id": jobs.lab.account.user_id, "quotas": [{"resource": "job-num", "quota": 1}]}
    changed = json_of(jobs.client.modify_training_quotas(sdk.ModifyTrainingQuotasRequest(body=body)))
    assert changed["quotas"] == [{"resource": "job-num", "quota": 1, "used": 0}]
    jobs.run(job_body())
    assert error_of(lambda: jobs.create(job_body("job-2"))) == (400, "ModelArts.2815")
    (row,) = jobs.client.show_training_quotas(sdk.ShowTrainingQuotasRequest()).quotas
    assert (row.quota, row.used) == (1, 1)


def test_the_account_is_authorised_and_has_a_pool(jobs: Jobs) -> None:
    client = jobs.client
    assert [pool.metadata.name for pool in client.list_pools(sdk.ListPoolsRequest()).items] == ["pool-lab"]
    authorised = client.get_authorizations(sdk.GetAuthorizationsRequest())
    assert [row.user_id for row in authorised.auth] == [jobs.lab.account.user_id]
    assert client.show_authmode_detail(sdk.ShowAuthmodeDetailRequest()).domain_id == jobs.lab.account.domain_id
    categories = client.list_event_categories(sdk.ListEventCategoriesRequest(flavor_type="CPU")).event_categories
    assert {"JobStarted", "JobFailed", "JobHanged"} <= {row.id for row in categories}


def test_a_log_is_read_line_by_line(jobs: Jobs) -> None:
    jobs.script("[print('line', n, end='\\r\\n' if n % 7 == 0 else '\\n') for n in range(1200)]; print('尾')")
    job_id = jobs.run(job_body())["metadata"]["id"]
    whole = jobs.log(job_id)

    def page(**query: Any) -> Any:
        request = sdk.ShowTrainingJobLogsFromAomRequest(training_job_id=job_id, task_id="worker-0", **query)
        return jobs.client.show_training_job_logs_from_aom(request)

    newest = page()
    assert newest.lines == 50
    assert whole.endswith(newest.content)
    # Backwards to the beginning, and forwards again to the end.
    text, place = newest.content, newest.start_line
    while (earlier := page(base_line=place, lines=500)).lines:
        text, place = earlier.content + text, earlier.start_line
    assert text == whole
    first = page(base_line=place, order="desc")
    assert first.lines == 0
    text, place = text[: text.index("\n") + 1], place
    while (later := page(base_line=place, order="asc", lines=500)).lines:
        text, place = text + later.content, later.end_line
    assert text == whole
    assert page(base_line=place, order="asc").end_line == place
    for bad in ({"lines": 501}, {"order": "up"}, {"base_line": "7"}):
        assert error_of(lambda bad=bad: page(**bad)) == (400, "ModelArts.2764")


def test_a_log_that_was_removed_is_told_so(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    job_id = jobs.run(job_body())["metadata"]["id"]
    for path in Path(jobs.lab.root, "jobs", job_id).rglob("*.log"):
        path.unlink()
    assert error_of(lambda: jobs.preview(job_id)) == (400, "ModelArts.2819")


def test_an_own_image_runs_its_command_here(jobs: Jobs) -> None:
    jobs.script("import sys; print('ARGS', sys.argv[1:])", folder="code/ddp")
    body = job_body(
        algorithm={
            "engine": {"image_url": "my-org/torch-npu:1.0"},
            "code_dir": f"/{BUCKET}/code/ddp/",
            "command": "test $PWD = $MA_HOME && cd ${MA_JOB_DIR}/ddp && echo first; python train.py",
            "parameters": [{"name": "text", "value": "a b; 'c'"}],
            "environments": {"HCCL_CONNECT_TIMEOUT": "1800"},
        }
    )
    job = jobs.run(body)
    job_id = job["metadata"]["id"]
    assert job["status"]["phase"] == "Completed", jobs.log(job_id)
    assert job["algorithm"]["engine"] == {"image_url": "my-org/torch-npu:1.0"}
    lines = jobs.log(job_id).splitlines()
    assert "first" in lines
    assert repr("--text=a b; 'c'") in next(line for line in lines if line.startswith("ARGS")).replace('"', "'") or (
        "ARGS [\"--text=a b; 'c'\"]" in lines
    )
    assert "not inside its image" in jobs.messages(job_id, level="Warning")


def test_a_running_job_keeps_its_priority(jobs: Jobs) -> None:
    jobs.script(SLEEP)
    job_id = jobs.create(job_body(spec__schedule_policy={"priority": 2, "preemptible": True}))["metadata"]["id"]
    wait_for(lambda: jobs.phase(job_id) == "Running")
    change = {"spec": {"schedule_policy": {"priority": 3}}}
    request = sdk.ChangeTrainingJobDescriptionRequest(training_job_id=job_id, body=change)
    assert error_of(lambda: jobs.client.change_training_job_description(request)) == (409, "ModelArts.2878")
    wanted = [{"key": "priority", "operator": "in", "value": ["2"]}]
    assert jobs.search(filters=wanted)["total"] == 1
    jobs.delete(job_id)
