"""Training jobs through the real SDK against a real Lab."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import stat
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import Answer, Cut, FaultyProxy, Reset, Stall
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import PATIENT_S
from support.work_bench import spec as bench_spec
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.errors import (
    AccessRefused,
    AnswerLost,
    AppError,
    Conflict,
    InvalidInput,
    NotFound,
    ServiceTrouble,
    Throttled,
    Unreachable,
)
from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text
from traindeck.services.accounts.connections import Connection
from traindeck.services.http import bounds
from traindeck.services.jobs.modelarts import job_search
from traindeck.services.jobs.modelarts.adapter import find_project
from traindeck.services.jobs.modelarts.documents import engine_of, flavor_of, remote_job

SCRIPT = """
import argparse, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
parser.add_argument("--seconds", type=float)
given, _ = parser.parse_known_args()
print("hello 你好 from the job", flush=True)
time.sleep(given.seconds)
"""

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def name() -> str:
    return f"job-{secrets.token_hex(4)}"


def spec(bucket: str, seconds: float = 0.0, **fields: Any) -> JobSpec:
    places: dict[str, object] = {
        "outputs": (Channel("train_url", f"obs://{bucket}/out/{{run}}/"),),
        "log_to": f"obs://{bucket}/log/{{run}}/",
        "parameters": (("seconds", seconds),),
    }
    return bench_spec(**dict[str, Any](places | fields))


async def code_in(way: Way, name: str) -> ObjectPath:
    folder = ObjectPath(f"b-{name}", "code/")
    with way.storage() as storage:
        await storage.create_bucket(folder.bucket)
    await way.put(SCRIPT.encode(), folder.join("train.py"))
    return folder


async def test_a_job_runs_and_its_log_comes_back(way: Way, name: str) -> None:
    code = await code_in(way, name)
    with way.training() as training:
        created = await training.create(name, spec(code.bucket), code)
        assert created.name == name
        assert not created.state.is_over
        seen: list[str] = []

        async def over() -> bool:
            job = await training.show(created.id)
            assert job is not None
            if job.phase not in seen:
                seen.append(job.phase)
            return job.state.is_over

        while not await over():
            pass
        assert seen[-1] == RunState.COMPLETED
        found = await training.find_by_name(name)
        assert found is not None and found.id == created.id and found.started and found.duration_ms is not None
        assert found.tasks == ("worker-0",)
        log = await training.log_tail(created.id, "worker-0")
        assert log is not None
        assert "hello 你好 from the job" in log.data.decode()
        assert log.full_size == log.shown_size == len(log.data)
        assert await training.log_part(created.id, "worker-0", 0, 1 << 20) == log.data
        assert await training.log_part(created.id, "worker-0", 5, 10) == log.data[5:15]
        assert await training.log_part(created.id, "worker-0", log.full_size, 10) == b""
        await training.stop(created.id)  # over already: nothing to do
        await training.delete(created.id)
        await training.delete(created.id)
        await training.stop(created.id)
        assert await training.show(created.id) is None
        assert await training.find_by_name(name) is None
        with pytest.raises(NotFound, match="no longer has"):
            await training.log_tail(created.id, "worker-0")


async def test_a_running_job_can_be_stopped(way: Way, name: str) -> None:
    code = await code_in(way, name)
    with way.training() as training:
        job = await training.create(name, spec(code.bucket, seconds=60), code)
        await training.stop(job.id)
        await training.stop(job.id)
        states = set()
        while not (shown := await training.show(job.id)) or not shown.state.is_over:
            states.add(shown and shown.phase)
        assert shown.state is RunState.TERMINATED


async def test_a_name_is_found_exactly_and_a_second_job_of_it_is_a_conflict(way: Way, name: str) -> None:
    code = await code_in(way, name)
    with way.training() as training:
        longer = await training.create(name + "-x", spec(code.bucket), code)
        assert await training.find_by_name(name) is None
        job = await training.create(name, spec(code.bucket), code)
        assert (await training.find_by_name(name)) is not None
        with pytest.raises(Conflict, match="already exists"):
            await training.create(name, spec(code.bucket), code)
        for each in (longer, job):
            await training.stop(each.id)


async def test_a_name_is_found_on_a_later_page(way: Way, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_search, "PAGE_JOBS", 2)
    code = await code_in(way, name)
    with way.training() as training:
        jobs = [await training.create(name + end, spec(code.bucket), code) for end in ("", "-1", "-2", "-3", "-4")]
        found = await training.find_by_name(name)
        assert found is not None and found.id == jobs[0].id
        for job in jobs:
            await training.stop(job.id)


async def test_engines_and_flavors_are_those_of_the_lab(way: Way) -> None:
    with way.training() as training:
        engines = await training.engines()
        flavors = {flavor.id: flavor for flavor in await training.flavors()}
    assert any(engine.arch == "aarch64" and "cann" in engine.version for engine in engines)
    eight = flavors["modelarts.kat1.8xlarge.public"]
    assert (eight.kind, eight.cores, eight.max_nodes) == ("Ascend", 192, 16)
    assert eight.accelerator.startswith("8 × ")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"boot": "missing.py"}, "boot file"),
        ({"engine_version": "pytorch_0.1"}, "engine"),
        ({"flavor": "modelarts.none"}, "specification"),
        ({"nodes": 99}, "nodes"),
    ],
)
async def test_what_the_service_does_not_accept_is_named(
    way: Way, name: str, fields: dict[str, Any], words: str
) -> None:
    code = await code_in(way, name)
    with way.training() as training:
        with pytest.raises(InvalidInput, match=words):
            await training.create(name, spec(code.bucket, **fields), code)
        assert await training.find_by_name(name) is None


# -- the request that must not be sent twice --------------------------------------


@pytest.mark.parametrize("fault", [Reset(served=True), Cut(10), Answer(200, b"<html>"), Answer(502), Answer(500)])
async def test_a_lost_answer_to_a_create_is_told_as_such(
    way: Way, lab: LabProcess, name: str, fault: Reset | Cut | Answer
) -> None:
    code = await code_in(way, name)
    async with FaultyProxy(lab.modelarts, way.resign) as proxy:
        proxy.faults.append(fault)
        with way.at(modelarts_endpoint=proxy.url).training() as training:
            with pytest.raises(AnswerLost, match="not known whether"):
                await training.create(name, spec(code.bucket), code)
            assert len(proxy.seen) == 1, "never submits twice"
            job = await training.find_by_name(name)
            arrived = not isinstance(fault, Answer)
            assert (job is not None) == arrived
            if job:
                await training.stop(job.id)


async def test_a_slow_answer_to_a_create_is_lost_too(
    way: Way, lab: LabProcess, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "SILENCE_S", 0.3)
    code = await code_in(way, name)
    async with FaultyProxy(lab.modelarts, way.resign) as proxy:
        proxy.faults.append(Stall())
        with way.at(modelarts_endpoint=proxy.url).training() as training, pytest.raises(AnswerLost):
            await training.create(name, spec(code.bucket), code)
        assert len(proxy.seen) == 1
    with way.training() as training:
        while (job := await training.find_by_name(name)) is None:  # it was given up before it was made
            await asyncio.sleep(0.05)
        await training.stop(job.id)


async def test_a_create_that_never_left_is_not_lost(way: Way, name: str, unused_port: int) -> None:
    nowhere = way.at(modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
    with nowhere.training() as training, pytest.raises(Unreachable, match="The Lab is not running"):
        await training.create(name, spec("bucket"), ObjectPath("bucket", "code/"))
    nowhere = way.at(modelarts_endpoint="http://modelarts.nowhere.invalid")
    with nowhere.training() as training, pytest.raises(Unreachable, match="cannot be found"):
        await training.create(name, spec("bucket"), ObjectPath("bucket", "code/"))


async def test_a_throttled_create_was_certainly_not_done(way: Way, lab: LabProcess, name: str) -> None:
    throttled = json.dumps({"error_code": "APIGW.0308", "error_msg": "over ratelimit", "request_id": "r"}).encode()
    async with FaultyProxy(lab.modelarts, way.resign) as proxy:
        proxy.faults.append(Answer(429, throttled, {"Content-Type": "application/json", "Retry-After": "7"}))
        with way.at(modelarts_endpoint=proxy.url).training() as training, pytest.raises(Throttled) as caught:
            await training.create(name, spec("bucket"), ObjectPath("bucket", "code/"))
    assert caught.value.retry_after_s == 7
    assert len(proxy.seen) == 1


# -- reading over a bad line ---------------------------------------------------------


@pytest.mark.parametrize(
    "fault", [Reset(), Reset(served=True), Cut(20), Answer(429), Answer(500), Answer(502, b"<html>"), Answer(503)]
)
async def test_reads_are_tried_again(way: Way, lab: LabProcess, fault: Reset | Cut | Answer) -> None:
    async with FaultyProxy(lab.modelarts, way.resign) as proxy:
        proxy.faults.extend([fault, fault])
        with way.at(modelarts_endpoint=proxy.url).training() as training:
            assert await training.engines()
    assert len(proxy.seen) == 3


@pytest.mark.parametrize(
    "page",
    [
        Answer(200, b"<html>Please sign in</html>", {"Content-Type": "text/html"}),
        Answer(302, b"", {"Location": "http://127.0.0.1:9/"}),
        Answer(200, b"[]", {"Content-Type": "application/json"}),
        Answer(200, b'{"items": null}', {"Content-Type": "application/json"}),
    ],
)
async def test_a_page_of_the_network_is_not_an_empty_list(way: Way, lab: LabProcess, page: Answer) -> None:
    async with FaultyProxy(lab.modelarts) as proxy:
        proxy.faults.extend([page] * 9)
        with way.at(modelarts_endpoint=proxy.url).training() as training:
            with pytest.raises(ServiceTrouble, match=r"cannot be read|web page|redirects"):
                await training.engines()
            with pytest.raises(ServiceTrouble, match=r"cannot be read|web page|redirects"):
                await training.find_by_name("x")


async def test_only_the_service_itself_can_say_that_a_job_is_gone(way: Way, lab: LabProcess) -> None:
    async with FaultyProxy(lab.modelarts) as proxy:
        with way.at(modelarts_endpoint=proxy.url).training() as training:
            for page in (
                Answer(404, b"<html>no such page</html>", {"Content-Type": "text/html"}),
                Answer(404, b'{"error_code": "APIGW.0101", "error_msg": "no such API"}'),
                Answer(404, b'{"error_code": "ModelArts.2786", "error_msg": "project"}'),
            ):
                proxy.faults.extend([page] * 4)
                with pytest.raises(AppError):
                    await training.show("0")
                proxy.faults.clear()
            proxy.faults.append(Answer(404, b'{"error_code": "ModelArts.0404", "error_msg": "no such job"}'))
            assert await training.show("0") is None
            proxy.faults.append(Answer(400, b'{"error_code": "ModelArts.2775", "error_msg": "no such job"}'))
            assert await training.show("0") is None


@pytest.mark.parametrize(
    ("content", "data", "full_size"),
    [
        (b'{"content": "a\x1b[31m\tb", "full_size": 7}', b"a\x1b[31m\tb", 7),
        (b'{"context": "old", "full_size": "3"}', b"old", 3),
        (b'{"content": "\\ud800x"}', b"?x", 2),
        (b'{"content": "", "full_size": null}', b"", 0),
        ('{"content": "中", "full_size": 9000000}'.encode(), "中".encode(), 9_000_000),
    ],
)
async def test_odd_logs_are_read(way: Way, lab: LabProcess, content: bytes, data: bytes, full_size: int) -> None:
    async with FaultyProxy(lab.modelarts) as proxy:
        proxy.faults.append(Answer(200, content, {"Content-Type": "application/json"}))
        with way.at(modelarts_endpoint=proxy.url).training() as training:
            chunk = await training.log_tail("0", "worker-0")
    assert chunk is not None
    assert (chunk.data, chunk.full_size) == (data, full_size)


@pytest.mark.parametrize(
    "answer", [Answer(204), Answer(400, b'{"error_code": "ModelArts.2818", "error_msg": "not generated"}')]
)
async def test_no_log_yet_is_no_error(way: Way, lab: LabProcess, answer: Answer) -> None:
    async with FaultyProxy(lab.modelarts) as proxy:
        proxy.faults.append(answer)
        with way.at(modelarts_endpoint=proxy.url).training() as training:
            assert await training.log_tail("0", "worker-0") is None


# -- refusals ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "message", "kind", "words"),
    [
        (401, "APIGW.0301", "ak AKX not exist", AccessRefused, "does not exist at"),
        (401, "APIGW.0301", "verify aksk signature fail", AccessRefused, "secret key"),
        (401, "APIGW.0301", "signature expired, signature time:1,server time:2", AccessRefused, "clock"),
        (403, "APIGW.0302", "x", AccessRefused, "permission"),
        (403, "ModelArts.2785", "x", AccessRefused, "not authorized"),
        (404, "ModelArts.2786", "x", AccessRefused, "project"),
        (400, "ModelArts.2837", "x", AccessRefused, "overdue"),
        (400, "ModelArts.2758", "x", InvalidInput, "boot file"),
        (400, "ModelArts.2761", "x", InvalidInput, "too large"),
        (400, "ModelArts.2840", "x", InvalidInput, "specification"),
        (400, "ModelArts.2767", "parameter lr", InvalidInput, "parameter lr"),
        (400, "ModelArts.2815", "x", Conflict, "quota"),
        (400, "ModelArts.4992", "x", ServiceTrouble, "sold out"),
        (400, "ModelArts.9999", "their words", AppError, "their words"),
    ],
)
async def test_refusals_are_in_our_words(
    way: Way, lab: LabProcess, status: int, code: str, message: str, kind: type[AppError], words: str
) -> None:
    body = json.dumps({"error_code": code, "error_msg": message}).encode()
    async with FaultyProxy(lab.modelarts) as proxy:
        proxy.faults.append(Answer(status, body, {"Content-Type": "application/json", "X-Request-Id": "REQ1"}))
        with way.at(modelarts_endpoint=proxy.url).training() as training, pytest.raises(kind, match=words) as caught:
            await training.create("x", spec("bucket"), ObjectPath("bucket", "code/"))
    assert "REQ1" in caught.value.detail
    assert not isinstance(caught.value, AnswerLost)


async def test_nothing_a_gateway_echoes_gets_out(
    way: Way, lab: LabProcess, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    keys = Credentials("AKMARKED000000000001", Secret("SK-MARKED-SECRET"), Secret("TOKEN-MARKED"))
    echo = (
        "verify aksk signature fail: GET|/v2/|x-security-token:TOKEN-MARKED|"
        "Authorization: SDK-HMAC-SHA256 Access=AKMARKED000000000001, Signature=5167MARKED SK-MARKED-SECRET"
    )
    body = json.dumps({"error_code": "APIGW.0301", "error_msg": echo}).encode()
    async with FaultyProxy(lab.modelarts) as proxy:
        proxy.faults.append(Answer(401, body, {"Content-Type": "application/json"}))
        marked = way.at(credentials=keys, modelarts_endpoint=proxy.url)
        with marked.training() as training, pytest.raises(AccessRefused) as caught:
            await training.engines()
    error = caught.value
    shown = [error.sentence(), error.detail, repr(error), *traceback.format_exception(error), caplog.text]
    shown += list(capfd.readouterr())
    for secret in ("AKMARKED000000000001", "SK-MARKED-SECRET", "TOKEN-MARKED", "5167MARKED"):
        assert not any(secret in text for text in shown), secret


async def test_the_sdk_does_not_print_its_troubles(
    way: Way, unused_port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    nowhere = way.at(modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
    with nowhere.training() as training, pytest.raises(Unreachable):
        await training.engines()
    assert capfd.readouterr() == ("", "")


async def test_proxies_and_netrc_of_the_user_do_not_touch_the_lab(
    way: Way, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unused_port: int
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_port}")
    (tmp_path / "user" / ".netrc").write_text("default login a password b\n")
    (tmp_path / "user" / ".netrc").chmod(stat.S_IRUSR | stat.S_IWUSR)
    with way.training() as training:
        assert await training.engines()


# -- the project ----------------------------------------------------------------------------


async def test_the_project_is_found_by_the_region(way: Way, lab: LabProcess) -> None:
    assert await find_project(way.profile, way.credentials, way.calls) == lab.project_id
    with pytest.raises(AccessRefused, match="no project in the region cn-east-9"):
        await find_project(way.at(region="cn-east-9").profile, way.credentials, way.calls)
    wrong = Credentials(way.credentials.access_key, Secret("wrong"))
    with pytest.raises(AccessRefused, match="secret key"):
        await find_project(way.profile, wrong, way.calls)


async def test_a_connection_finds_its_project_when_it_needs_one(way: Way, unused_port: int) -> None:
    without = way.at(project_id="")
    connection = Connection(without.profile, without.credentials, without.calls)
    assert await connection.training.engines()
    assert await connection.training.flavors()
    connection.close()
    nowhere = without.at(iam_endpoint=f"http://127.0.0.1:{unused_port}")
    connection = Connection(nowhere.profile, nowhere.credentials, nowhere.calls)
    assert isinstance(await connection.storage.buckets(), list)
    # A request that never left is not one whose answer was lost.
    with pytest.raises(Unreachable):
        await connection.training.create("x", spec("bench"), ObjectPath("bench", "code/"))
    connection.close()


async def test_storage_of_somebody_else_is_not_asked_about_jobs_elsewhere(way: Way) -> None:
    alone = way.at(project_id="", modelarts_endpoint="", iam_endpoint="")
    connection = Connection(alone.profile, alone.credentials, alone.calls)
    with pytest.raises(InvalidInput, match="storage only"):
        await connection.training.engines()
    connection.close()


@pytest.mark.skipif(sys.platform == "win32", reason="a folder is not made read-only by its mode there")
def test_a_home_that_cannot_be_written_is_no_obstacle(lab: LabProcess, tmp_path: Path) -> None:
    """The SDK keeps an id of the installation in the home folder."""
    home = tmp_path / "file"
    home.write_text("a file is no folder, not even for root")
    script = (
        "import asyncio, os\n"
        "from traindeck.domain.accounts.keys import Credentials, Secret\n"
        "from traindeck.runtime.blocking import BlockingCalls\n"
        "from traindeck.services.jobs.modelarts.adapter import find_project\n"
        "calls = BlockingCalls(1, 'sdk')\n"
        "keys = Credentials(os.environ['AK'], Secret(os.environ['SK']))\n"
        "from traindeck.domain.accounts.profiles import Profile, Provider\n"
        f"profile = Profile('p', Provider.MODELARTS, {lab.region!r}, iam_endpoint={lab.iam!r})\n"
        "print(asyncio.run(find_project(profile, keys, calls)))\n"
        "calls.close()\n"
    )
    environment = {**os.environ, "HOME": str(home), "AK": lab.access_key, "SK": lab.secret_key}
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENT_S,
        check=False,
    )
    assert (answer.stdout.strip(), answer.stderr) == (lab.project_id, "")


@pytest.mark.parametrize("kind", ["nobody there", "refused"])
def test_the_link_to_a_log_is_in_no_error(lab: LabProcess, unused_port: int, kind: str) -> None:
    from traindeck.services.jobs.modelarts.log_link import fetched

    host = f"http://127.0.0.1:{unused_port}" if kind == "nobody there" else lab.obs
    link = f"{host}/bucket/key?AccessKeyId=SOMEBODY&Expires=1&Signature=c2lnbmVk"
    with pytest.raises(ServiceTrouble) as caught:
        fetched(link, 0, 10, "")
    told = "".join(traceback.format_exception(caught.value)) + caught.value.detail
    assert "SOMEBODY" not in told and "c2lnbmVk" not in told


ODD = [None, 7, "x", [], {}, [1], {"a": 1}, 1e999, "9" * 400, -1, True]


@pytest.mark.parametrize("odd", ODD, ids=lambda value: repr(value)[:20])
def test_a_document_of_odd_values_is_read_as_far_as_it_makes_sense(odd: object) -> None:
    names = ("phase", "start_time", "duration", "tasks", "task_statuses")
    job = remote_job({"metadata": {"id": odd, "name": odd, "create_time": odd}, "status": dict.fromkeys(names, odd)})
    assert isinstance(job.tasks, tuple) and isinstance(job.exit_message, str | Text)
    assert remote_job({"metadata": odd, "status": odd}).id == ""
    flavor = flavor_of({"flavor_id": odd, "flavor_info": {"cpu": odd, "memory": odd, "npu": odd, "max_num": odd}})
    assert flavor.max_nodes is not None
    assert isinstance(engine_of({"engine_version": odd, "engine_name": odd}).version, str)
