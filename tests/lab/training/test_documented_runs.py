"""What a job finds and leaves behind, sentence by sentence of the documentation of the training platform."""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huaweicloudsdkmodelarts.v1 import model as sdk

from lab.training.test_runner import DUMP, FORKS, dump_of, pids_in
from support.lab_app import (
    BUCKET,
    Jobs,
    are_gone,
    channel,
    error_of,
    job_body,
    jobs_in,
    needs_containers,
    prepared,
    processes_of,
    sdk_client,
    wait_for,
)
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S
from traindeck.lab.training.running import runner
from traindeck.lab.training.running.job_outcome import Timing

OLD_ENGINE = {"engine_name": "Ascend-Powered-Engine", "engine_version": "TF-1.15-python3.7-aarch64"}
OLD: dict[str, Any] = {"algorithm__engine": OLD_ENGINE, "spec__resource": {"flavor_id": "modelarts.kat1.xlarge.public"}}


def test_uploads_and_metrics_have_the_documented_pace() -> None:
    timing = Timing()
    assert (timing.log_upload_s, timing.output_upload_s, timing.metrics_s, timing.hour_s) == (5, 30, 60, 3600)
    assert timing.max_log_bytes == 1_073_741_824


@needs_containers
def test_channels_lie_where_the_job_wants_them(jobs: Jobs) -> None:
    jobs.script(
        "import os, pathlib, sys\n"
        "print('ARGS', sys.argv[1:], os.environ['train_url'], os.listdir('/cache/pictures'))\n"
        "pathlib.Path('/home/ma-user/result/x').write_text('x')"
    )
    jobs.lab.put("data/cat.jpg", "cat")
    body = job_body(
        algorithm__inputs=[channel("data_url", "data/", local_dir="/cache/pictures")],
        algorithm__outputs=[channel("train_url", "out/", local_dir="/home/ma-user/result", access_method="env")],
    )
    job = jobs.run(body)
    job_id = job["metadata"]["id"]
    assert job["status"]["phase"] == "Completed", jobs.log(job_id)
    assert "ARGS ['--data_url=/cache/pictures'] /home/ma-user/result ['cat.jpg']" in jobs.log(job_id)
    assert job["algorithm"]["inputs"][0]["local_dir"] == "/cache/pictures"
    assert jobs.lab.get("out/x") == b"x"
    assert "local_dir" not in jobs.messages(job_id)
    elsewhere = job_body("elsewhere", algorithm__inputs=[channel("data_url", "data/", local_dir="/opt/data")])
    job = jobs.run(elsewhere)
    assert job["algorithm"]["inputs"][0]["local_dir"] == "/home/ma-user/modelarts/inputs/data_url_0"
    assert "local_dir has no effect" in jobs.messages(job["metadata"]["id"], level="Warning")
    for wrong in ("data", "/cache/../etc"):
        rows = [channel("data_url", "data/", local_dir=wrong)]
        assert error_of(lambda rows=rows: jobs.create(job_body("wrong", algorithm__inputs=rows))) == (
            400,
            "ModelArts.2753",
        )


@pytest.mark.parametrize("has_urls", [True, False])
def test_engines_of_the_older_service_can_hand_over_addresses(jobs: Jobs, has_urls: bool) -> None:
    (jobs.lab.root / "lab.toml").write_text(f"obs_urls = {str(has_urls).lower()}\n", encoding="utf-8")
    jobs.script(DUMP)
    jobs.lab.put("data/x", "x")
    channels = {
        "algorithm__inputs": [channel("data_url", "data/"), channel("more", "data/x", access_method="env")],
        "algorithm__outputs": [channel("train_url", "out/")],
    }
    old, new = jobs.run(job_body("old", **OLD, **channels)), jobs.run(job_body("new", **channels))
    seen = {}
    for job in (old, new):
        assert job["status"]["phase"] == "Completed"
        dump = dump_of(jobs.log(job["metadata"]["id"]))
        seen[job["metadata"]["name"]] = [*dump["argv"][1:], dump["env"]["more"]]  # type: ignore[index]
    urls = [f"--data_url=s3://{BUCKET}/data/", f"--train_url=s3://{BUCKET}/out/", f"s3://{BUCKET}/data/x"]
    assert (seen["old"] == urls) is has_urls
    assert all(Path(value.rpartition("=")[2]).is_absolute() for value in seen["new"])
    messages = jobs.messages(old["metadata"]["id"])
    assert ("Downloading the input" in messages) is not has_urls
    assert ("gets the OBS addresses" in messages) is has_urls


@pytest.mark.parametrize("is_mapped", [pytest.param(True, marks=needs_containers), False])
@pytest.mark.parametrize("kind", ["CPU", "GPU", "Ascend"])
def test_a_process_has_the_documented_variables(jobs: Jobs, kind: str, is_mapped: bool) -> None:
    (jobs.lab.root / "lab.toml").write_text(f"container_paths = {str(is_mapped).lower()}\n", encoding="utf-8")
    jobs.script(DUMP)
    flavor, engine = {
        "CPU": ("modelarts.vm.cpu.2u", {"engine_id": "local-python"}),
        "GPU": ("modelarts.p3.large.public", {"engine_id": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"}),
        "Ascend": ("modelarts.kat1.xlarge.public", OLD_ENGINE),
    }[kind]
    body = job_body(algorithm__engine=engine, spec__resource={"flavor_id": flavor, "node_count": 1})
    job_id = jobs.run(body)["metadata"]["id"]
    dump = dump_of(jobs.log(job_id))
    env: Any = dump["env"]
    home = "/home/ma-user" if is_mapped else str(jobs.places(job_id).home)
    name = f"modelarts-job-{job_id}-worker-0"
    documented = {
        "MA_HOME": home,
        "MA_MOUNT_PATH": f"{home}/modelarts",
        "MA_JOB_DIR": f"{home}/modelarts/user-job-dir",
        "WORKSPACE": f"{home}/modelarts/user-job-dir/job",
        "MA_LOG_DIR": f"{home}/modelarts/log",
        "MA_SCRIPT_INTERPRETER": "",
        "MA_NUM_HOSTS": "1",
        "VC_WORKER_NUM": "1",
        "MA_NUM_GPUS": "0" if kind == "CPU" else "1",
        "MA_TASK_NAME": "worker",
        "VC_TASK_INDEX": "0",
        "VC_WORKER_HOSTS": f"{name}.modelarts-job-{job_id}" if is_mapped else "127.0.0.1",
        "MA_CURRENT_IP": "127.0.0.1",
        "MA_CURRENT_INSTANCE_NAME": name,
        "MA_VJ_NAME": f"ma-job-{job_id}",
        "MA_JOB_KIND": "job",
        "MA_ENGINE_VERSION": engine.get("engine_version", engine.get("engine_id")),
        "MA_DETECT_TRAIN_INJECT_CODE": "1",
        "S3_USE_HTTPS": "0",
        "S3_VERIFY_SSL": "0",
    }
    if kind == "GPU":
        documented["NCCL_DEBUG"] = "INFO"
    if kind == "Ascend":
        documented |= {
            "RANK_TABLE_FILE": f"{home}/rank_table/jobstart_hccl.json",
            "RANK_ID": "0",
            "RANK_SIZE": "1",
            "DEVICE_ID": "0",
            "ASCEND_DEVICE_ID": "0",
            "JOB_ID": f"modelarts-job-{job_id}",
            "HCCL_CONNECT_TIMEOUT": "1800",
            "ASCEND_PROCESS_LOG_PATH": f"{home}/modelarts/log/ascend",
        }
    assert {key: env.get(key) for key in documented} == {key: _spelled_here(value) for key, value in documented.items()}
    assert ("RANK_ID" in env) is (kind == "Ascend")
    folder = f"{home}/modelarts/workspace/device0" if kind == "Ascend" else f"{home}/modelarts/user-job-dir"
    assert Path(str(dump["cwd"])) == Path(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
@pytest.mark.parametrize("kind", ["sh", "py", "failing", "endless"])
def test_a_script_beside_the_boot_file_runs_before_training_on_each_worker(jobs: Jobs, kind: str) -> None:
    scripts = {
        "sh": "echo before $VC_TASK_INDEX; echo ready > $MA_HOME/ready",
        "py": "import os; print('before', os.environ['VC_TASK_INDEX']); open(os.environ['MA_HOME'] + '/ready', 'w')",
        "failing": "echo before; exit 9",
        "endless": "echo before; sleep 600",
    }
    jobs.script(scripts[kind], folder="code/job/src", name=f"ma-pre-start.{'py' if kind == 'py' else 'sh'}")
    jobs.script("import os; print('card', os.path.exists(os.environ['MA_HOME'] + '/ready'))", folder="code/job/src")
    body = job_body(**OLD, algorithm__boot_file=f"/{BUCKET}/code/job/src/train.py")
    body["spec"]["resource"]["node_count"] = 2
    job_id = jobs.create(body)["metadata"]["id"]
    if kind == "endless":
        wait_for(lambda: "before" in jobs.log(job_id))
        jobs.stop(job_id)
        assert jobs.ended(job_id)["status"]["phase"] == "Terminated"
        return
    job = jobs.ended(job_id)
    logs = [jobs.log(job_id, task).splitlines() for task in ("worker-0", "worker-1")]
    if kind == "failing":
        assert (job["status"]["phase"], job["status"]["task_statuses"][0]["exit_code"]) == ("Failed", 9)
        assert not any(line.startswith("card") for line in logs[0] + logs[1])
        return
    assert job["status"]["phase"] == "Completed", logs
    for node, lines in enumerate(logs):
        assert lines.index(f"before {node}") < lines.index("card True")


def test_an_engine_of_mpi_says_that_there_is_none(jobs: Jobs) -> None:
    jobs.script("print('once')")
    engine = {"engine_id": "horovod_0.22.1-pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"}
    body = job_body(algorithm__engine=engine, spec__resource={"flavor_id": "modelarts.p3.8xlarge.public"})
    job_id = jobs.run(body)["metadata"]["id"]
    assert jobs.log(job_id).splitlines().count("once") == 1
    assert "without mpirun" in jobs.messages(job_id, level="Warning")


def _spelled_here(value: str | None) -> str | None:
    """Paths are written as this computer writes them."""
    return str(Path(value)) if value and "/" in value else value


def test_two_nodes_of_eight_cards_know_all_sixteen(jobs: Jobs) -> None:
    jobs.script(
        "import json, os\n"
        "table = json.load(open(os.environ['RANK_TABLE_FILE']))\n"
        "user = '/user' if os.path.exists('/user/config') else os.path.join(os.environ['MA_HOME'], '..', 'user')\n"
        "old = json.load(open(os.path.join(user, 'config', 'jobstart_hccl.json')))\n"
        "names = ('VC_TASK_INDEX', 'DEVICE_ID', 'ASCEND_DEVICE_ID', 'RANK_ID', 'RANK_SIZE', 'MA_NUM_GPUS',\n"
        "         'VC_WORKER_NUM')\n"
        "print('ROW', json.dumps([[os.environ[name] for name in names], os.getcwd(), table, old]))"
    )
    body = job_body(**OLD, spec__log_export_path={"obs_url": f"/{BUCKET}/logs/"})
    body["spec"]["resource"] = {"flavor_id": "modelarts.kat1.8xlarge.public", "node_count": 2}
    job = jobs.ended(jobs.create(body)["metadata"]["id"], 60)
    job_id = job["metadata"]["id"]
    assert job["status"]["phase"] == "Completed", jobs.log(job_id)
    rows = []
    for node in range(2):
        lines = [line[4:] for line in jobs.log(job_id, f"worker-{node}").splitlines() if line.startswith("ROW ")]
        assert len(lines) == 8
        rows += [json.loads(line) for line in lines]
    numbers = sorted((int(row[0][3]), row[0]) for row in rows)
    assert [values for _, values in numbers] == [
        [str(rank // 8), str(rank % 8), str(rank % 8), str(rank), "16", "8", "2"] for rank in range(16)
    ]
    assert sorted(Path(row[1]).name for row in rows) == sorted(f"device{card}" for card in range(8) for _ in range(2))
    table, old = rows[0][2], rows[0][3]
    assert (table["status"], table["server_count"]) == ("completed", "2")
    ranks = [device["rank_id"] for server in table["server_list"] for device in server["device"]]
    assert ranks == [str(rank) for rank in range(16)]
    (group,) = old["group_list"]
    assert (old["group_count"], group["device_count"], group["instance_count"]) == ("1", "16", "2")
    assert len({server["server_id"] for server in table["server_list"]}) == (1 if sys.platform == "darwin" else 2)
    assert len(jobs.lab.keys("logs/")) == 16 + 2


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("end", ["time limit", "end of the Lab"])
def test_every_end_reaches_a_stubborn_tree(tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead_s = 0.0
    clock = SimpleNamespace(time=time.time, sleep=time.sleep, monotonic=lambda: time.monotonic() + ahead_s)
    monkeypatch.setattr(runner, "time", clock)
    with jobs_in(tmp_path / "lab") as jobs:
        jobs.script(FORKS)
        job_id = jobs.create(job_body(spec__auto_stop={"time_unit": "HOURS", "duration": 1}))["metadata"]["id"]
        wait_for(lambda: len(pids_in(jobs.log(job_id))) == 4)
        processes = processes_of(job_id)
        assert len(processes) >= 4
        if end == "time limit":
            ahead_s = 3600.0
            assert jobs.ended(job_id)["status"]["phase"] == "Terminated"
            assert "time limit of 1 hour" in jobs.messages(job_id)
            assert are_gone(processes)
    assert are_gone(processes)


def test_a_preview_holds_the_newest_five_megabytes(jobs: Jobs) -> None:
    jobs.script("for n in range(70_000): print('%06d' % n, '汉' * 30)")
    job_id = jobs.run(job_body())["metadata"]["id"]
    preview = jobs.preview(job_id)
    data = preview["content"].encode()
    assert preview["full_size"] > 5 * 1024 * 1024 >= preview["current_size"] == len(data) > 5 * 1024 * 1024 - 4
    assert "069999 汉" in preview["content"]
    assert "000000 汉" not in preview["content"]


def test_accounts_see_their_own_jobs_and_buckets_alone(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    job_id = jobs.run(job_body())["metadata"]["id"]
    second = jobs.lab.accounts.add("second")
    with sdk_client(jobs.lab.url, second) as client:
        others = Jobs(jobs.lab, client)
        assert others.search()["total"] == 0
        for call in (others.show, others.stop, others.delete, others.log, others.events):
            assert error_of(lambda call=call: call(job_id)) == (400, "ModelArts.2775")
        # The same name is free here, but the code is not theirs.
        assert error_of(lambda: others.create(job_body())) == (400, "ModelArts.2757")
        (quota,) = client.show_training_quotas(sdk.ShowTrainingQuotasRequest()).quotas
        assert quota.used == 0
        jobs.lab.objects.create_bucket("second-bucket", second.domain_id)
        jobs.lab.objects.put("second-bucket", "code/train.py", b"print('mine')")
        mine = job_body(algorithm__code_dir="/second-bucket/code/", algorithm__boot_file="/second-bucket/code/train.py")
        job = others.run(mine)
        assert job["metadata"]["user_name"] == "second"
        assert "mine" in others.log(job["metadata"]["id"])
        stolen = {**mine, "metadata": {"name": "stolen"}}
        stolen["algorithm"] = {**mine["algorithm"], "inputs": [channel("data_url", "code/")]}
        assert error_of(lambda: others.create(stolen)) == (400, "ModelArts.2791")
    with sdk_client(jobs.lab.url, second, project_id=jobs.lab.account.project_id) as client:
        assert error_of(lambda: Jobs(jobs.lab, client).search()) == (403, "ModelArts.0210")


def test_the_interval_of_metrics_is_a_setting(tmp_path: Path) -> None:
    with jobs_in(tmp_path / "lab", None, settings="metrics_interval_s = 0.3\n") as jobs:
        jobs.script("import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)")
        job_id = jobs.create(job_body())["metadata"]["id"]
        request = sdk.ShowTrainingJobMetricsRequest(training_job_id=job_id, task_id="worker-0")

        def measured() -> dict[str, list[float]]:
            return {row.metric: row.value for row in jobs.client.show_training_job_metrics(request).metrics or []}

        wait_for(lambda: len(measured().get("cpuUsage", [])) > 1)
        (jobs.places(job_id).job_dir / "go").touch()
        job = jobs.ended(job_id)
        rows = measured()
        names = ["cpuUsage", "memUsage", "npuUtil", "npuMemUsage", "gpuUtil", "gpuMemUsage"]
        assert list(rows) == names
        (count,) = {len(values) for values in rows.values()}
        assert 1 < count <= job["status"]["duration"] / 300
        assert all(-1 <= value <= 100 for values in rows.values() for value in values)


def test_a_log_link_dies_after_five_minutes(tmp_path: Path) -> None:
    import urllib.error
    import urllib.request

    root = tmp_path / "lab"
    account = prepared(root, {"code/job/train.py": b"print('ok')"})
    with LabProcess(root) as lab, sdk_client(lab.modelarts, account) as client:
        jobs = Jobs(None, client)
        body = job_body(spec__log_export_path={"obs_url": f"/{BUCKET}/log/"})
        link = jobs.log_link(jobs.run(body)["metadata"]["id"])

        def status_after(seconds: int) -> int:
            Control(root).rules({"kind": "clock-skew", "service": "obs", "seconds": seconds})
            try:
                with urllib.request.urlopen(link, timeout=PATIENT_S) as reply:
                    return int(reply.status)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code

        assert [status_after(seconds) for seconds in (0, 290, 310)] == [200, 200, 403]
