"""Every error code of the service's table is produced once through the vendor's SDK, or named as one that cannot be."""

from pathlib import Path
from typing import Any

import pytest
from huaweicloudsdkmodelarts.v1 import model as sdk

from lab_training.lab_app import BUCKET, Jobs, channel, error_of, job_body, sdk_client, signed_post, wait_for
from lab_training.test_operations import algorithm, experiment, one_parameter
from traindeck.lab.training import job_form
from traindeck.lab.training.job_faults import SOLD_OUT, JobFaults
from traindeck.lab.training.request_body import RefusedError

# What the Lab has nothing for: tokens, dedicated pools, image sizes, restarts, services behind the service.
CANNOT = {
    "APIGW.0307": "tokens are not used",
    "APIGW.0302": "every account of a Lab may do everything in its own project",
    "ModelArts.0206": "the gateway refuses such keys first",
    "ModelArts.2784": "tokens are not used",
    "ModelArts.2786": "the gateway refuses foreign projects first",
    "ModelArts.2813": "there is no action that restarts",
    "ModelArts.2845": "images are not looked at",
    "ModelArts.2886": "there are no dedicated pools",
    "ModelArts.2887": "there are no dedicated pools",
}
# What is true of accounts and machines that a Lab has only when a rule says so.
BY_RULE = {
    "ModelArts.0108": 403,
    "ModelArts.0112": 403,
    "ModelArts.2785": 403,
    "ModelArts.2799": 429,
    "ModelArts.2837": 400,
    "ModelArts.3976": 400,
    "ModelArts.4116": 403,
    "ModelArts.4118": 403,
    "ModelArts.6716": 400,
}
TABLE = {
    "APIGW": (101, 201, 301, 302, 307),
    "ModelArts": (
        108, 112, 206, 210, 2751, 2753, 2755, 2757, 2758, 2759, 2760, 2761, 2763, 2764, 2765, 2766, 2767, 2768, 2769,
        2770, 2775, 2780, 2781, 2783, 2784, 2785, 2786, 2787, 2788, 2789, 2790, 2791, 2793, 2796, 2799, 2802, 2803,
        2806, 2807, 2808, 2809, 2810, 2812, 2813, 2814, 2815, 2816, 2818, 2819, 2820, 2821, 2822, 2825, 2832, 2833,
        2837, 2840, 2841, 2842, 2845, 2857, 2859, 2878, 2886, 2887, 2890, 3976, 4116, 4118, 4992, 6716,
    ),
}  # fmt: skip


def test_every_code_of_the_table(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}

    def refused(call: Any) -> None:
        status, code = error_of(call)
        seen.setdefault(code, status)

    def create(**changes: Any) -> None:
        refused(lambda: jobs.create(job_body("another", **changes)))

    def search(key: str, operator: str, value: Any) -> None:
        refused(lambda: jobs.search(filters=[{"key": key, "operator": operator, "value": value}]))

    jobs.script("import time; time.sleep(600)")
    job_id = jobs.create(job_body())["metadata"]["id"]
    wait_for(lambda: jobs.phase(job_id) == "Running")
    priority = {"spec": {"schedule_policy": {"priority": 1}}}
    change = sdk.ChangeTrainingJobDescriptionRequest(training_job_id=job_id, body=priority)
    refused(lambda: jobs.client.change_training_job_description(change))  # 2878
    refused(lambda: jobs.stop(job_id, "restart"))  # 2812
    refused(lambda: jobs.preview(job_id, "worker-9"))  # 2820
    refused(lambda: jobs.log_link(job_id))  # 2822
    jobs.stop(job_id)
    jobs.ended(job_id)
    refused(lambda: jobs.stop(job_id))  # 2796
    for path in Path(jobs.lab.root, "jobs", job_id).rglob("*.log"):
        path.unlink()
    refused(lambda: jobs.preview(job_id))  # 2819
    jobs.delete(job_id)
    refused(lambda: jobs.show(job_id))  # 2775

    free = {
        "algorithm__engine": {"engine_id": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"},
        "spec__resource": {"flavor_id": "modelarts.p3.large.public.free"},
        "spec__log_export_path": {"obs_url": f"/{BUCKET}/not-yet/"},
    }
    free_id = jobs.create(job_body("free", **free))["metadata"]["id"]
    create(**free)  # 2833
    refused(lambda: jobs.log_link(free_id))  # 2818
    refused(lambda: jobs.create(job_body("free")))  # 2751
    jobs.delete(free_id)

    other = "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"
    create(algorithm__id="none")  # 2755
    create(algorithm__code_dir=f"/{BUCKET}/none/")  # 2757
    create(algorithm__boot_file=f"/{BUCKET}/none.py")  # 2758
    create(algorithm__code_dir="///")  # 2802
    create(algorithm__inputs=[{"name": "d"}])  # 2753
    create(algorithm__inputs=[{"name": "d", "remote": {"dataset": {"id": "1"}}}])  # 2783
    create(algorithm__inputs=[{"name": "d", "remote": {"obs": {"obs_url": "//"}}}])  # 2791
    create(algorithm__inputs=[channel("d", "x/"), channel("d", "y/")])  # 2767
    create(algorithm__parameters=[{"name": "p", "value": 1}])  # 2825
    create(algorithm__parameters=[{"name": "p", "constraint": {"required": True}}])  # 2788
    create(algorithm__engine={"engine_id": "none"})  # 2780
    create(algorithm__engine={"engine_id": "TF-1.13.1-python3.6"})  # 2832
    create(algorithm__engine={})  # 2806
    create(algorithm__engine={"image_url": "x"}, algorithm__command="true")  # 2810
    create(algorithm__local_code_dir="/opt")  # 2857
    create(algorithm__working_dir="here")  # 2859
    create(spec__resource={"flavor_id": "none"})  # 2781
    create(spec__resource={"flavor_id": "modelarts.pool.visual.xlarge"})  # 2763
    create(spec__resource={"flavor_id": "modelarts.kat1.xlarge.public"})  # 2840
    create(spec__resource={"flavor_id": "modelarts.vm.cpu.2u", "node_count": 2})  # 2793
    create(spec__resource={"flavor_id": "modelarts.vm.cpu.2u", "pool_id": "none"})  # 2890
    create(spec__schedule_policy={"priority": 9})  # 2816
    create(metadata__training_experiment_reference={"id": "none"})  # 2842
    choice = {"valid_type": "Choice", "valid_range": ["a"]}
    create(algorithm__parameters=[{"name": "p", "value": "b", "constraint": choice}])  # 2765

    refused(lambda: algorithm(jobs, **one_parameter(editable=False)))  # 2766
    refused(lambda: algorithm(jobs, **one_parameter(type="Float", value="x")))  # 2768
    refused(lambda: algorithm(jobs, **one_parameter(**choice, value="b")))  # 2769
    refused(lambda: algorithm(jobs, **one_parameter(valid_type="Range", valid_range=["1"])))  # 2770
    made = algorithm(jobs)["metadata"]["id"]
    refused(lambda: algorithm(jobs))  # 2821
    create(algorithm={"id": made, "engine": {"engine_id": other}})  # 2814
    experiment(jobs, "one")
    refused(lambda: experiment(jobs, "one"))  # 2841
    listing = sdk.ListAlgorithmsRequest(limit=99)
    refused(lambda: jobs.client.list_algorithms(listing))  # 2764

    refused(lambda: jobs.search(limit=0))  # 2789
    refused(lambda: jobs.search(sort_by="name"))  # 2790
    search("colour", "in", ["red"])  # 2807
    search("name", "is", ["red"])  # 2808
    search("name", "in", [1])  # 2809

    for count, code in ((1001, "2759"), (1, "2760")):
        folder = f"code/{code}"
        jobs.script("", folder=folder)
        for number in range(count):
            jobs.lab.put(f"{folder}/" + ("a/" * 40 if code == "2760" else "") + str(number), "")
        create(algorithm__code_dir=f"/{BUCKET}/{folder}/", algorithm__boot_file=f"/{BUCKET}/{folder}/train.py")
    with monkeypatch.context() as smaller:
        smaller.setattr(job_form, "MAX_CODE_BYTES", 10)
        create()  # 2761

    service = jobs.lab.service
    for code, status in BY_RULE.items():
        service.faults = JobFaults(refusals={"*": RefusedError(code.removeprefix("ModelArts."), "asked for", status)})
        create()
    service.faults = JobFaults(refusals={"*": SOLD_OUT})
    create()  # 4992
    service.faults = JobFaults(quota=0)
    create()  # 2815

    account = jobs.lab.account
    with sdk_client(jobs.lab.url, account, project_id="f" * 32) as client:
        refused(lambda: Jobs(jobs.lab, client).search())  # 0210
    with sdk_client(jobs.lab.url, account, secret="wrong") as client:
        refused(lambda: Jobs(jobs.lab, client).search())  # APIGW.0301
    refused(lambda: jobs.client.list_notebooks(sdk.ListNotebooksRequest()))  # APIGW.0101
    huge = sdk.ListTrainingJobsRequest(body={"group_by": "x" * (13 * 1024 * 1024)})
    refused(lambda: jobs.client.list_training_jobs(huge))  # APIGW.0201
    # The SDK sends neither broken bodies nor wrong methods.
    jobs_path = f"/v2/{account.project_id}/training-jobs"
    for path in (jobs_path, f"/v2/{account.project_id}/training-job-engines"):
        status, answer = signed_post(jobs.lab, path, b"{")
        seen[answer["error_code"]] = status  # 2787, 2803

    wanted = {f"{group}.{number:04}" for group, numbers in TABLE.items() for number in numbers}
    assert wanted - set(seen) == set(CANNOT)
    assert not set(seen) & set(CANNOT)
    assert {code: seen[code] for code in BY_RULE} == BY_RULE
    special = {"ModelArts.2796": 409, "ModelArts.2878": 409, "ModelArts.2890": 404, "ModelArts.2803": 405}
    special |= {"ModelArts.0210": 403, "APIGW.0101": 404, "APIGW.0201": 413, "APIGW.0301": 401}
    others = {code: status for code, status in seen.items() if code not in BY_RULE}
    assert others == {code: special.get(code, 400) for code in others}
