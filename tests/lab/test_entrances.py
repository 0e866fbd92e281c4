"""Every door of the Lab, and who must not come in: OBS, IAM, ModelArts, its own calls, its control port."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from support.odd_dates import FAR_DATES, ODD_DATES, ascii_start
from support.servers.gateway_wire import ask, signed
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.servers.obs_wire import Wire
from support.stores.lab_clients import SIGNATURES, obs_client, s3_client
from support.waiting import PATIENT_S
from traindeck.lab.accounts import LabAccount

STRANGERS = [
    {"Host": "example.com"},
    {"Host": "example.com:{port}"},
    {"Host": "192.168.1.1:{port}"},
    {"Host": "127.0.0.2:{port}"},
    {"Host": "localhost.example.com:{port}"},
    {"Host": "localhost:1"},
    {"Origin": "http://example.com"},
    {"Origin": "https://localhost:{port}"},
    {"Origin": "http://localhost:1"},
    {"Origin": "null"},
]


@pytest.fixture(scope="module")
def bucket_of_doors(lab: LabProcess) -> str:
    client = obs_client(lab)
    assert client.createBucket("doors").status == 200
    assert client.putContent("doors", "k", b"x").status == 200
    client.close()
    return "doors"


def paths(lab: LabProcess) -> list[tuple[str, str]]:
    """One of every kind of call behind the gateway."""
    jobs = f"/v2/{lab.project_id}/training-jobs"
    return [
        ("GET", "/v3/projects"),
        ("GET", "/v3/auth/projects"),
        ("GET", "/v3/auth/domains"),
        ("GET", f"/v2/{lab.project_id}/training-job-flavors"),
        ("POST", f"/v2/{lab.project_id}/training-job-searches"),
        ("GET", f"{jobs}/6f1c3a7e-0000-0000-0000-000000000000"),
        ("DELETE", f"{jobs}/6f1c3a7e-0000-0000-0000-000000000000"),
    ]


def with_port(headers: dict[str, str], url: str) -> dict[str, str]:
    return {name: value.replace("{port}", str(urlsplit(url).port)) for name, value in headers.items()}


# --- the object store ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stranger", STRANGERS, ids=str)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_strangers_at_the_store(lab: LabProcess, bucket_of_doors: str, stranger: dict[str, str], method: str) -> None:
    wire = Wire(lab)
    given = with_port(stranger, lab.obs)
    host = given.pop("Host", "")
    head = wire.head(method, "/doors/k", {"Content-Length": "0", **given}, host=host)
    answer = wire.exchange(head, method)
    assert answer.status == 403
    assert answer.headers["x-obs-error-code"] == "AccessDenied" if method == "HEAD" else b"foreign" in answer.body
    assert wire.ask("GET", "/doors/k").body == b"x"


@pytest.mark.parametrize("signature", SIGNATURES)
def test_wrong_keys_at_the_store(lab: LabProcess, bucket_of_doors: str, signature: str) -> None:
    for wrong, code in (
        ({"secret_key": "x" * 40}, "SignatureDoesNotMatch"),
        ({"access_key": "LABNOBODY"}, "InvalidAccessKeyId"),
    ):
        client = obs_client(lab, signature, **wrong)
        answers = [
            client.listBuckets(),
            client.getObject("doors", "k"),
            client.putContent("doors", "k", b"changed"),
            client.deleteObject("doors", "k"),
            client.listObjects("doors"),
            client.setBucketAcl("doors", aclControl="public-read"),
        ]
        assert [(one.status, one.errorCode) for one in answers] == [(403, code)] * len(answers)
        client.close()


@pytest.mark.parametrize("name", ["Date", "x-obs-date", "x-amz-date", "If-Modified-Since", "If-Unmodified-Since"])
@pytest.mark.parametrize("date", [*ODD_DATES, *FAR_DATES], ids=ascii_start)
def test_absurd_dates_at_the_store(lab: LabProcess, bucket_of_doors: str, name: str, date: str) -> None:
    wire = Wire(lab)
    answer = wire.ask("GET", "/doors/k", {name: date.replace("\x00", "").strip()[:6000]})
    assert answer.status in ((403,) if name == "Date" else (200, 304, 403, 412)), answer.body


@pytest.mark.parametrize("minutes", [-16, 16])
def test_clocks_at_the_store(lab: LabProcess, bucket_of_doors: str, minutes: int) -> None:
    """By the three signatures: what was signed is right but for its time."""
    wire, moment = Wire(lab), datetime.now(UTC) + timedelta(minutes=minutes)
    answer = wire.ask("GET", "/doors/k", date=moment)
    assert (answer.status, answer.code) == (403, "RequestTimeTooSkewed")
    assert wire.ask("GET", "/doors/k", date=moment - timedelta(minutes=minutes / 8)).status == 200
    for scheme in ("AWS", "AWS4"):
        answer = wire.exchange(wire.signed_by(scheme, "GET", "/doors/k", moment))
        assert (answer.status, answer.code) == (403, "RequestTimeTooSkewed"), scheme
        near = moment - timedelta(minutes=minutes / 8)
        assert wire.exchange(wire.signed_by(scheme, "GET", "/doors/k", near)).status == 200, scheme


def test_one_account_at_the_buckets_of_another(lab: LabProcess, bucket_of_doors: str, other: LabAccount) -> None:
    s3 = s3_client(lab, access_key=other.access_key, secret_key=other.secret_key)
    calls: list[Callable[[], Any]] = [
        lambda: s3.get_object(Bucket="doors", Key="k"),
        lambda: s3.get_object(Bucket="doors", Key="not there"),
        lambda: s3.list_objects_v2(Bucket="doors"),
        lambda: s3.put_object(Bucket="doors", Key="k", Body=b""),
        lambda: s3.create_multipart_upload(Bucket="doors", Key="k"),
        lambda: s3.get_bucket_acl(Bucket="doors"),
        lambda: s3.put_bucket_versioning(Bucket="doors", VersioningConfiguration={"Status": "Enabled"}),
        lambda: s3.get_bucket_policy(Bucket="doors"),
        lambda: s3.delete_bucket(Bucket="doors"),
    ]
    for call in calls:
        with pytest.raises(s3.exceptions.ClientError) as refused:
            call()
        assert refused.value.response["Error"]["Code"] == "AccessDenied"
    s3.close()


# --- the gateway -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stranger", STRANGERS, ids=str)
def test_strangers_at_the_gateway(lab: LabProcess, stranger: dict[str, str]) -> None:
    given = with_port(stranger, lab.modelarts)
    for method, path in [*paths(lab), ("GET", "/lab/status"), ("POST", "/lab/stop"), ("GET", "/nothing")]:
        status, body, _ = ask(lab, method, path, {**signed(lab, method, path), **given})
        assert (status, body["error_code"]) == (403, "APIGW.0402"), path
        assert "foreign" in body["error_msg"]


def test_wrong_keys_and_clocks_at_the_gateway(lab: LabProcess) -> None:
    skew = timedelta(minutes=16)
    for method, path in paths(lab):
        for wrong in (
            {"secret_key": "x" * 40},
            {"access_key": "LABNOBODY"},
            {"when": datetime.now(UTC) + skew},
            {"when": datetime.now(UTC) - skew},
        ):
            status, body, _ = ask(lab, method, path, signed(lab, method, path, **wrong))
            assert (status, body["error_code"]) == (401, "APIGW.0301"), (path, wrong)
        status, body, _ = ask(lab, method, path, {})
        assert (status, body["error_code"]) == (401, "APIGW.0301")
        almost = datetime.now(UTC) - timedelta(minutes=14)
        assert ask(lab, method, path, signed(lab, method, path, when=almost))[0] != 401


def test_one_account_at_the_project_of_another(lab: LabProcess, other: LabAccount) -> None:
    for method, path in paths(lab)[3:]:
        keys: dict[str, Any] = {"access_key": other.access_key, "secret_key": other.secret_key}
        status, body, _ = ask(lab, method, path, signed(lab, method, path, **keys))
        assert status in (403, 404), (path, body)
        assert "error_code" in body


def test_the_end_needs_its_token(lab: LabProcess) -> None:
    for headers in ({}, {"X-Lab-Token": "wrong"}, {"X-Lab-Token": lab.secret_key}):
        status, body, _ = ask(lab, "POST", "/lab/stop", headers)
        assert (status, "running.json" in body["error_msg"]) == (403, True)
    assert lab.exit_code(0.05) is None


# --- the control port ------------------------------------------------------------------------------------------------


@pytest.fixture
def control(lab: LabProcess) -> Iterator[Control]:
    control = Control(lab.root)
    yield control
    status, content = control.call("GET")
    assert (status, content["faults"]) == (200, [])


RULES = {"faults": [{"kind": "error", "status": 500}]}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
def test_the_control_port_needs_its_token(lab: LabProcess, control: Control, method: str) -> None:
    token, other_token = control.token, json.loads((lab.root / "running.json").read_text("utf-8"))["token"]
    for wrong in ("", "Bearer ", f"Bearer {token[:-1]}", f"Bearer {token}x", token, f"Basic {token}", "Bearer é"):
        assert control.call(method, RULES, Authorization=wrong)[0] == 401
    for other_key in (other_token, lab.secret_key):
        assert control.call(method, RULES, Authorization=f"Bearer {other_key}")[0] == 401


@pytest.mark.parametrize("stranger", STRANGERS, ids=str)
def test_strangers_at_the_control_port(control: Control, stranger: dict[str, str]) -> None:
    for method in ("GET", "PUT", "DELETE"):
        assert control.call(method, RULES, **with_port(stranger, control.url))[0] == 403


# --- other computers -------------------------------------------------------------------------------------------------


def test_no_door_is_open_to_other_computers(lab: LabProcess, control: Control) -> None:
    """All addresses this computer has to others, and the loopback ones nobody asked for."""
    kinds = {socket.AF_INET, socket.AF_INET6}
    own = {one.address for found in psutil.net_if_addrs().values() for one in found if one.family in kinds}
    own -= {"127.0.0.1"}
    if os.name == "posix":
        own |= {"127.0.0.2", "::1"}
    for url in (lab.obs, lab.modelarts, control.url):
        port = urlsplit(url).port or 0
        assert urlsplit(url).hostname == "127.0.0.1"
        socket.create_connection(("127.0.0.1", port), timeout=PATIENT_S).close()
        for address in own:
            with pytest.raises(OSError):
                socket.create_connection((address, port), timeout=5).close()
