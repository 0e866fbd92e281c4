"""A Lab of ModelArts and IAM alone, on a thread with its own loop, for the blocking SDK."""

import asyncio
import hashlib
import hmac
import http.client
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import psutil
import pytest
from aiohttp import web
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.exceptions.exceptions import ServiceResponseException
from huaweicloudsdkcore.http.http_config import HttpConfig
from huaweicloudsdkmodelarts.v1 import ModelArtsClient
from huaweicloudsdkmodelarts.v1 import model as sdk

from support.awaited import Awaited
from support.waiting import PATIENT_S
from traindeck.lab.accounts import Accounts, LabAccount
from traindeck.lab.faults import Fault, Faults
from traindeck.lab.gateway import gateway_app
from traindeck.lab.life import Activity
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.training.api import modelarts_api
from traindeck.lab.training.jobs import JobService
from traindeck.lab.training.running.containers import Containers, Means
from traindeck.lab.training.running.job_outcome import Timing
from traindeck.lab.training.running.process_group import ProcessGroup
from traindeck.lab.training.running.process_tree import JOB_VARIABLE, job_mark
from traindeck.lab.training.running.worker_places import WorkerPlaces

BUCKET = "lab-bucket"
ENDED = ("Completed", "Failed", "Terminated", "Abnormal")
FAST = Timing(look_s=0.02, sample_s=0.1, log_upload_s=0.2, output_upload_s=0.2, metrics_s=0.4, grace_s=0.6)


def _means() -> Means:
    with tempfile.TemporaryDirectory() as folder:
        return Containers(Path(folder)).means(Path(getattr(sys, "_base_executable", "") or sys.executable))


needs_containers = pytest.mark.skipif(not _means().tool, reason="an ordinary user has no namespaces here")


class LabApp:
    """The running service with a client of the vendor's SDK."""

    def __init__(self, root: Path, timing: Timing | None, **more: Any) -> None:
        self.root = root
        self.accounts = Accounts(root)
        self.account: LabAccount = self.accounts.first
        self.objects = ObjectStore(root)
        if self.objects.bucket(BUCKET) is None:
            self.objects.create_bucket(BUCKET, self.account.domain_id)
        self.faults = Faults()
        self.service = JobService(root, self.objects, self.accounts, timing=timing, faults=self.faults, **more)
        self.url = ""
        self._up = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="lab-under-test")

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._main())

    async def _main(self) -> None:
        app = gateway_app(self.accounts, Activity(), self.faults)
        modelarts_api.add_routes(app, self.service)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self.service.obs_url = "http://127.0.0.1:9"
        try:
            await self.service.start()
            self._up.set()
            await self._end.wait()
        finally:
            await self.service.stop()
            await runner.cleanup()

    def start(self) -> None:
        self._thread.start()
        assert self._up.wait(PATIENT_S), "the Lab did not start"

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENT_S)
        assert not self._thread.is_alive()
        self.objects.close()

    def rules(self, *faults: Fault, seed: int = 0) -> None:
        """What goes wrong from now on, instead of what went wrong before."""
        self.faults.replace(faults, seed)

    def put(self, key: str, content: str | bytes) -> None:
        self.objects.put(BUCKET, key, content.encode("utf-8") if isinstance(content, str) else content)

    def get(self, key: str) -> bytes | None:
        if self.objects.info(BUCKET, key) is None:
            return None
        _, file = self.objects.open(BUCKET, key)
        with file:
            return bytes(file.read())

    def keys(self, prefix: str) -> list[str]:
        return [info.key for info in self.objects.iterate(BUCKET, prefix)]


@contextmanager
def running_lab(root: Path, timing: Timing | None = FAST, **more: Any) -> Iterator[LabApp]:
    lab = LabApp(root, timing, **more)
    lab.start()
    try:
        yield lab
    finally:
        lab.stop()
    jobs = {folder.name for folder in (root / "jobs").iterdir()}
    assert ProcessGroup.left_of(jobs).folders == ()


@contextmanager
def sdk_client(
    url: str, account: LabAccount, *, project_id: str = "", secret: str = "", retry_times: int = 0
) -> Iterator[ModelArtsClient]:
    credentials = BasicCredentials(account.access_key, secret or account.secret_key, project_id or account.project_id)
    config = HttpConfig(timeout=(5, 20), retry_times=retry_times)
    client = ModelArtsClient.new_builder().with_http_config(config).with_credentials(credentials)
    client = client.with_endpoint(url).build()
    try:
        yield client
    finally:
        http = client.get_http_client()
        client.close()
        http._executor.shutdown()


class Jobs:
    """Jobs of one Lab as the SDK sees them."""

    def __init__(self, lab: LabApp | None, client: ModelArtsClient) -> None:
        self._lab = lab
        self.client = client

    @property
    def lab(self) -> LabApp:
        assert self._lab is not None, "this Lab runs in another process"
        return self._lab

    def places(self, job_id: str, task: str = "worker-0") -> WorkerPlaces:
        """The folders of a worker on this computer, whatever the job calls them."""
        return WorkerPlaces(self.lab.root / "jobs" / job_id / task, is_mapped=False)

    def script(self, text: str, folder: str = "code/job", name: str = "train.py") -> None:
        self.lab.put(f"{folder}/{name}", text)

    def create(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return json_of(self.client.create_training_job(sdk.CreateTrainingJobRequest(body=dict(body))))

    def show(self, job_id: str) -> dict[str, Any]:
        return json_of(self.client.show_training_job_details(sdk.ShowTrainingJobDetailsRequest(training_job_id=job_id)))

    def stop(self, job_id: str, action: str = "terminate") -> dict[str, Any]:
        request = sdk.StopTrainingJobRequest(training_job_id=job_id, body={"action_type": action})
        return json_of(self.client.stop_training_job(request))

    def delete(self, job_id: str) -> int:
        request = sdk.DeleteTrainingJobRequest(training_job_id=job_id)
        return int(self.client.delete_training_job(request).status_code)

    def search(self, **body: Any) -> dict[str, Any]:
        return json_of(self.client.list_training_jobs(sdk.ListTrainingJobsRequest(body=body)))

    def preview(self, job_id: str, task: str = "worker-0") -> dict[str, Any]:
        request = sdk.ShowTrainingJobLogsPreviewRequest(training_job_id=job_id, task_id=task)
        reply = self.client.show_training_job_logs_preview(request)
        return {} if reply.status_code == 204 else json_of(reply)

    def log(self, job_id: str, task: str = "worker-0") -> str:
        return str(self.preview(job_id, task).get("content", ""))

    def log_link(self, job_id: str, task: str = "worker-0") -> str:
        """The SDK has no such operation, so it is asked for by its path."""
        reply = self.client.do_http_request(
            method="GET",
            resource_path=f"/v2/{{project_id}}/training-jobs/{job_id}/tasks/{task}/logs/url",
            path_params={},
            query_params=[("Content-Type", "application/octet-stream")],
            header_params={},
            response_type="DeleteTrainingJobResponse",
        )
        return str(json_of(reply)["obs_url"])

    def events(self, job_id: str, **query: Any) -> list[dict[str, Any]]:
        return list(self.events_reply(job_id, **query)["events"])

    def events_reply(self, job_id: str, **query: Any) -> dict[str, Any]:
        request = sdk.ListTrainingJobEventsRequest(training_job_id=job_id, **query)
        return json_of(self.client.list_training_job_events(request))

    def messages(self, job_id: str, **query: Any) -> str:
        return "\n".join(event["message"] for event in self.events(job_id, order="asc", **query))

    def phase(self, job_id: str) -> str:
        return str(self.show(job_id)["status"]["phase"])

    def ended(self, job_id: str, timeout: float = 60) -> dict[str, Any]:
        wait_for(lambda: self.phase(job_id) in ENDED, timeout)
        return self.show(job_id)

    def run(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return self.ended(self.create(body)["metadata"]["id"])


def processes_of(job_id: str) -> list[psutil.Process]:
    """All that carry the mark of this job; what they call themselves may be numbers of their own."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(JOB_VARIABLE) == job_mark(job_id):
                found.append(process)
    return found


def are_gone(processes: Iterable[psutil.Process]) -> bool:
    return all(not process.is_running() or process.status() == psutil.STATUS_ZOMBIE for process in processes)


@contextmanager
def jobs_in(root: Path, timing: Timing | None = FAST, *, settings: str = "", **more: Any) -> Iterator[Jobs]:
    """Those of a new Lab; without a timing the settings of its file count."""
    root.mkdir()
    if settings:
        (root / "lab.toml").write_text(settings, encoding="utf-8")
    with running_lab(root, timing, **more) as lab, sdk_client(lab.url, lab.account) as client:
        yield Jobs(lab, client)


def prepared(root: Path, files: Mapping[str, bytes], bucket: str = BUCKET) -> LabAccount:
    """The folder of a Lab that is still to be started, with these objects in it."""
    root.mkdir()
    account = Accounts(root).first
    objects = ObjectStore(root)
    objects.create_bucket(bucket, account.domain_id)
    for name, content in files.items():
        objects.put(bucket, name, content)
    objects.close()
    return account


def job_body(name: str = "job-1", **changes: Any) -> dict[str, Any]:
    """A small good request; `changes` replace entries, named by path with double underscores."""
    body: dict[str, Any] = {
        "kind": "job",
        "metadata": {"name": name, "description": "from a test"},
        "algorithm": {
            "code_dir": f"/{BUCKET}/code/job/",
            "boot_file": f"/{BUCKET}/code/job/train.py",
            "engine": {"engine_name": "Local-Python", "engine_version": "local-python"},
            "parameters": [],
            "inputs": [],
            "outputs": [],
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u", "node_count": 1}},
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = body
        for parent in parents:
            place = place[parent]
        place[last] = value
    return body


def channel(name: str, key: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "remote": {"obs": {"obs_url": f"/{BUCKET}/{key}"}}, **more}


def wait_for(condition: Callable[[], object], timeout: float = PATIENT_S) -> None:
    """Blocking twin of `until`, for the blocking SDK."""
    awaited, end, pause = Awaited(condition), time.monotonic() + timeout, threading.Event()
    while not awaited.holds():
        if time.monotonic() > end:
            raise awaited.failure(timeout)
        pause.wait(0.02)


def signed_request(
    lab: LabApp,
    method: str,
    path: str,
    content: bytes = b"",
    *,
    query: str = "",
    headers: Mapping[str, str] | None = None,
) -> tuple[int, dict[str, Any]]:
    """A request the SDK would not send, signed by hand."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    host = lab.url.partition("://")[2]
    names = "host;x-sdk-date"
    body_hash = hashlib.sha256(content).hexdigest()
    signed_path = quote(unquote(path))
    lines = [method, f"{signed_path}/", query, f"host:{host}", f"x-sdk-date:{stamp}", "", names, body_hash]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = f"SDK-HMAC-SHA256\n{stamp}\n{digest}"
    signature = hmac.new(lab.account.secret_key.encode(), text.encode(), hashlib.sha256).hexdigest()
    authorization = f"SDK-HMAC-SHA256 Access={lab.account.access_key}, SignedHeaders={names}, Signature={signature}"
    sent = {**(headers or {}), "X-Sdk-Date": stamp, "Authorization": authorization}
    connection = http.client.HTTPConnection(host, timeout=PATIENT_S)
    try:
        connection.request(method, f"{path}?{query}" if query else path, content or None, sent)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def signed_post(lab: LabApp, path: str, content: bytes) -> tuple[int, dict[str, Any]]:
    return signed_request(lab, "POST", path, content)


def error_of(call: Callable[[], object]) -> tuple[int, str]:
    try:
        call()
    except ServiceResponseException as error:
        return error.status_code, error.error_code
    raise AssertionError("nothing was refused")


def json_of(reply: Any) -> dict[str, Any]:
    document: dict[str, Any] = reply.to_json_object()
    return document
