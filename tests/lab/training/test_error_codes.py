"""Every documented error is produced through the vendor's SDK, with its status and code."""

from pathlib import Path
from typing import Any

import pytest
from huaweicloudsdkmodelarts.v1 import model as sdk

from lab.training.test_operations import algorithm, experiment, one_parameter
from support.lab_app import (
    BUCKET,
    Jobs,
    channel,
    error_of,
    job_body,
    sdk_client,
    signed_post,
    wait_for,
)
from traindeck.lab.faults import Fault, Kind
from traindeck.lab.training import job_form

# The documented errors, status by status, in the order of their documentation: the gateway's, then the service's.
GATEWAY = {
    401: (301, 307),
    403: (302, 402, 310),
    404: (101,),
    413: (201,),
    429: (308,),
    500: (601,),
    502: (201,),
    503: (201, 613),
    504: (201, 613),
}
SERVICE = {
    400: (
        2837, 2751, 2755, 2775, 2757, 2758, 2791, 2802, 2759, 2760, 2761, 2763, 2781, 2840, 2780, 2832, 2793,
        2765, 2766, 2767, 2768, 2769, 2770, 2788, 2816, 2825, 2787, 2806, 2815, 2833, 4992, 3976, 6716, 2810, 2845,
        2857, 2859, 2886, 2887, 2807, 2808, 2809, 2789, 2790, 2818, 2819, 2820, 2822, 2812, 2841, 2842, 50004000,
        2880, 2883,
    ),
    403: (108, 112, 206, 210, 2784, 2785, 4116, 4118),
    404: (2786, 2890),
    405: (2803,),
    409: (2796, 2813, 2878),
    429: (2799,),
    500: tuple(range(2950, 2960)),
}  # fmt: skip
# What is true of accounts, images and machines that a Lab has only when a rule says so.
BY_RULE = {
    *((401, f"APIGW.{code:04}") for code in (307,)),
    *((403, f"APIGW.{code:04}") for code in (302, 310)),
    (429, "APIGW.0308"),
    (500, "APIGW.0601"),
    *((status, "APIGW.0201") for status in (502, 503, 504)),
    *((status, "APIGW.0613") for status in (503, 504)),
    *((400, f"ModelArts.{code}") for code in (2837, 3976, 6716, 2845, 2886, 2887, 2880, 2883)),
    *((403, f"ModelArts.{code:04}") for code in (108, 112, 206, 2784, 2785, 4116, 4118)),
    (404, "ModelArts.2786"),
    (409, "ModelArts.2813"),
    (429, "ModelArts.2799"),
    *((500, f"ModelArts.{code}") for code in range(2950, 2960)),
}
# Of lists, datasets and algorithms; documented with those operations, not among the errors.
OF_OPERATIONS = {(400, f"ModelArts.{code}") for code in (2753, 2764, 2783, 2814, 2821)}


def test_every_code_of_the_table(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[tuple[int, str]] = set()

    def refused(call: Any) -> None:
        seen.add(error_of(call))

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
    refused(lambda: jobs.events(free_id, limit=101))  # 50004000
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

    jobs.lab.rules(Fault(Kind.SOLD_OUT))
    create()  # 4992
    jobs.lab.rules(Fault(Kind.QUOTA))
    create()  # 2815
    assert not seen & BY_RULE
    for status, code in BY_RULE:
        jobs.lab.rules(Fault(Kind.ERROR, status=status, code=code))
        refused(jobs.search)
    jobs.lab.rules()

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
    for service in (jobs_path, f"/v2/{account.project_id}/training-job-engines"):
        status, answer = signed_post(jobs.lab, service, b"{")
        seen.add((status, answer["error_code"]))  # 2787, 2803
    with sdk_client(jobs.lab.url, account) as client:
        client.get_http_client()._session.headers["Origin"] = "http://page.example"
        refused(lambda: Jobs(jobs.lab, client).search())  # APIGW.0402

    documented = {(status, f"APIGW.{code:04}") for status, codes in GATEWAY.items() for code in codes}
    documented |= {(status, f"ModelArts.{code:04}") for status, codes in SERVICE.items() for code in codes}
    assert seen - OF_OPERATIONS == documented
    assert seen > OF_OPERATIONS


def test_what_is_not_ready_is_an_answer_without_content(jobs: Jobs) -> None:
    """The service documents ModelArts.2776 and 2777 with a status that has no body to hold them."""
    jobs.lab.rules(Fault(Kind.SOLD_OUT, body="pending"))
    jobs.script("print('ok')")
    job_id = jobs.create(job_body())["metadata"]["id"]
    task = {"training_job_id": job_id, "task_id": "worker-0"}
    log = jobs.client.show_training_job_logs_preview(sdk.ShowTrainingJobLogsPreviewRequest(**task))
    assert (log.status_code, log.content, log.full_size, log.raw_content) == (204, None, None, b"")
    metrics = jobs.client.show_training_job_metrics(sdk.ShowTrainingJobMetricsRequest(**task))
    assert (metrics.status_code, metrics.metrics, metrics.raw_content) == (204, None, b"")
    lines = jobs.client.show_training_job_logs_from_aom(sdk.ShowTrainingJobLogsFromAomRequest(**task))
    assert (lines.status_code, lines.content) == (204, None)
    jobs.delete(job_id)
