"""Trouble on request: what clients see of each fault, and who may ask for it."""

from __future__ import annotations

import json
import os
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.sdk_request import SdkRequest
from huaweicloudsdkcore.signer.signer import Signer
from obs import ObsClient

from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire
from support.stores.lab_clients import obs_client
from traindeck.lab.faults import Fault, Faults, FaultsError, Kind, faults_of_toml


@pytest.fixture
def control(lab: LabProcess) -> Iterator[Control]:
    control = Control(lab.root)
    yield control
    assert control.call("DELETE")[0] == 200


@pytest.fixture
def sdk(lab: LabProcess, bucket: str) -> Iterator[ObsClient]:
    client = obs_client(lab)
    client.putContent(bucket, "k", b"0123456789" * 10_000)
    yield client
    client.close()


def signed_get(lab: LabProcess, path: str) -> tuple[int, Any]:
    host = urlsplit(lab.modelarts).netloc
    asked = SdkRequest(
        method="GET",
        schema="http",
        host=host,
        resource_path=path,
        uri=path,
        query_params=[],
        header_params={"Host": host, "Content-Type": "application/json"},
        body="",
    )
    headers = Signer(BasicCredentials(lab.access_key, lab.secret_key, lab.project_id)).sign(asked).header_params
    try:
        with urllib.request.urlopen(urllib.request.Request(lab.modelarts + path, headers=headers)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


# --- rules -----------------------------------------------------------------------------------------------------------


def test_rules_count_skip_and_are_repeatable() -> None:
    faults = Faults([Fault(Kind.ERROR, operation="Put*", count=2, skip=1)])
    struck = [bool(faults.drawn("obs", "PutObject")) for _ in range(5)]
    assert struck == [False, True, True, False, False]
    assert not faults.drawn("obs", "GetObject")
    rule = Fault(Kind.ERROR, service="obs", resource="/bkt/a*", probability=0.5)
    runs = []
    for _ in range(2):
        faults.replace([rule], seed=7)
        runs.append([bool(faults.drawn("obs", "PutObject", "/bkt/a1")) for _ in range(200)])
    assert runs[0] == runs[1]
    assert 70 < sum(runs[0]) < 130
    assert not faults.drawn("modelarts", "PutObject", "/bkt/a1")
    assert not faults.drawn("obs", "PutObject", "/bkt/b")


def test_kinds_beyond_the_wire_are_asked_for_by_name() -> None:
    faults = Faults([Fault(Kind.SOLD_OUT, service="modelarts", count=1)])
    assert not faults.drawn("modelarts", "POST /v2/{project_id}/training-jobs")
    wanted = frozenset({Kind.SOLD_OUT})
    assert faults.drawn("modelarts", "POST /v2/{project_id}/training-jobs", kinds=wanted)
    assert not faults.drawn("modelarts", "POST /v2/{project_id}/training-jobs", kinds=wanted)


def test_rules_in_a_file() -> None:
    rules, seed = faults_of_toml('seed = 3\n[[fault]]\nkind = "latency"\nseconds = 1\n[[fault]]\nkind = "quota"\n')
    assert seed == 3
    assert rules == [Fault(Kind.LATENCY, seconds=1.0), Fault(Kind.QUOTA)]


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "[[faults]]",
        "[[fault]]\nseconds = 1",
        '[[fault]]\nkind = "unheard"',
        '[[fault]]\nkind = "error"\nunheard = 1',
        '[[fault]]\nkind = "error"\nstatus = 200',
        '[[fault]]\nkind = "error"\nstatus = "503"',
        '[[fault]]\nkind = "error"\ncount = -1',
        '[[fault]]\nkind = "bandwidth"',
        '[[fault]]\nkind = "latency"\nseconds = nan',
        '[[fault]]\nkind = "clock-skew"\nseconds = -inf',
        '[[fault]]\nkind = "error"\nbody = "pending"',
        '[[fault]]\nkind = "sold-out"\nbody = "waiting"',
        'seed = "x"',
    ],
)
def test_rules_that_cannot_be_followed(text: str) -> None:
    with pytest.raises(FaultsError):
        faults_of_toml(text)


# --- what clients see ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "code"), [(429, "TooManyRequests"), (500, "InternalError"), (503, "SlowDown")])
def test_errors(sdk: ObsClient, control: Control, bucket: str, status: int, code: str) -> None:
    rule = {"kind": "error", "operation": "PutObject", "status": status, "count": 1}
    control.rules(rule if code != "SlowDown" else {**rule, "code": code})
    refused = sdk.putContent(bucket, "new", b"x" * 300_000)
    assert (refused.status, refused.errorCode) == (status, code)
    assert sdk.getObjectMetadata(bucket, "new").status == 404
    assert sdk.putContent(bucket, "new", b"x").status == 200
    assert control.call("GET")[1]["faults"][0]["fired"] == 1


def test_pages_of_a_proxy(lab: LabProcess, sdk: ObsClient, control: Control, bucket: str) -> None:
    control.rules({"kind": "error", "status": 502, "code": "Bad Gateway", "body": "html"})
    answer = sdk.getObject(bucket, "k")
    assert (answer.status, answer.errorCode) == (502, None)
    with pytest.raises(urllib.error.HTTPError) as failed:
        urllib.request.urlopen(f"{lab.modelarts}/v2/{lab.project_id}/training-job-engines")
    with failed.value as page:
        assert page.code == 401  # no signature: the page comes only to whoever may come in


def test_latency_and_bandwidth(sdk: ObsClient, control: Control, bucket: str) -> None:
    def seconds(call: Any) -> float:
        began = time.monotonic()
        assert call().status == 200
        return time.monotonic() - began

    control.rules({"kind": "latency", "operation": "HeadObject", "seconds": 0.3})
    assert seconds(lambda: sdk.getObjectMetadata(bucket, "k")) >= 0.3
    control.rules({"kind": "bandwidth", "bytes_per_second": 250_000})
    assert seconds(lambda: sdk.getObject(bucket, "k", loadStreamInMemory=True)) >= 0.35
    assert seconds(lambda: sdk.putContent(bucket, "new", b"x" * 100_000)) >= 0.35
    sdk.putContent(bucket, "large", b"x" * 400_000)
    assert seconds(lambda: sdk.getObject(bucket, "large", loadStreamInMemory=True)) >= 1.4


def test_lost_requests_and_answers(lab: LabProcess, control: Control, bucket: str) -> None:
    wire = Wire(lab)

    def closed(kind: str, key: str) -> None:
        control.rules({"kind": kind, "operation": "PutObject", "count": 1})
        with pytest.raises((ConnectionError, IndexError)):  # nothing came at all
            wire.put(f"/{bucket}/{key}", b"content")

    closed("lost-request", "never")
    assert wire.ask("HEAD", f"/{bucket}/never").status == 404
    closed("lost-answer", "done")
    assert wire.ask("GET", f"/{bucket}/done").body == b"content"


@pytest.mark.parametrize("size", [50_000, 2_000_000])
def test_cut_bodies(lab: LabProcess, control: Control, bucket: str, size: int) -> None:
    wire = Wire(lab)
    wire.put(f"/{bucket}/k", b"x" * size)
    control.rules({"kind": "cut-body", "operation": "GetObject", "after_bytes": 20_000})
    answer = wire.ask("GET", f"/{bucket}/k")
    assert (answer.status, answer.headers["content-length"]) == (200, str(size))
    assert answer.body == b"x" * 20_000


def test_skewed_clock_and_expired_key(lab: LabProcess, sdk: ObsClient, control: Control, bucket: str) -> None:
    control.rules({"kind": "clock-skew", "seconds": -1000})
    assert sdk.listObjects(bucket).errorCode == "RequestTimeTooSkewed"
    control.rules({"kind": "clock-skew", "seconds": 600})
    assert sdk.listObjects(bucket).status == 200
    control.rules({"kind": "expired-key"})
    assert sdk.listObjects(bucket).errorCode == "InvalidAccessKeyId"


# --- the control port ------------------------------------------------------------------------------------------------


def test_the_control_port_is_closed_to_others(lab: LabProcess, control: Control) -> None:
    assert control.call("GET", Authorization="")[0] == 401
    assert control.call("PUT", {"faults": []}, Authorization="Bearer wrong")[0] == 401
    assert control.call("GET", Authorization=f"Bearer {lab.secret_key}")[0] == 401
    assert control.call("GET", Host="example.com")[0] == 403
    assert control.call("GET", Origin="http://page.example")[0] == 403
    status, answer = control.call("PUT", {"faults": [{"kind": "unheard"}]})
    assert status == 400
    assert "unheard" in answer["error"]
    assert control.call("GET")[1] == {"seed": 0, "faults": []}
    assert control.token not in (lab.root / "running.json").read_text("utf-8")
    if os.name == "posix":
        assert stat.S_IMODE((lab.root / "control.json").stat().st_mode) == 0o600


def test_rules_by_file_and_flag(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "faults.toml").write_text('[[fault]]\nkind = "error"\nstatus = 503\noperation = "ListBuckets"\n', "utf-8")
    with LabProcess(root) as lab:
        client = obs_client(lab)
        assert client.listBuckets().status == 503
        client.close()
    assert not (root / "control.json").exists()
    flagged = tmp_path / "other.toml"
    flagged.write_text('[[fault]]\nkind = "error"\nstatus = 429\noperation = "ListBuckets"\n', "utf-8")
    with LabProcess(root, more=["--faults", str(flagged)]) as lab:
        client = obs_client(lab)
        assert client.listBuckets().status == 429
        client.close()
    flagged.write_text("[[fault]]", "utf-8")
    lab = LabProcess(root, more=["--faults", str(flagged)])
    lab.launch()
    assert lab.exit_code() == 1
    assert "cannot follow the fault rules" in lab.error_text
    assert urlsplit(lab.error_text).scheme == ""
    lab.close()


def test_the_gateway_has_the_same_faults(lab: LabProcess, control: Control) -> None:
    control.rules({"kind": "error", "service": "modelarts", "status": 429, "operation": "GET *training-job-engines"})
    path = f"/v2/{lab.project_id}/training-job-engines"
    status, body = signed_get(lab, path)
    assert status == 429
    assert body["error_code"] == "APIGW.0308"
    control.rules({"kind": "clock-skew", "seconds": 1000})
    assert signed_get(lab, path)[0] == 401
    control.rules({"kind": "expired-key", "service": "modelarts"})
    assert signed_get(lab, path)[0] == 401
    control.call("DELETE")
    assert signed_get(lab, path)[0] == 200
