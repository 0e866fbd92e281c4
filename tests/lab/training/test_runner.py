"""Jobs run as real processes: arguments, files, exit codes, logs, and an end that reaches every process."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.lab_app import (
    BUCKET,
    FAST,
    Jobs,
    are_gone,
    channel,
    job_body,
    jobs_in,
    needs_containers,
    processes_of,
    running_lab,
    sdk_client,
    wait_for,
)

DUMP = """
import json, os, sys
env = {name: value for name, value in os.environ.items() if "SECRET" not in name}
print("DUMP " + json.dumps({"argv": sys.argv, "env": env, "cwd": os.getcwd(), "exe": sys.executable,
                            "prefix": sys.prefix, "stdin": sys.stdin.read()}))
"""


def dump_of(log: str) -> dict[str, object]:
    line = next(line for line in log.splitlines() if line.startswith("DUMP "))
    return dict(json.loads(line.removeprefix("DUMP ")))


def test_a_good_script_completes_with_its_log_and_times(jobs: Jobs) -> None:
    jobs.script("print('hello 你好')")
    created = jobs.create(job_body())
    job = jobs.ended(created["metadata"]["id"])
    status = job["status"]
    assert created["status"]["phase"] == "Creating"
    assert (status["phase"], status["secondary_phase"]) == ("Completed", "Completed")
    assert status["start_time"] >= job["metadata"]["create_time"]
    assert status["duration"] > 0
    assert "task_statuses" not in status
    lines = jobs.log(job["metadata"]["id"]).splitlines()
    assert "hello 你好" in lines
    assert "[ModelArts Service Log]" in lines[0]
    assert "[ModelArts Service Log]" in lines[-1]


def test_an_exit_code_fails_the_job_and_is_told(jobs: Jobs) -> None:
    jobs.script("import sys; print('bad', file=sys.stderr); sys.exit(3)")
    job = jobs.run(job_body())
    assert job["status"]["phase"] == "Failed"
    (task,) = job["status"]["task_statuses"]
    assert (task["task"], task["exit_code"]) == ("worker-0", 3)
    assert "bad" in jobs.log(job["metadata"]["id"]).splitlines()
    assert "exit code 3" in jobs.messages(job["metadata"]["id"])


def test_a_missing_module_fails_with_its_traceback(jobs: Jobs) -> None:
    jobs.script("import no_such_module_anywhere")
    job = jobs.run(job_body())
    assert job["status"]["phase"] == "Failed"
    assert "ModuleNotFoundError" in jobs.log(job["metadata"]["id"])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_process_counts_as_137(jobs: Jobs) -> None:
    jobs.script("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    job = jobs.run(job_body())
    assert job["status"]["task_statuses"][0]["exit_code"] == 137


@pytest.mark.parametrize("is_mapped", [pytest.param(True, marks=needs_containers), False])
def test_arguments_variables_and_folders(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, is_mapped: bool) -> None:
    settings = f"container_paths = {str(is_mapped).lower()}\n"
    (jobs.lab.root / "lab.toml").write_text(settings, encoding="utf-8")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("PYTHONPATH", "/not/for/jobs")
    monkeypatch.setenv("TRAINDECK_HOME", "/not/for/jobs")
    monkeypatch.setenv("HUAWEICLOUD_SDK_SK", "not-for-jobs")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("SOME_TOKEN", "not-for-jobs")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/not/for/jobs")
    monkeypatch.setenv("http_proxy", "http://somebody:password@127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    jobs.script(DUMP)
    jobs.lab.put("data/cat/a.txt", "a")
    jobs.lab.put("data/cat/deep/b.txt", "b")
    jobs.lab.put("data/one.bin", b"\0\1")
    body = job_body(
        algorithm__parameters=[{"name": "lr", "value": "0.01"}, {"name": "text", "value": "a b=c;$HOME"}],
        algorithm__inputs=[
            channel("data_url", "data/cat/"),
            channel("single", "data/one.bin", access_method="env"),
        ],
        algorithm__outputs=[channel("train_url", "out/1/")],
        algorithm__environments={"MINE": "1", "MA_TASK_NAME": "changed", "PYTHONUNBUFFERED": "0"},
    )
    # The last wish of the script is to see its input.
    jobs.script(DUMP + "\nprint('FILES', sorted(f for _, _, fs in os.walk(sys.argv[1][11:]) for f in fs))")
    job = jobs.run(body)
    job_id = job["metadata"]["id"]
    log = jobs.log(job_id)
    seen = dump_of(log)
    data, single = (row["local_dir"] for row in job["algorithm"]["inputs"])
    train = job["algorithm"]["outputs"][0]["local_dir"]
    places = jobs.places(job_id)
    root = Path("/home/ma-user/modelarts") if is_mapped else places.mount
    assert data == str(root / "inputs" / "data_url_0")
    assert single == str(root / "inputs" / "single_1")
    assert job["metadata"]["annotations"]["lab/container-paths"] == str(is_mapped).lower()
    assert ("lab.toml says so" in jobs.messages(job_id, level="Warning")) is not is_mapped
    assert seen["argv"] == [
        str(root / "user-job-dir" / "job" / "train.py"),
        f"--data_url={data}",
        f"--train_url={train}",
        "--lr=0.01",
        "--text=a b=c;$HOME",
    ]
    env = seen["env"]
    assert isinstance(env, dict)
    assert env["single"] == single
    assert (env["MINE"], env["MA_TASK_NAME"], env["PYTHONUNBUFFERED"]) == ("1", "changed", "0")
    assert env["MA_JOB_DIR"] == str(root / "user-job-dir") == env["PYTHONPATH"].split(os.pathsep)[0] == seen["cwd"]
    assert (env["MA_HOME"], env["MA_MOUNT_PATH"]) == (str(root.parent), str(root))
    assert env["MA_VJ_NAME"] == f"ma-job-{job_id}"
    assert env["VC_WORKER_NUM"] == env["MA_NUM_HOSTS"] == "1"
    assert (env["VC_TASK_INDEX"], env["MA_NUM_GPUS"]) == ("0", "0")
    assert env["MA_CURRENT_INSTANCE_NAME"] == f"modelarts-job-{job_id}-worker-0"
    assert env["S3_ENDPOINT"] == "127.0.0.1:9"
    assert json.loads(env["MA_INPUTS"])["inputs"][0]["remote"]["obs"]["obs_url"] == f"s3://{BUCKET}/data/cat/"
    assert (env["OMP_NUM_THREADS"], env["https_proxy"]) == ("3", "http://127.0.0.1:9")
    assert env["HOME"] == str(root.parent)
    assert not {"VIRTUAL_ENV", "PYTHONHOME", "HUAWEICLOUD_SDK_SK", "SOME_TOKEN", "RANK_SIZE", "http_proxy"} & env.keys()
    assert "not/for/jobs" not in str(env)
    assert seen["stdin"] == ""
    assert Path(str(seen["prefix"])).resolve() != Path(sys.prefix).resolve()
    assert "FILES ['a.txt', 'b.txt']" in log
    assert not places.root.exists()


def test_an_ascend_job_finds_its_ranks(jobs: Jobs) -> None:
    jobs.script(DUMP + "\nprint('TABLE', open(os.environ['RANK_TABLE_FILE'], encoding='utf-8').read())")
    engine = "mindspore_1.7.0-cann_5.1.0-py_3.7-euler_2.8.3-aarch64"
    body = job_body(
        algorithm__engine={"engine_id": engine}, spec__resource={"flavor_id": "modelarts.kat1.xlarge.public"}
    )
    job = jobs.run(body)
    log = jobs.log(job["metadata"]["id"])
    assert job["status"]["phase"] == "Completed", log
    env = dump_of(log)["env"]
    assert isinstance(env, dict)
    assert [env[name] for name in ("RANK_ID", "RANK_SIZE", "DEVICE_ID", "MA_NUM_GPUS")] == ["0", "1", "0", "1"]
    assert env["JOB_ID"] == f"modelarts-job-{job['metadata']['id']}"
    assert str(dump_of(log)["cwd"]).endswith("device0")
    table = json.loads(next(line for line in log.splitlines() if line.startswith("TABLE ")).removeprefix("TABLE "))
    assert table["server_list"][0]["device"][0]["rank_id"] == "0"


def test_lines_are_seen_soon_and_outputs_arrive_during_the_run(jobs: Jobs) -> None:
    jobs.script(
        "import pathlib, sys, time\n"
        "out = pathlib.Path(sys.argv[2].partition('=')[2]); go = pathlib.Path(sys.argv[1].partition('=')[2], 'go')\n"
        "(out / 'sub').mkdir(); (out / 'sub' / 'step1.ckpt').write_text('one')\n"
        "print('first line')\n"
        "while not go.exists(): time.sleep(0.02)\n"
        "(out / 'sub' / 'step1.ckpt').write_text('changed'); (out / 'last').write_text('two')\n"
        "print('last line')\n"
    )
    jobs.lab.put("data/x", "x")
    body = job_body(
        algorithm__inputs=[channel("data_url", "data/")],
        algorithm__outputs=[channel("train_url", "out/run")],
        spec__log_export_path={"obs_url": f"obs://{BUCKET}/logs/"},
    )
    job = jobs.create(body)
    job_id = job["metadata"]["id"]
    log_key = f"logs/modelarts-job-{job_id}-worker-0.log"
    wait_for(lambda: "first line" in jobs.log(job_id))
    wait_for(lambda: jobs.lab.get("out/run/sub/step1.ckpt") == b"one")
    wait_for(lambda: b"first line" in (jobs.lab.get(log_key) or b""))
    assert jobs.phase(job_id) == "Running"
    (jobs.places(job_id).mount / "inputs/data_url_0/go").touch()
    assert jobs.ended(job_id)["status"]["phase"] == "Completed"
    assert jobs.lab.get("out/run/sub/step1.ckpt") == b"changed"
    assert jobs.lab.get("out/run/last") == b"two"
    exported = jobs.lab.get(log_key)
    assert exported is not None
    assert exported.decode("utf-8") == jobs.log(job_id)
    assert exported.endswith(b"job is completed\n")


def test_a_log_that_is_no_text_is_still_told(jobs: Jobs) -> None:
    jobs.script(
        "import sys; w = sys.stdout.buffer.write\n"
        "w(b'bad \\xff\\xfe bytes\\n'); w(b'10%\\r20%\\r\\x1b[31mred\\x1b[0m\\n'); w('没有换行'.encode())"
    )
    job = jobs.run(job_body())
    job_id = job["metadata"]["id"]
    preview = jobs.preview(job_id)
    assert "bad \ufffd\ufffd bytes\n" in preview["content"]
    assert "10%\r20%\r\x1b[31mred\x1b[0m\n没有换行\n" in preview["content"]
    assert preview["current_size"] == preview["full_size"]
    path = jobs.lab.root / "jobs" / job_id / "log" / f"modelarts-job-{job_id}-worker-0.log"
    assert preview["full_size"] == path.stat().st_size


FORKS = """
import glob, os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = (
    "import os, signal, time; signal.signal(15, signal.SIG_IGN); print('pid', os.getpid());"
    "open(f'said-{os.getpid()}', 'x'); time.sleep(600)"
)
parent = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], start_new_session=True)"
subprocess.Popen([sys.executable, "-c", child])
subprocess.Popen([sys.executable, "-c", child], start_new_session=True)
subprocess.Popen([sys.executable, "-c", parent, child])
print('pid', os.getpid())
time.sleep(600)
"""


def pids_in(log: str) -> list[int]:
    return [int(line.removeprefix("pid ")) for line in log.splitlines() if line.startswith("pid ")]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_stop_reaches_every_process(jobs: Jobs) -> None:
    jobs.script(FORKS)
    job_id = jobs.create(job_body())["metadata"]["id"]
    wait_for(lambda: len(pids_in(jobs.log(job_id))) == 4)
    processes = processes_of(job_id)
    assert len(processes) >= 4
    stopped = jobs.stop(job_id)
    assert stopped["status"]["phase"] == "Terminating"
    job = jobs.ended(job_id)
    assert (job["status"]["phase"], job["status"]["secondary_phase"]) == ("Terminated", "Terminated")
    assert "stopped by the user" in jobs.messages(job_id)
    assert are_gone(processes)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_script_that_ends_leaves_nothing_running(jobs: Jobs) -> None:
    *forks, sleep = FORKS.splitlines()
    assert sleep == "time.sleep(600)"
    jobs.script("\n".join([*forks, "while len(glob.glob('said-*')) < 3: time.sleep(0.01)"]))
    job = jobs.run(job_body())
    assert job["status"]["phase"] == "Completed"
    assert len(pids_in(jobs.log(job["metadata"]["id"]))) == 4
    assert are_gone(processes_of(job["metadata"]["id"]))


def test_a_script_that_hears_the_stop_saves_its_output(jobs: Jobs) -> None:
    jobs.script(
        "import pathlib, signal, sys, time\n"
        "out = pathlib.Path(sys.argv[1].partition('=')[2])\n"
        "def save(*_): (out / 'saved').write_text('saved'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save); print('ready')\n"
        "while True: time.sleep(0.05)"
    )
    job_id = jobs.create(job_body(algorithm__outputs=[channel("train_url", "out/")]))["metadata"]["id"]
    wait_for(lambda: "ready" in jobs.log(job_id))
    jobs.stop(job_id)
    assert jobs.ended(job_id)["status"]["phase"] == "Terminated"
    if sys.platform != "win32":
        assert jobs.lab.get("out/saved") == b"saved"


def test_the_time_limit_stops_a_job(tmp_path: Path) -> None:
    timing = FAST.__class__(**{**vars(FAST), "hour_s": 0.5})
    with jobs_in(tmp_path / "hours", timing) as jobs:
        jobs.script("import time; time.sleep(60)")
        job = jobs.run(job_body(spec__auto_stop={"time_unit": "HOURS", "duration": 2}))
        assert job["status"]["phase"] == "Terminated"
        assert job["status"]["duration"] >= 900
        assert "time limit of 2 hours" in jobs.messages(job["metadata"]["id"])


def test_the_end_of_the_lab_ends_its_jobs(tmp_path: Path) -> None:
    root = tmp_path / "ending"
    with jobs_in(root) as ending:
        jobs, lab = ending, ending.lab
        jobs.script("import os, time; print('pid', os.getpid()); time.sleep(600)")
        job_id = jobs.create(job_body())["metadata"]["id"]
        wait_for(lambda: pids_in(jobs.log(job_id)))
        processes = processes_of(job_id)
        assert processes
        assert lab.service.live_jobs() == 1
    assert are_gone(processes)
    assert lab.service.live_jobs() == 0
    with running_lab(root) as lab, sdk_client(lab.url, lab.account) as client:
        jobs = Jobs(lab, client)
        assert jobs.phase(job_id) == "Terminated"
        assert "because the Lab ended" in jobs.messages(job_id)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"algorithm__inputs": [channel("d", "nothing/here/")]}, "there is nothing at /lab-bucket/nothing/here/"),
        (
            {"algorithm__outputs": [{"name": "t", "remote": {"obs": {"obs_url": "/no-such-bucket/x/"}}}]},
            "the bucket no-such-bucket does not exist",
        ),
    ],
)
def test_files_that_cannot_come_fail_the_job_with_their_cause(jobs: Jobs, changes: dict[str, Any], cause: str) -> None:
    jobs.script("print('never')")
    job = jobs.run(job_body(**changes))
    job_id = job["metadata"]["id"]
    assert job["status"]["phase"] == "Failed"
    assert cause in jobs.messages(job_id, level="Error")
    assert cause in job["status"]["task_statuses"][0]["message"]
    assert "never" not in jobs.log(job_id).splitlines()


def test_an_object_that_climbs_out_of_the_folder_is_refused(jobs: Jobs) -> None:
    jobs.script("print('never')")
    jobs.lab.put("data/../../../evil.txt", "evil")
    job = jobs.run(job_body(algorithm__inputs=[channel("data_url", "data/")]))
    assert job["status"]["phase"] == "Failed"
    assert not list(jobs.lab.root.rglob("evil.txt"))


def test_a_file_where_a_folder_must_be_fails_the_job(jobs: Jobs) -> None:
    jobs.script("print('never')")
    jobs.lab.put("data/a", "file")
    jobs.lab.put("data/a/b", "file below a file")
    job = jobs.run(job_body(algorithm__inputs=[channel("data_url", "data/")]))
    assert job["status"]["phase"] == "Failed"
    assert "/lab-bucket/data/ cannot be copied" in jobs.messages(job["metadata"]["id"], level="Error")


def test_outputs_that_cannot_go_fail_a_good_script_and_stay(jobs: Jobs) -> None:
    jobs.script(
        "import pathlib, sys, time\n"
        "out = pathlib.Path(sys.argv[1].partition('=')[2]); print('up')\n"
        "while not (out / 'go').exists(): time.sleep(0.02)\n"
        "(out / 'result').write_text('kept')"
    )
    jobs.lab.objects.create_bucket("other-bucket", jobs.lab.account.domain_id)
    output = {"name": "train_url", "remote": {"obs": {"obs_url": "obs://other-bucket/out/"}}}
    job = jobs.create(
        job_body(algorithm__outputs=[output], spec__log_export_path={"obs_url": "obs://other-bucket/log"})
    )
    job_id = job["metadata"]["id"]
    folder = jobs.places(job_id).mount / "outputs/train_url_0"
    wait_for(lambda: "up" in jobs.log(job_id))
    for info in jobs.lab.objects.iterate("other-bucket"):
        jobs.lab.objects.delete("other-bucket", info.key)
    jobs.lab.objects.delete_bucket("other-bucket")
    (folder / "go").touch()
    assert jobs.ended(job_id)["status"]["phase"] == "Failed"
    assert "the bucket other-bucket does not exist" in jobs.messages(job_id, level="Error")
    assert jobs.messages(job_id, level="Warning").count("Uploading the log failed") == 1
    assert (folder / "result").read_text(encoding="utf-8") == "kept"


def test_what_the_lab_does_not_do_is_said(jobs: Jobs) -> None:
    jobs.script("print('ok')")
    job = jobs.run(job_body(algorithm__working_dir="/opt/x", spec__notification={"topic_urn": "urn", "events": []}))
    warnings = jobs.messages(job["metadata"]["id"], level="Warning")
    assert "notification has no effect" in warnings
    assert "working_dir has no effect" in warnings


def test_a_python_named_by_the_user_runs_the_engine(jobs: Jobs) -> None:
    jobs.script("print('never')")
    (jobs.lab.root / "lab.toml").write_text('[engines]\ndefault = "/no/such/python"\n', encoding="utf-8")
    job = jobs.run(job_body())
    assert (job["status"]["phase"], job["status"]["secondary_phase"]) == ("Abnormal", "CreateFailed")
    assert "/no/such/python" in jobs.messages(job["metadata"]["id"], level="Error")
    named = json.dumps(sys.executable)
    text = f'[engines]\ndefault = "/no/such/python"\n"local-python" = {named}\n'
    (jobs.lab.root / "lab.toml").write_text(text, encoding="utf-8")
    jobs.script("import pytest; print('found', pytest.__file__)")
    job = jobs.run(job_body("job-2"))
    assert f"training starts with {sys.executable}" in jobs.log(job["metadata"]["id"])
    assert f"found {pytest.__file__}" in jobs.log(job["metadata"]["id"])


def test_metrics_are_measured_on_the_processes(jobs: Jobs) -> None:
    from huaweicloudsdkmodelarts.v1 import ShowTrainingJobMetricsRequest

    jobs.script("import os\nwhile not os.path.exists('go'): sum(range(1000))")
    job_id = jobs.create(job_body())["metadata"]["id"]
    request = ShowTrainingJobMetricsRequest(training_job_id=job_id, task_id="worker-0")

    def measured() -> dict[str, list[float]]:
        return {row.metric: row.value for row in jobs.client.show_training_job_metrics(request).metrics or []}

    def is_busy() -> bool:
        values = measured().get("cpuUsage", [])
        return len(values) >= 2 and max(values) > 10

    wait_for(is_busy)
    (jobs.places(job_id).job_dir / "go").touch()
    assert jobs.ended(job_id)["status"]["phase"] == "Completed"
    rows = measured()
    assert 0 < max(rows["memUsage"]) <= 100
    assert set(rows["npuUtil"]) == {-1}
    assert {len(values) for values in rows.values()} == {len(rows["cpuUsage"])}
