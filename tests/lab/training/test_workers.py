"""Several workers and cards: what each has for itself, what they share, and how one ends all."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from huaweicloudsdkmodelarts.v1 import model as sdk

from support.lab_app import (
    BUCKET,
    FAST,
    Jobs,
    channel,
    job_body,
    jobs_in,
    needs_containers,
    wait_for,
)
from support.waiting import PATIENT_S
from traindeck.lab.training.running.containers import Box, Containers, Means
from traindeck.lab.training.running.worker_places import WorkerPlaces

NODES = {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 3}
CARDS: dict[str, Any] = {
    "algorithm__engine": {"engine_name": "Ascend-Powered-Engine", "engine_version": "TF-1.15-python3.7-aarch64"},
    "spec__resource": {"flavor_id": "modelarts.kat1.8xlarge.public"},
}

# Every worker writes where the others would see it if they shared anything, and meets them by their names.
MEETING = """
import json, os, pathlib, socket, sys, time
data, out = (pathlib.Path(text.partition('=')[2]) for text in sys.argv[1:3])
index = int(os.environ['VC_TASK_INDEX']); hosts = os.environ['VC_WORKER_HOSTS'].split(',')
here = pathlib.Path(__file__).parent
for folder in (data, out, here):
    assert not (folder / 'mark').exists(), folder
    (folder / 'mark').write_text(str(index))
assert (data / 'x').read_text() == 'x'
server = socket.create_server((hosts[index], 46060))
for host in hosts:
    while True:
        try:
            socket.create_connection((host, 46060), 5).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
deadline = time.monotonic() + 100
for host in hosts:
    server.settimeout(max(0.1, deadline - time.monotonic()))
    server.accept()[0].close()
time.sleep(0.2)
assert (out / 'mark').read_text() == str(index)
(out / ('own-%d' % index)).write_text(str(index))
# One after the other, each told by the one before that it has written.
if index:
    server.accept()[0].close()
(out / 'common').write_text(str(index))
if index + 1 < len(hosts):
    socket.create_connection((hosts[index + 1], 46060), 60).close()
print('MET', index, len(set(hosts)), os.environ['MA_NUM_HOSTS'], os.environ['MA_CURRENT_INSTANCE_NAME'])
"""


@pytest.mark.parametrize("is_mapped", [pytest.param(True, marks=needs_containers), False])
def test_three_workers_meet_and_share_nothing_but_the_output_place(jobs: Jobs, is_mapped: bool) -> None:
    (jobs.lab.root / "lab.toml").write_text(f"container_paths = {str(is_mapped).lower()}\n", encoding="utf-8")
    jobs.script(MEETING)
    jobs.lab.put("data/x", "x")
    body = job_body(
        spec__resource=NODES,
        spec__log_export_path={"obs_url": f"/{BUCKET}/logs/"},
        algorithm__inputs=[channel("data_url", "data/")],
        algorithm__outputs=[channel("train_url", "out/")],
    )
    job = jobs.run(body)
    job_id = job["metadata"]["id"]
    logs = [jobs.log(job_id, f"worker-{index}") for index in range(3)]
    assert job["status"]["phase"] == "Completed", logs
    for index, log in enumerate(logs):
        (line,) = (line for line in log.splitlines() if line.startswith("MET"))
        hosts = 1 if sys.platform == "darwin" else 3
        assert line == f"MET {index} {hosts} 3 modelarts-job-{job_id}-worker-{index}"
    tasks = jobs.client.list_training_job_tasks(sdk.ListTrainingJobTasksRequest(training_job_id=job_id)).body
    assert len({task.ip for task in tasks}) == hosts
    assert sorted(jobs.lab.keys("out/")) == ["out/common", "out/mark", "out/own-0", "out/own-1", "out/own-2"]
    assert jobs.lab.get("out/common") == b"2"
    names = [f"logs/modelarts-job-{job_id}-worker-{index}.log" for index in range(3)]
    assert jobs.lab.keys("logs/") == names
    assert [event for event in jobs.events(job_id, pattern="[worker-2]") if "Downloading the code" in event["message"]]


def test_one_failing_worker_ends_all(jobs: Jobs) -> None:
    jobs.script(
        "import os, sys, time\n"
        "index = os.environ['VC_TASK_INDEX']\n"
        "print('I am', index)\n"
        "sys.exit(5) if index == '1' else time.sleep(60)"
    )
    job = jobs.run(job_body(spec__resource=NODES))
    job_id = job["metadata"]["id"]
    assert job["status"]["tasks"] == ["worker-0", "worker-1", "worker-2"]
    assert job["status"]["phase"] == "Failed"
    (status,) = job["status"]["task_statuses"]
    assert (status["task"], status["exit_code"]) == ("worker-1", 5)
    assert "I am 1" in jobs.log(job_id, "worker-1")
    assert "I am 1" not in jobs.log(job_id, "worker-0")


def test_eight_cards_are_eight_processes_with_a_log_each_and_one_of_all(jobs: Jobs) -> None:
    jobs.script(
        "import json, os\n"
        "table = json.load(open(os.environ['RANK_TABLE_FILE']))\n"
        "rank, size = os.environ['RANK_ID'], os.environ['RANK_SIZE']\n"
        "mine = [d for d in table['server_list'][0]['device'] if d['rank_id'] == rank]\n"
        "print('card', os.environ['DEVICE_ID'], 'of', size, len(mine), os.path.basename(os.getcwd()))\n"
        "print('no line end', end='')"
    )
    job = jobs.run(job_body(**CARDS, spec__log_export_path={"obs_url": f"/{BUCKET}/logs/"}))
    job_id = job["metadata"]["id"]
    lines = jobs.log(job_id).splitlines()
    expected = [f"card {card} of 8 1 device{card}" for card in range(8)]
    assert sorted(line[line.find("card") :] for line in lines if "card" in line) == expected
    cards = [f"logs/modelarts-job-{job_id}-proc-rank-{card}-device-{card}.txt" for card in range(8)]
    assert jobs.lab.keys("logs/") == [*cards, f"logs/modelarts-job-{job_id}-worker-0.log"]
    assert jobs.lab.get(cards[3]) == f"{expected[3]}\nno line end".encode()


def test_one_failing_card_ends_all(jobs: Jobs) -> None:
    jobs.script("import os, sys, time; sys.exit(7) if os.environ['DEVICE_ID'] == '6' else time.sleep(60)")
    job = jobs.run(job_body(**CARDS))
    assert job["status"]["task_statuses"][0]["exit_code"] == 7
    assert job["status"]["duration"] < 20_000


@pytest.mark.skipif(sys.platform == "win32", reason="a log is cut on POSIX only")
@pytest.mark.parametrize("kind", ["worker", "cards"])
def test_a_log_beyond_its_limit_is_cut_and_the_job_goes_on(tmp_path: Path, kind: str) -> None:
    timing = FAST.__class__(**{**vars(FAST), "max_log_bytes": 50_000})
    with jobs_in(tmp_path / "root", timing) as jobs:
        jobs.script(
            "import pathlib, sys, time\n"
            "for n in range(2000): print('x' * 99)\n"
            "time.sleep(0.3)\n"
            "for n in range(2000): print('y' * 99)\n"
            "pathlib.Path(sys.argv[1].partition('=')[2], 'done').write_text('done')"
        )
        more = CARDS if kind == "cards" else {}
        body = job_body(
            algorithm__outputs=[channel("t", "out/")],
            spec__log_export_path={"obs_url": f"/{BUCKET}/logs/"},
        )
        for path, value in more.items():
            part, name = path.split("__")
            body[part][name] = value
        job = jobs.run(body)
        job_id = job["metadata"]["id"]
        assert job["status"]["phase"] == "Completed"
        assert jobs.lab.get("out/done") == b"done"
        preview = jobs.preview(job_id)
        assert 37_500 < preview["full_size"] <= 50_000
        assert "y" * 99 not in preview["content"]
        # The last lines of the platform follow a mark.
        assert preview["content"].splitlines()[-1].endswith("the job ends as Completed: job is completed")
        *_, last_words = preview["content"].partition("the log reached its limit")
        assert last_words.count("training ended with exit code 0") == (8 if kind == "cards" else 1)
        exported = jobs.lab.get(f"logs/modelarts-job-{job_id}-worker-0.log")
        assert exported is not None
        assert exported.decode("utf-8") == preview["content"]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="a log is cut on POSIX only")
def test_a_log_ends_at_a_gibibyte(tmp_path: Path) -> None:
    """The real limit, with the real pace of uploads; the short version is above."""
    with jobs_in(tmp_path / "root", None) as jobs:
        jobs.script("line = 'x' * 1023\nfor _ in range(1024 * 1024 + 5000): print(line)\nprint('behind the limit')")
        job_id = jobs.create(job_body(spec__log_export_path={"obs_url": f"/{BUCKET}/logs/"}))["metadata"]["id"]
        assert jobs.ended(job_id, 240)["status"]["phase"] == "Completed"
        preview = jobs.preview(job_id)
        assert 1024**3 - 65536 < preview["full_size"] <= 1024**3
        assert "behind the limit" not in preview["content"]
        assert "the log reached its limit" in preview["content"]
        assert "the job ends as Completed" in preview["content"]
        info = jobs.lab.objects.info(BUCKET, f"logs/modelarts-job-{job_id}-worker-0.log")
        assert info is not None
        assert info.size == preview["full_size"]


def small_flavor(root: Path, memory_gb: float, cores: int = 1) -> Path:
    from traindeck.runtime.resources import resource

    text = resource("lab", "catalogue.toml").read_text(encoding="utf-8")
    row = (
        '\n[[flavors]]\nid = "small"\nname = "small"\ntype = "CPU"\nmax_num = 4\nbilling = "small"\n'
        f'cpu = {{ arch = "x86", core_num = {cores} }}\nmemory_gb = {memory_gb}\n'
    )
    path = root / "catalogue.toml"
    path.write_text(text + row, encoding="utf-8")
    return path


def test_a_job_is_kept_to_the_memory_and_the_processors_of_its_flavor(tmp_path: Path) -> None:
    with jobs_in(tmp_path / "root", catalogue=small_flavor(tmp_path, 0.1)) as jobs:
        jobs.script(
            "import os, time\n"
            "print('CPUS', len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else 1)\n"
            "rows = []\n"
            "while True: rows.append(bytearray(10_000_000)); time.sleep(0.02)"
        )
        job = jobs.run(job_body(spec__resource={"flavor_id": "small"}))
        job_id = job["metadata"]["id"]
        assert job["status"]["phase"] == "Failed", jobs.log(job_id)
        assert job["status"]["task_statuses"][0]["exit_code"] == 137
        assert "more than 0.1 GB of memory" in jobs.messages(job_id, level="Error")
        if hasattr(psutil.Process, "cpu_affinity"):
            assert "CPUS 1" in jobs.log(job_id)
        assert "kept to" in jobs.messages(job_id)


@pytest.mark.skipif(sys.platform != "linux", reason="the fence is Linux's")
def test_what_runs_away_at_once_meets_the_fence(tmp_path: Path) -> None:
    with jobs_in(tmp_path / "root", catalogue=small_flavor(tmp_path, 0.25)) as jobs:
        jobs.script("bytearray(4_000_000_000)")
        job = jobs.run(job_body(spec__resource={"flavor_id": "small"}))
        assert "MemoryError" in jobs.log(job["metadata"]["id"])


@needs_containers
@pytest.mark.parametrize("tool", ["unshare", "bwrap"])
@pytest.mark.parametrize("own_processes", [True, False])
def test_either_tool_makes_the_same_container(tmp_path: Path, tool: str, own_processes: bool) -> None:
    found = tool if tool == "unshare" else shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed")
    places = WorkerPlaces(tmp_path / "worker", is_mapped=True)
    places.make_own()
    python = Path(getattr(sys, "_base_executable", "") or sys.executable)
    containers = Containers(tmp_path)
    variables = {"ONLY": "this", "PATH": os.environ["PATH"]}
    box = Box(places, "worker-7", {"hosts": "127.9.9.9 worker-7\n"}, "/cache", containers.layers(python), variables)
    ask = (
        "import os, pathlib, socket, sys; pathlib.Path('made').touch()\n"
        "def closed(path):\n"
        "    try: os.mkdir(path + '/new')\n"
        "    except OSError: return True\n"
        "print(socket.gethostname(), socket.gethostbyname('worker-7'), os.getcwd(), os.path.isdir('/usr'),\n"
        "      os.path.isdir(sys.argv[1]), sorted(os.listdir('/home/ma-user')), os.getuid(), os.environ['ONLY'],\n"
        "      'HOME' in os.environ, all(map(closed, ['', '/usr', '/etc', '/home', '/dev'])), os.getpid() < 10,\n"
        "      sys.stdin.read() == '', os.path.exists('/dev/null'), os.openpty()[0] > 0)\n"
        "sys.exit(7)"
    )
    means = Means(found, own_processes=own_processes)
    command, plan = containers.command(means, python, box, (str(python), "-c", ask, str(tmp_path)))
    run = subprocess.run(command, input=plan, capture_output=True, timeout=PATIENT_S, check=False)
    seen = f"worker-7 127.9.9.9 /cache True False [] {os.getuid()} this False True {own_processes} True True True\n"
    assert run.stdout.decode() == seen, run.stderr
    assert run.returncode == 7
    assert (places.cache / "made").exists()
    assert not Path("/cache/made").exists()
    assert "worker-7" not in Path("/etc/hosts").read_text(encoding="utf-8")


@needs_containers
def test_the_folders_of_the_container_are_there_by_name(jobs: Jobs) -> None:
    jobs.script(
        "import json, os, pathlib, shutil, socket, sys\n"
        "cache = pathlib.Path('/cache'); (cache / 'data').mkdir(); (cache / 'data' / 'x').write_text('x')\n"
        "home = pathlib.Path('/home/ma-user')\n"
        "print('SEEN', json.dumps({'cwd': os.getcwd(), 'data': sorted(os.listdir(sys.argv[1][11:])),\n"
        "  'home': sorted(os.listdir(str(home))), 'host': socket.gethostname(), 'uid': os.getuid(),\n"
        "  'old': json.load(open('/user/config/jobstart_hccl.json'))['status'],\n"
        "  'code': str(pathlib.Path(__file__).parent), 'tmp': os.path.isdir('/tmp')}))\n"
        "pathlib.Path(sys.argv[2][12:], 'x').write_text('x')"
    )
    jobs.lab.put("data/a", "a")
    body = job_body(
        algorithm__inputs=[channel("data_url", "data/")],
        algorithm__outputs=[channel("train_url", "out/")],
        algorithm__local_code_dir="/home/ma-user/my-code",
        algorithm__working_dir="/home/ma-user/work",
    )
    job = jobs.run(body)
    job_id = job["metadata"]["id"]
    log = jobs.log(job_id)
    assert job["status"]["phase"] == "Completed", log
    seen = json.loads(next(line for line in log.splitlines() if line.startswith("SEEN ")).removeprefix("SEEN "))
    assert seen["cwd"] == "/home/ma-user/work"
    assert seen["code"] == "/home/ma-user/my-code"
    assert seen["data"] == ["a"]
    assert seen["host"] == f"modelarts-job-{job_id}-worker-0"
    assert (seen["old"], seen["tmp"]) == ("completed", True)
    assert job["algorithm"]["inputs"][0]["local_dir"] == "/home/ma-user/modelarts/inputs/data_url_0"
    assert jobs.lab.get("out/x") == b"x"
    assert not Path("/cache/data").exists()
    assert "as in the service's containers" in jobs.messages(job_id)
    # Two at once, each with a /cache of its own.
    jobs.script(
        "import os, sys, time; os.mkdir('/cache/mine'); print('made')\n"
        "while not os.path.exists('/home/ma-user/go'): time.sleep(0.02)"
    )
    two = [jobs.create(job_body(name))["metadata"]["id"] for name in ("one", "two")]
    wait_for(lambda: all("made" in jobs.log(job_id) for job_id in two))
    for job_id in two:
        (jobs.places(job_id).home / "go").touch()
    assert [jobs.ended(job_id)["status"]["phase"] for job_id in two] == ["Completed"] * 2
