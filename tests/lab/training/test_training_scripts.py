"""Training scripts as people write them, run by a whole Lab from the first byte of code to the last of the outputs."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from lab.training.test_packages import wheel
from support.lab_app import (
    BUCKET,
    Jobs,
    are_gone,
    channel,
    job_body,
    needs_containers,
    processes_of,
    sdk_client,
    wait_for,
)
from support.servers.lab_process import LabProcess
from traindeck.lab.accounts import Accounts
from traindeck.lab.obs.store import ObjectStore
from traindeck.runtime.resources import resource

NODES = {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 3}
PYTORCH = {"engine_id": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"}
ASCEND = {"engine_name": "Ascend-Powered-Engine", "engine_version": "TF-1.15-python3.7-aarch64"}

OLD_STYLE = """
import argparse
import os
import moxing as mox

parser = argparse.ArgumentParser()
parser.add_argument("--data_url", type=str, default="./data")
parser.add_argument("--train_url", type=str, default="./out")
parser.add_argument("--pretrained", type=str)
parser.add_argument("--result_url", type=str)
args, unknown = parser.parse_known_args()

if not os.path.exists("/cache/data"):
    os.makedirs("/cache/data")
mox.file.copy_parallel(args.data_url, "/cache/data")
mox.file.copy_parallel(args.pretrained, "/cache/weight.pth")
print("DATA", sorted(os.listdir("/cache/data")), os.path.getsize("/cache/weight.pth"))
os.makedirs("/cache/output/ckpt")
with open("/cache/output/ckpt/model.ckpt", "w") as f:
    f.write("trained")
if not mox.file.exists(args.result_url):
    mox.file.make_dirs(args.result_url)
mox.file.copy_parallel("/cache/output", args.result_url)
mox.file.shift("os", "mox")
with open(os.path.join(args.result_url, "notes.txt"), "w") as f:
    f.write(", ".join(sorted(os.listdir(args.result_url))))
mox.file.copy_parallel(src_url="/cache/output/", dst_url=args.train_url)
print("done")
"""

# Each card trains on its part and waits for the others by way of a folder of the machine, as collective calls would.
CARDS = """
import argparse, json, os, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--data_url"); parser.add_argument("--train_url"); parser.add_argument("--epochs", type=int)
args, _ = parser.parse_known_args()
rank, size, device = (int(os.environ[name]) for name in ("RANK_ID", "RANK_SIZE", "DEVICE_ID"))
table = json.load(open(os.environ["RANK_TABLE_FILE"]))
assert table["status"] == "completed" and len(table["server_list"][0]["device"]) == size
assert os.getcwd().endswith("device%d" % device) and sys.path[0] == os.path.dirname(os.path.abspath(__file__))
rows = [int(row) for row in open(os.path.join(args.data_url, "rows.txt"))][rank::size]
meeting = os.path.join(os.environ["MA_HOME"], "meeting")
os.makedirs(meeting, exist_ok=True)
for epoch in range(args.epochs):
    open(os.path.join(meeting, "%d-%d" % (epoch, rank)), "w").write(str(sum(rows)))
    names = [os.path.join(meeting, "%d-%d" % (epoch, other)) for other in range(size)]
    while not all(os.path.exists(name) and os.path.getsize(name) for name in names):
        time.sleep(0.01)
    print("epoch %d rank %d total %d" % (epoch, rank, sum(int(open(name).read()) for name in names)))
with open(os.path.join(args.train_url, "rank-%d.ckpt" % rank), "w") as f:
    f.write(str(sum(rows)))
"""

PACKAGES = """
import argparse, os, tiny_pack
parser = argparse.ArgumentParser(); parser.add_argument("--train_url")
args, _ = parser.parse_known_args()
print("TINY", tiny_pack.VERSION)
open(os.path.join(args.train_url, "version.txt"), "w").write(tiny_pack.VERSION)
"""

STUBBORN = """
import argparse, multiprocessing, os, signal, sys, time

def work(number, folder):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if number == 0:
        os.setsid()
    sys.stdout.write(f"worker {number} pid {os.getpid()}\\n")  # in one piece: others write at the same time
    while True:
        time.sleep(0.05)

if __name__ == "__main__":
    parser = argparse.ArgumentParser(); parser.add_argument("--train_url")
    args, _ = parser.parse_known_args()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(os.path.join(args.train_url, "begun.txt"), "w").write("begun")
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=work, args=(number, args.train_url)) for number in range(3)]
    for child in children:
        child.start()
    sys.stdout.write(f"parent pid {os.getpid()}\\n")
    for child in children:
        child.join()
"""


class Cloud:
    """A whole Lab with the scripts and their data in its buckets."""

    def __init__(self, root: Path) -> None:
        self.lab = LabProcess(root, environment={"PIP_NO_INDEX": "1"})
        root.mkdir()
        self.account = Accounts(root).first
        self.settings()
        objects = ObjectStore(root)
        objects.create_bucket(BUCKET, self.account.domain_id)
        sample = resource("sample", "digits")
        for name in ("single", "nodes"):
            objects.put(BUCKET, f"code/{name}/train.py", (sample / "train.py").read_bytes())
        objects.put(BUCKET, "data/digits.txt", (sample / "data" / "digits.txt").read_bytes())
        for name, script in {"old": OLD_STYLE, "old-urls": OLD_STYLE, "cards": CARDS, "stubborn": STUBBORN}.items():
            objects.put(BUCKET, f"code/{name}/train.py", script.encode())
        objects.put(BUCKET, "rows/rows.txt", "\n".join(map(str, range(100))).encode())
        objects.put(BUCKET, "pictures/cat/1.jpg", b"cat")
        objects.put(BUCKET, "pictures/dog.jpg", b"dog")
        objects.put(BUCKET, "weights/pretrained.pth", b"weights")
        name, content = wheel("1.5")
        objects.put(BUCKET, f"code/packages/{name}", content)
        objects.put(BUCKET, "code/packages/pip-requirements.txt", b"tiny-pack>=1\n")
        objects.put(BUCKET, "code/packages/train.py", PACKAGES.encode())
        objects.close()

    def settings(self, more: str = "") -> None:
        text = f"parallel_jobs = 2\nmetrics_interval_s = 0.5\n{more}"
        (self.lab.root / "lab.toml").write_text(text, encoding="utf-8")

    def kept(self, prefix: str) -> dict[str, bytes]:
        """What is in a folder now, as any client of object storage sees it."""
        s3: Any = boto3.client(
            "s3",
            endpoint_url=self.lab.obs,
            aws_access_key_id=self.account.access_key,
            aws_secret_access_key=self.account.secret_key,
            region_name="lab",
            config=Config(s3={"addressing_style": "path"}),
        )
        try:
            rows = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
            keys = [row["Key"] for row in rows]
            return {key[len(prefix) :]: s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}
        finally:
            s3.close()


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    cloud = Cloud(tmp_path_factory.mktemp("scripts") / "lab")
    with cloud.lab:
        yield cloud


@pytest.fixture
def jobs(cloud: Cloud) -> Iterator[Jobs]:
    with sdk_client(cloud.lab.modelarts, cloud.account) as client:
        yield Jobs(None, client)


def body_of(name: str, parameters: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    """A job of the script in `code/<name>`, with outputs and logs of its own."""
    body = job_body(
        name,
        algorithm__code_dir=f"/{BUCKET}/code/{name}/",
        algorithm__boot_file=f"/{BUCKET}/code/{name}/train.py",
        algorithm__engine=PYTORCH,
        algorithm__outputs=[channel("train_url", f"out/{name}/")],
        algorithm__parameters=[{"name": key, "value": value} for key, value in (parameters or {}).items()],
        spec__log_export_path={"obs_url": f"obs://{BUCKET}/log/{name}/"},
    )
    for path, value in changes.items():
        part, key = path.split("__")
        body[part][key] = value
    return body


def completed(jobs: Jobs, cloud: Cloud, job: dict[str, Any]) -> dict[str, str]:
    """The logs of the workers, after a look at what every job that went well has: exit codes, and logs kept whole."""
    job_id, name, tasks = job["metadata"]["id"], job["metadata"]["name"], job["status"]["tasks"]
    logs = {task: jobs.log(job_id, task) for task in tasks}
    assert job["status"]["phase"] == "Completed", logs
    assert "task_statuses" not in job["status"]
    cards = job["spec"]["resource"]["flavor_detail"]["flavor_info"].get("npu", {"unit_num": "1"})["unit_num"]
    ended = [event["message"] for event in jobs.events(job_id, pattern="exit code", limit=100)]
    wanted = [f"[{task}] training process ended with exit code 0" for task in tasks for _ in range(int(cards))]
    assert sorted(ended) == sorted(wanted)
    kept = cloud.kept(f"log/{name}/")
    assert {key: log for key, log in kept.items() if key.endswith(".log")} == {
        f"modelarts-job-{job_id}-{task}.log": log.encode() for task, log in logs.items()
    }
    return logs


def test_one_worker(jobs: Jobs, cloud: Cloud) -> None:
    data = [channel("data_url", "data/")]
    job = jobs.run(body_of("single", {"epochs": "2", "hidden": "8"}, algorithm__inputs=data))
    assert "epoch 2/2 test_loss" in completed(jobs, cloud, job)["worker-0"]
    outputs = cloud.kept("out/single/")
    assert set(outputs) == {"ckpt/epoch-001.json", "ckpt/epoch-002.json", "metrics.json", "model.json"}
    assert [epoch["epoch"] for epoch in json.loads(outputs["metrics.json"])["epochs"]] == [1, 2]


def test_three_nodes(jobs: Jobs, cloud: Cloud) -> None:
    """The sample saves checkpoints under the same names on every node, so nodes that shared a folder would race."""
    data = [channel("data_url", "data/")]
    body = body_of("nodes", {"epochs": "2", "hidden": "4"}, algorithm__inputs=data, spec__resource=NODES)
    job = jobs.ended(jobs.create(body)["metadata"]["id"], 60)
    logs = completed(jobs, cloud, job)
    assert list(logs) == ["worker-0", "worker-1", "worker-2"]
    assert all("epoch 2/2 test_loss" in log and "resumed" not in log for log in logs.values())
    outputs = cloud.kept("out/nodes/")
    assert {"ckpt/epoch-002.json", "model.json"} <= set(outputs)
    assert all(json.loads(content) for content in outputs.values())


def test_eight_cards(jobs: Jobs, cloud: Cloud) -> None:
    body = body_of(
        "cards",
        {"epochs": "3"},
        algorithm__engine=ASCEND,
        algorithm__inputs=[channel("data_url", "rows/")],
        spec__resource={"flavor_id": "modelarts.kat1.8xlarge.public", "node_count": 1},
    )
    job = jobs.ended(jobs.create(body)["metadata"]["id"], 60)
    job_id = job["metadata"]["id"]
    log = completed(jobs, cloud, job)["worker-0"]
    for rank in range(8):
        assert f"epoch 2 rank {rank} total {sum(range(100))}" in log
    outputs = cloud.kept("out/cards/")
    assert sum(int(content) for content in outputs.values()) == sum(range(100))
    logs = cloud.kept("log/cards/")
    assert set(logs) == {f"modelarts-job-{job_id}-worker-0.log"} | {
        f"modelarts-job-{job_id}-proc-rank-{rank}-device-{rank}.txt" for rank in range(8)
    }
    total = sum(range(100))
    lines = "".join(f"epoch {epoch} rank 5 total {total}\n" for epoch in range(3))
    assert logs[f"modelarts-job-{job_id}-proc-rank-5-device-5.txt"].decode() == lines


@needs_containers
@pytest.mark.parametrize("name", ["old", "old-urls"])
def test_old_style_copying(jobs: Jobs, cloud: Cloud, name: str) -> None:
    """The same script gets folders, as from the service of today, or addresses, as from that of its time."""
    cloud.settings("obs_urls = true\n" if name == "old-urls" else "")
    result = f"s3://{BUCKET}/result/{name}"
    body = body_of(
        name,
        {"pretrained": f"obs://{BUCKET}/weights/pretrained.pth", "result_url": result},
        algorithm__inputs=[channel("data_url", "pictures/")],
        algorithm__engine=ASCEND,
        spec__resource={"flavor_id": "modelarts.kat1.xlarge.public", "node_count": 1},
    )
    job_id = jobs.create(body)["metadata"]["id"]
    cloud.settings()
    log = completed(jobs, cloud, jobs.ended(job_id))["worker-0"]
    assert "DATA ['cat', 'dog.jpg'] 7" in log
    kept = cloud.kept(f"result/{name}/")
    assert kept == {"": b"", "ckpt/model.ckpt": b"trained", "notes.txt": b"ckpt"}
    assert cloud.kept(f"out/{name}/") == {"ckpt/model.ckpt": b"trained"}


def test_packages(jobs: Jobs, cloud: Cloud) -> None:
    log = completed(jobs, cloud, jobs.run(body_of("packages")))["worker-0"]
    assert cloud.kept("out/packages/") == {"version.txt": b"1.5"}
    assert "TINY 1.5" in log.splitlines()
    assert "Successfully installed tiny-pack-1.5" in log


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="forks and signals")
def test_forked_children_that_ignore_a_request_to_end(jobs: Jobs, cloud: Cloud) -> None:
    job_id = jobs.create(body_of("stubborn"))["metadata"]["id"]
    wait_for(lambda: jobs.log(job_id).count(" pid ") == 4)
    processes = processes_of(job_id)
    assert len(processes) >= 4
    assert jobs.stop(job_id)["status"]["phase"] == "Terminating"
    job = jobs.ended(job_id)
    assert job["status"]["phase"] == "Terminated"
    assert are_gone(processes)
    assert cloud.kept("out/stubborn/") == {"begun.txt": b"begun"}
    # It was stopped, so there is no exit code; its log is kept all the same.
    assert "task_statuses" not in job["status"]
    assert "stopped by the user" in jobs.messages(job_id)
    assert cloud.kept("log/stubborn/") == {f"modelarts-job-{job_id}-worker-0.log": jobs.log(job_id).encode()}
