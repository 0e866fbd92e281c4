"""What the service accepts, refuses and gives back, asked through the vendor's SDK."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import model as sdk

from support.lab_app import (
    BUCKET,
    Jobs,
    LabApp,
    channel,
    error_of,
    job_body,
    jobs_in,
    sdk_client,
    signed_post,
    wait_for,
)

SLEEP = "import time; print('up'); time.sleep(600)"


def test_the_documented_request_is_accepted_and_completed(jobs: Jobs) -> None:
    jobs.script("print('ok')", folder="jobs/MA-1/code/biggan", name="main.py")
    jobs.lab.put("dataset/cat/1", "1")
    engine = "tensorflow_1.15-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"
    body = {
        "kind": "job",
        "metadata": {"name": "MA-new-biggan-11-18-08-05", "workspace_id": "0", "description": "from desktop"},
        "algorithm": {
            "code_dir": f"obs://{BUCKET}/jobs/MA-1/code/biggan/",
            "boot_file": f"/{BUCKET}/jobs/MA-1/code/biggan/main.py",
            "engine": {"engine_name": "Ascend-Powered-Engine", "engine_version": engine},
            "parameters": [{"name": "batchsize", "value": "4"}],
            "inputs": [channel("data_url", "dataset/cat/", access_method="parameter")],
            "outputs": [channel("train_url", "jobs/MA-1/output/V0001/", access_method="parameter")],
            "environments": {"PYTHONUNBUFFERED": "1"},
            "field_of_tomorrow": {"deep": [1, None, "x"]},
        },
        "spec": {
            "resource": {"flavor_id": "modelarts.kat1.xlarge.public", "node_count": 1},
            "log_export_path": {"obs_url": f"/{BUCKET}/jobs/MA-1/log/"},
            "auto_stop": {"time_unit": "HOURS", "duration": 4},
            "runtime_type": "debug",
        },
    }
    job = jobs.create(body)
    assert re.fullmatch(r"[0-9a-f-]{36}", job["metadata"]["id"])
    assert job["metadata"]["user_name"] == jobs.lab.account.user_name
    assert job["status"] == {
        "phase": "Creating",
        "secondary_phase": "Creating",
        "duration": 0,
        "start_time": 0,
        "node_count_metrics": None,
        "tasks": ["worker-0"],
    }
    algorithm, resource = job["algorithm"], job["spec"]["resource"]
    assert algorithm["engine"]["engine_id"] == engine
    assert algorithm["engine"]["run_user"] == "1000"
    assert algorithm["parameters"][0]["constraint"]["type"] == "String"
    assert algorithm["outputs"][0]["mode"] == "upload_periodically"
    assert algorithm["field_of_tomorrow"] == {"deep": [1, None, "x"]}
    assert resource["flavor_detail"]["flavor_info"]["npu"]["unit_num"] == "1"
    assert resource["flavor_detail"]["flavor_info"]["disk"]["size"] == "3200"
    assert job["spec"]["auto_stop"] == {"time_unit": "HOURS", "duration": 4}
    assert job["spec"]["runtime_type"] == "debug"
    ended = jobs.ended(job["metadata"]["id"])
    assert ended["status"]["phase"] == "Completed"
    for part in ("kind", "metadata", "algorithm", "spec"):
        assert ended[part] == job[part]


def _without(*path: str) -> dict[str, Any]:
    body = job_body()
    place = body
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return body


BAD = {
    "kind": (job_body(kind="autosearch_job"), "0104"),
    "no metadata": (_without("metadata"), "0104"),
    "name with a dot": (job_body("a.b"), "0104"),
    "name of 65": (job_body("a" * 65), "0104"),
    "empty name": (job_body(""), "0104"),
    "long description": (job_body(metadata__description="x" * 257), "0104"),
    "workspace": (job_body(metadata__workspace_id="a" * 32), "0104"),
    "algorithm by id": (job_body(algorithm__id="4c8f"), "2755"),
    "engine unknown": (job_body(algorithm__engine={"engine_id": "pytorch_9"}), "2780"),
    "engine name and version disagree": (
        job_body(algorithm__engine={"engine_name": "PyTorch", "engine_version": "local-python"}),
        "2780",
    ),
    "no engine": (_without("algorithm", "engine"), "2806"),
    "image without command": (job_body(algorithm__engine={"image_url": "org/image:1"}), "2806"),
    "image that is none": (
        job_body(algorithm__engine={"image_url": "image"}, algorithm__command="python x.py"),
        "2810",
    ),
    "command of two lines": (
        job_body(algorithm__engine={"image_url": "org/image:1"}, algorithm__command="a\nb"),
        "0104",
    ),
    "engine that was removed": (
        job_body(algorithm__engine={"engine_name": "TensorFlow", "engine_version": "TF-1.13.1-python3.6"}),
        "2832",
    ),
    "flavor of a dedicated pool": (job_body(spec__resource={"flavor_id": "modelarts.pool.visual.xlarge"}), "2763"),
    "subscribed algorithm": (job_body(algorithm__subscription_id="4c8f"), "2755"),
    "unknown experiment": (job_body(metadata__training_experiment_reference={"id": "none"}), "2842"),
    "priority": (job_body(spec__schedule_policy={"priority": 4}), "2816"),
    "tag": (job_body(metadata__tags=[{"key": "_sys_x", "value": ""}]), "0104"),
    "code below the service's own": (job_body(algorithm__local_code_dir="/home/ma-user/infer/x"), "2857"),
    "code outside of home": (job_body(algorithm__local_code_dir="/opt/code"), "2857"),
    "working folder": (job_body(algorithm__working_dir="code"), "2859"),
    "dataset": (
        job_body(algorithm__inputs=[{"name": "d", "remote": {"dataset": {"id": "1", "version_id": "1"}}}]),
        "2783",
    ),
    "flavor unknown": (job_body(spec__resource={"flavor_id": "modelarts.none"}), "2781"),
    "no flavor": (job_body(spec__resource={}), "2781"),
    "flavor misfit": (job_body(spec__resource={"flavor_id": "modelarts.kat1.xlarge.public"}), "2840"),
    "too many nodes": (job_body(spec__resource={"flavor_id": "modelarts.vm.cpu.2u", "node_count": 2}), "2793"),
    "no nodes": (job_body(spec__resource={"flavor_id": "modelarts.vm.cpu.2u", "node_count": 0}), "0104"),
    "half a node": (job_body(spec__resource={"flavor_id": "modelarts.vm.cpu.2u", "node_count": 1.5}), "0104"),
    "code is no path": (job_body(algorithm__code_dir="///"), "2802"),
    "code in no bucket": (job_body(algorithm__code_dir="/no-such-bucket/x/"), "2757"),
    "code missing": (job_body(algorithm__code_dir=f"/{BUCKET}/nothing/"), "2757"),
    "code is a prefix of the name": (job_body(algorithm__code_dir=f"/{BUCKET}/code/jo/"), "2757"),
    "code in the image": (job_body(algorithm__code_dir="file:///home/x/"), "2802"),
    "boot file missing": (job_body(algorithm__boot_file=f"/{BUCKET}/code/job/none.py"), "2758"),
    "boot file elsewhere": (job_body(algorithm__boot_file=f"/{BUCKET}/code/other.py"), "2758"),
    "boot file is no script": (job_body(algorithm__boot_file=f"/{BUCKET}/code/job/run.sh"), "2758"),
    "boot file empty": (job_body(algorithm__boot_file=""), "2758"),
    "parameter twice": (
        job_body(algorithm__parameters=[{"name": "lr", "value": "1"}, {"name": "lr", "value": "2"}]),
        "2767",
    ),
    "parameter named as an input": (
        job_body(
            algorithm__parameters=[{"name": "data_url", "value": "1"}],
            algorithm__inputs=[channel("data_url", "data/")],
        ),
        "2767",
    ),
    "parameter is a number": (job_body(algorithm__parameters=[{"name": "lr", "value": 0.1}]), "2825"),
    "parameter with a blank": (job_body(algorithm__parameters=[{"name": "l r", "value": "1"}]), "0104"),
    "input is no path": (job_body(algorithm__inputs=[{"name": "d", "remote": {"obs": {"obs_url": "/"}}}]), "2791"),
    "input without remote": (job_body(algorithm__inputs=[{"name": "d"}]), "2753"),
    "access method": (job_body(algorithm__inputs=[channel("d", "data/", access_method="file")]), "2753"),
    "log path": (job_body(spec__log_export_path={"obs_url": "//"}), "2791"),
    "variable name": (job_body(algorithm__environments={"1A": "x"}), "0104"),
    "variable value": (job_body(algorithm__environments={"A": 1}), "0104"),
    "too many variables": (job_body(algorithm__environments={f"A{n}": "" for n in range(101)}), "0104"),
    "auto stop in minutes": (job_body(spec__auto_stop={"time_unit": "MINUTES", "duration": 1}), "0104"),
    "auto stop of nothing": (job_body(spec__auto_stop={"time_unit": "HOURS", "duration": 0}), "0104"),
    "parameters are no list": (job_body(algorithm__parameters={}), "0104"),
    "spec is no object": (job_body(spec=[]), "0104"),
}


def test_a_bad_request_is_refused_with_its_code_and_nothing_is_made(jobs: Jobs) -> None:
    jobs.script("print('never')")
    jobs.lab.put("code/job/run.sh", "")
    jobs.lab.put("code/other.py", "")
    answers = {case: error_of(lambda body=body: jobs.create(body)) for case, (body, _) in BAD.items()}
    assert answers == {case: (400, f"ModelArts.{code}") for case, (_, code) in BAD.items()}
    assert error_of(
        lambda: jobs.create(job_body(spec__resource={"pool_id": "pool-1", "flavor_id": "modelarts.vm.cpu.2u"}))
    ) == (404, "ModelArts.2890")
    assert jobs.search()["total"] == 0


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ([f"f{number}" for number in range(1000)], "2759"),
        (["/".join("d" * 33)], "2760"),
    ],
)
def test_code_beyond_the_limits_is_refused(jobs: Jobs, keys: list[str], code: str) -> None:
    jobs.script("print('never')")
    for key in keys:
        jobs.lab.put(f"code/job/{key}", "")
    assert error_of(lambda: jobs.create(job_body())) == (400, f"ModelArts.{code}")


def test_how_much_code_is_taken_can_be_set(tmp_path: Path) -> None:
    with jobs_in(tmp_path / "lab", settings="code_entries = 3\n") as jobs:
        jobs.script("print('ok')")
        jobs.lab.put("code/job/lib/a.py", "")
        jobs.create(job_body("as-many-as-allowed"))
        jobs.lab.put("code/job/lib/b.py", "")
        assert error_of(lambda: jobs.create(job_body("one-more"))) == (400, "ModelArts.2759")


def test_a_name_is_taken_once(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    assert _name_is_taken(jobs, "job-1") is False
    job = jobs.run(job_body())
    assert error_of(lambda: jobs.create(job_body())) == (400, "ModelArts.2751")
    assert _name_is_taken(jobs, "job-1") is True
    assert jobs.delete(job["metadata"]["id"]) == 202
    assert _name_is_taken(jobs, "job-1") is False
    assert error_of(lambda: jobs.show(job["metadata"]["id"])) == (400, "ModelArts.2775")
    assert not (jobs.lab.root / "jobs" / job["metadata"]["id"]).exists()
    jobs.run(job_body())


def _name_is_taken(jobs: Jobs, name: str) -> object:
    request = sdk.ValidateTrainingJobNameRequest(job_name=name, workspace_id="0")
    return jobs.client.validate_training_job_name(request).is_duplicate


def test_many_submissions_at_once_make_one_job(jobs: Jobs) -> None:
    from concurrent.futures import ThreadPoolExecutor

    jobs.script("print('ok')")

    def submit(_: int) -> str:
        try:
            return str(jobs.create(job_body())["metadata"]["name"])
        except ClientRequestException as error:
            return str(error.error_code)

    with ThreadPoolExecutor(8) as pool:
        answers = sorted(pool.map(submit, range(8)))
    assert answers == ["ModelArts.2751"] * 7 + ["job-1"]
    jobs.ended(jobs.search()["items"][0]["metadata"]["id"])


def test_a_job_that_is_over_cannot_be_stopped(jobs: Jobs) -> None:
    jobs.script(SLEEP)
    job_id = jobs.create(job_body())["metadata"]["id"]
    assert error_of(lambda: jobs.stop(job_id, "restart")) == (400, "ModelArts.2812")
    jobs.stop(job_id)
    assert error_of(lambda: jobs.stop(job_id)) == (409, "ModelArts.2796")
    jobs.ended(job_id)
    assert error_of(lambda: jobs.stop(job_id)) == (409, "ModelArts.2796")


def test_deleting_a_live_job_ends_it_first(jobs: Jobs) -> None:
    jobs.script(SLEEP)
    job_id = jobs.create(job_body())["metadata"]["id"]
    wait_for(lambda: "up" in jobs.log(job_id))
    assert jobs.delete(job_id) == 202
    assert jobs.lab.service.live_jobs() == 0
    assert error_of(lambda: jobs.show(job_id)) == (400, "ModelArts.2775")


def test_the_free_flavor_runs_one_job(jobs: Jobs) -> None:
    jobs.script(SLEEP)
    engine = {"engine_id": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"}
    free: dict[str, Any] = {
        "algorithm__engine": engine,
        "spec__resource": {"flavor_id": "modelarts.p3.large.public.free"},
    }
    job_id = jobs.create(job_body(**free))["metadata"]["id"]
    assert error_of(lambda: jobs.create(job_body("job-2", **free))) == (400, "ModelArts.2833")
    jobs.stop(job_id)
    jobs.ended(job_id)
    jobs.delete(jobs.create(job_body("job-2", **free))["metadata"]["id"])


def test_the_description_can_be_changed(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    job_id = jobs.run(job_body())["metadata"]["id"]

    def change(body: dict[str, Any]) -> object:
        request = sdk.ChangeTrainingJobDescriptionRequest(training_job_id=job_id, body=body)
        return jobs.client.change_training_job_description(request)

    change({"description": "改过"})
    assert jobs.show(job_id)["metadata"]["description"] == "改过"
    assert error_of(lambda: change({"description": "x" * 257})) == (400, "ModelArts.0104")
    assert error_of(lambda: change({"spec": {"schedule_policy": {"priority": 3}}})) == (409, "ModelArts.2878")
    assert error_of(lambda: change({"algorithm": {"code_dir": "/x/"}})) == (400, "ModelArts.0104")
    change(
        {"metadata": {"annotation": {"jupyter-lab/enable": "true"}}, "endpoints": {"ssh": {"key_pair_names": ["k"]}}}
    )
    job = jobs.show(job_id)
    assert job["metadata"]["annotations"]["jupyter-lab/enable"] == "true"
    assert job["endpoints"]["ssh"]["key_pair_names"] == ["k"]


@pytest.mark.parametrize("call", ["show", "stop", "delete", "log", "events"])
def test_an_unknown_job_is_named_as_the_service_names_it(jobs: Jobs, call: str) -> None:
    assert error_of(lambda: getattr(jobs, call)("no-such-job")) == (400, "ModelArts.2775")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'"text"', b'{"x": NaN}', b"\xff"])
def test_a_body_that_is_no_json_object(lab: LabApp, content: bytes) -> None:
    status, answer = signed_post(lab, f"/v2/{lab.account.project_id}/training-jobs", content)
    assert (status, answer["error_code"]) == (400, "ModelArts.2787")


def test_projects_and_routes_that_are_not_there(lab: LabApp) -> None:
    with sdk_client(lab.url, lab.account, project_id="f" * 32) as client:
        assert error_of(lambda: Jobs(lab, client).search()) == (403, "ModelArts.0210")
    with sdk_client(lab.url, lab.account) as client:
        request = sdk.ListNotebooksRequest()
        assert error_of(lambda: client.list_notebooks(request)) == (404, "APIGW.0101")
    with sdk_client(lab.url, lab.account, secret="wrong-" * 5) as client:
        assert error_of(lambda: Jobs(lab, client).search()) == (401, "APIGW.0301")


def test_engines_flavors_quota_and_workspaces(jobs: Jobs) -> None:
    client = jobs.client
    engines = client.show_training_job_engines(sdk.ShowTrainingJobEnginesRequest())
    ids = {item.engine_id for item in engines.items}
    assert engines.total == len(engines.items) == len(ids)
    assert {"local-python", "TF-1.15-python3.7-aarch64", "xgboost-sklearn-python3.6"} <= ids
    for kind, count in (("CPU", 2), ("GPU", 3), ("Ascend", 2), (None, 7)):
        flavors = client.show_training_job_flavors(sdk.ShowTrainingJobFlavorsRequest(flavor_type=kind))
        assert flavors.total_count == len(flavors.flavors) == count
        assert {flavor.flavor_type for flavor in flavors.flavors} == ({kind} if kind else {"CPU", "GPU", "Ascend"})
    largest = client.show_training_job_flavors(sdk.ShowTrainingJobFlavorsRequest(flavor_type="GPU")).flavors[-1]
    assert (largest.flavor_info.gpu.unit_num, largest.flavor_info.max_num) == (8, 16)
    bad = sdk.ShowTrainingJobFlavorsRequest(flavor_type="TPU")
    assert error_of(lambda: client.show_training_job_flavors(bad)) == (400, "ModelArts.0104")
    jobs.script("print('ok')")
    jobs.run(job_body())
    (quota,) = client.show_training_quotas(sdk.ShowTrainingQuotasRequest(resource="job-num")).quotas
    assert (quota.resource, quota.quota, quota.used) == ("job-num", 10000, 1)
    (workspace,) = client.list_workspace(sdk.ListWorkspaceRequest()).workspaces
    assert (workspace.id, workspace.status) == ("0", "NORMAL")


def test_logs_metrics_and_tasks_before_there_is_anything(jobs: Jobs) -> None:
    jobs.script(SLEEP)
    job_id = jobs.create(job_body())["metadata"]["id"]
    (task,) = jobs.client.list_training_job_tasks(sdk.ListTrainingJobTasksRequest(training_job_id=job_id)).body
    assert task.task == "worker-0"
    assert error_of(lambda: jobs.preview(job_id, "worker-7")) == (400, "ModelArts.2820")
    wait_for(lambda: "up" in jobs.log(job_id))
    jobs.delete(job_id)


def test_the_log_link_opens_the_exported_log(jobs: Jobs) -> None:
    from datetime import UTC, datetime, timedelta
    from urllib.parse import urlsplit

    from traindeck.lab.signing.request import RawRequest, Refused
    from traindeck.lab.signing.v2 import OBS, verify_url

    jobs.script("print('ok')")
    kept = jobs.run(job_body(spec__log_export_path={"obs_url": f"/{BUCKET}/日志 1"}))["metadata"]["id"]
    hosted = jobs.run(job_body("job-2"))["metadata"]["id"]

    parts = urlsplit(jobs.log_link(kept))
    request = RawRequest("GET", parts.path, parts.query, (("Host", parts.netloc),))
    secret_of = {jobs.lab.account.access_key: jobs.lab.account.secret_key}.get
    now = datetime.now(UTC)
    assert verify_url(request, OBS, secret_of, now).access_key == jobs.lab.account.access_key
    with pytest.raises(Refused):
        verify_url(request, OBS, secret_of, now + timedelta(seconds=301))
    assert error_of(lambda: jobs.log_link(hosted)) == (400, "ModelArts.2822")


def test_events_and_stages(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    job_id = jobs.run(job_body(algorithm__outputs=[channel("train_url", "out/")]))["metadata"]["id"]
    everything = jobs.events(job_id, order="asc", limit=100)
    steps = ["job is created", "job is queuing", "job is running", "job is completed"]
    assert [event["message"] for event in everything if event["message"] in steps] == steps
    assert everything[-1]["message"] == "job is completed"
    assert {event["source"] for event in everything} == {"Job", "Task"}
    second_page = jobs.events_reply(job_id, order="asc", limit=3, offset=1)
    assert second_page["events"] == everything[3:6]
    assert second_page["total"] == len(everything)
    assert jobs.events(job_id, limit=1) == [everything[-1]]
    assert [event["message"] for event in jobs.events(job_id, pattern="exit code")] == [
        "[worker-0] training process ended with exit code 0"
    ]
    assert jobs.events(job_id, level="Error") == []
    assert jobs.events(job_id, x_language="zh-cn", limit=1)[0]["message"] == "作业已完成。"
    assert jobs.events(job_id, start_time="0", end_time="1000") == []
    bad: list[dict[str, Any]] = [{"limit": 101}, {"start_time": "1"}, {"level": "Fatal"}, {"order": "up"}]
    for query in bad:
        assert error_of(lambda query=query: jobs.events(job_id, **query)) == (400, "ModelArts.50004000")
    reply = jobs.client.list_training_job_stages(sdk.ListTrainingJobStagesRequest(training_job_id=job_id))
    stages = reply.to_json_object()["running_records"][0]["stages"]
    assert [stage["name"] for stage in stages] == ["scheduling", "preparing", "running", "end"]
    assert all(stage["end_time"] for stage in stages)


def test_search_pages_filters_and_refusals(jobs: Jobs) -> None:
    jobs.script("import sys; sys.exit(sys.argv[1] == '--bad=1')")
    names = [f"train-{index}" for index in range(5)] + ["other"]
    for name in names:
        value = "1" if name == "other" else "0"
        jobs.run(job_body(name, algorithm__parameters=[{"name": "bad", "value": value}]))

    def found(*filters: tuple[str, str, list[str]], **more: Any) -> list[str]:
        rows = [{"key": key, "operator": operator, "value": value} for key, operator, value in filters]
        return [item["metadata"]["name"] for item in jobs.search(filters=rows, **more)["items"]]

    everything = found(limit=50)
    assert everything == names[::-1]
    assert found(order="asc") == names
    page = jobs.search(limit=4, offset=1)
    assert [item["metadata"]["name"] for item in page["items"]] == everything[4:]
    assert (page["total"], page["count"], page["limit"], page["offset"]) == (6, 2, 4, 1)
    assert found(limit=4, offset=2) == []
    assert found(("name", "like", ["ther"])) == ["other"]
    assert found(("name", "like", ["%"])) == []
    assert found(("name", "in", ["other", "train-1"])) == ["other", "train-1"]
    assert found(("phase", "in", ["Failed"])) == ["other"]
    assert found(("phase", "not", ["Failed"]), ("name", "like", ["-3"])) == ["train-3"]
    assert found(("phase", "in", [""])) == everything
    assert found(("name", "like", [])) == everything
    assert found(("kind", "in", ["job"]), ("pool_id", "in", ["none"])) == []
    assert found(("create_time", "between", ["2020-01-01T00:00:00Z", "2020-01-31T00:00:00Z"])) == []
    job_id = jobs.search(limit=1)["items"][0]["metadata"]["id"]
    assert found(("id", "in", [job_id])) == ["other"]

    def refusal(**body: Any) -> str:
        status, code = error_of(lambda: jobs.search(**body))
        assert status == 400
        return code.removeprefix("ModelArts.")

    def filtered(key: str, operator: str, value: list[Any]) -> dict[str, Any]:
        return {"filters": [{"key": key, "operator": operator, "value": value}]}

    assert refusal(**filtered("colour", "in", ["red"])) == "2807"
    assert refusal(**filtered("name", "is", ["red"])) == "2808"
    assert refusal(**filtered("name", "in", [1])) == "2809"
    assert refusal(**filtered("name", "in", ["x"] * 11)) == "2809"
    span = ["2025-01-01T00:00:00Z", "2025-03-01T00:00:00Z"]
    assert refusal(**filtered("create_time", "between", span)) == "2809"
    assert [refusal(limit=limit) for limit in (0, 51, "5")] == ["2789"] * 3
    assert refusal(offset=-1) == "2789"
    assert refusal(sort_by="name") == "2790"
    assert refusal(order="up") == "2790"


def test_iam_knows_the_project_of_the_account(lab: LabApp) -> None:
    from huaweicloudsdkcore.auth.credentials import BasicCredentials
    from huaweicloudsdkcore.http.http_config import HttpConfig
    from huaweicloudsdkcore.region.region import Region
    from huaweicloudsdkmodelarts.v1 import ModelArtsClient

    account = lab.account
    credentials = BasicCredentials(account.access_key, account.secret_key).with_iam_endpoint(lab.url)
    builder = ModelArtsClient.new_builder().with_http_config(HttpConfig(timeout=(5, 20)))
    client = builder.with_credentials(credentials).with_region(Region(account.region, lab.url)).build()
    try:
        assert credentials.project_id == account.project_id
        assert Jobs(lab, client).search()["total"] == 0

        def get(path: str, **query: str) -> dict[str, Any]:
            reply = client.do_http_request(
                method="GET",
                resource_path=path,
                path_params={},
                query_params=list(query.items()),
                header_params={},
                response_type="DeleteTrainingJobResponse",
            )
            return dict(json.loads(reply.raw_content))

        assert get("/v3/auth/projects")["projects"][0]["name"] == account.region
        assert get("/v3/auth/domains")["domains"][0]["id"] == account.domain_id
        (project,) = get("/v3/projects")["projects"]
        assert (project["parent_id"], project["enabled"], project["is_domain"]) == (account.domain_id, True, False)
        assert get("/v3/projects", name="elsewhere")["projects"] == []
    finally:
        client.close()
        client.get_http_client()._executor.shutdown()
