"""The gateway before ModelArts and IAM: the refusals it documents, byte by byte and through the vendor's SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.exceptions.exceptions import ClientRequestException
from huaweicloudsdkmodelarts.v1 import ModelArtsClient, ShowTrainingJobFlavorsRequest

from support.servers.gateway_wire import ask, signed
from support.servers.lab_process import LabProcess


def test_unsigned_requests_are_refused_with_the_documented_error(lab: LabProcess) -> None:
    status, body, headers = ask(lab, "GET", f"/v2/{lab.project_id}/training-job-flavors", {})
    assert (status, body["error_code"]) == (401, "APIGW.0301")
    assert body["request_id"] == headers["X-Request-Id"]
    assert body["error_msg"]


def test_wrong_keys_and_skew_are_told_apart(lab: LabProcess) -> None:
    path = "/v3/projects"
    status, body, _ = ask(lab, "GET", path, signed(lab, "GET", path))
    assert status == 200, body

    def refusal(**how: Any) -> str:
        status, body, _ = ask(lab, "GET", path, signed(lab, "GET", path, **how))
        assert (status, body["error_code"]) == (401, "APIGW.0301")
        return str(body["error_msg"])

    assert "ak NOBODY not exist" in refusal(access_key="NOBODY")
    assert "verify aksk signature fail" in refusal(secret_key="wrong")
    skewed = refusal(when=datetime.now(UTC) - timedelta(minutes=16))
    assert "signature expired, signature time:" in skewed
    assert ",server time:" in skewed
    for text in (skewed, refusal(secret_key="wrong"), lab.error_text, (lab.root / "lab.log").read_text("utf-8")):
        assert lab.secret_key not in text


def test_unknown_routes_and_methods(lab: LabProcess) -> None:
    status, body, _ = ask(lab, "GET", "/v9/nothing", signed(lab, "GET", "/v9/nothing"))
    assert (status, body["error_code"]) == (404, "APIGW.0101")
    status, body, headers = ask(lab, "PATCH", "/v3/projects", signed(lab, "PATCH", "/v3/projects"))
    assert (status, body["error_code"]) == (405, "ModelArts.2803")
    assert "GET" in headers["Allow"]


def test_a_body_over_the_limit_is_refused_before_it_is_read(lab: LabProcess) -> None:
    headers = {"Content-Length": str(13 * 1024 * 1024), "Content-Type": "application/json"}
    status, body, _ = ask(lab, "POST", f"/v2/{lab.project_id}/training-jobs", headers)
    assert (status, body["error_code"]) == (413, "APIGW.0201")


@pytest.mark.parametrize(
    "header",
    [{"Host": "example.com"}, {"Host": "localhost:1"}, {"Origin": "http://example.com"}, {"Origin": "null"}],
)
@pytest.mark.parametrize("path", ["/v3/projects", "/lab/status"])
def test_foreign_hosts_and_origins_are_refused(lab: LabProcess, header: dict[str, str], path: str) -> None:
    status, body, _ = ask(lab, "GET", path, {**signed(lab, "GET", path), **header})
    assert status == 403
    assert "foreign" in body["error_msg"]


def test_status_is_open_and_holds_no_secret(lab: LabProcess) -> None:
    status, body, _ = ask(lab, "GET", "/lab/status", {})
    assert status == 200
    assert body["pid"] == lab.pid
    assert body["live_jobs"] == 0
    running = json.loads((lab.root / "running.json").read_text("utf-8"))
    assert body["instance"] == running["instance"]
    for secret in (lab.secret_key, lab.access_key):
        assert secret not in json.dumps(body) + json.dumps(running)


@contextmanager
def sdk_client(lab: LabProcess, secret_key: str) -> Iterator[ModelArtsClient]:
    credentials = BasicCredentials(lab.access_key, secret_key, lab.project_id)
    client = ModelArtsClient.new_builder().with_credentials(credentials).with_endpoint(lab.modelarts).build()
    yield client
    http_client = client.get_http_client()
    http_client._executor.shutdown()  # the SDK has no way to end its threads
    http_client._session.close()


def test_the_sdk_is_served_and_reads_the_errors(lab: LabProcess) -> None:
    with sdk_client(lab, lab.secret_key) as client:
        assert client.show_training_job_flavors(ShowTrainingJobFlavorsRequest()).status_code == 200
    with sdk_client(lab, "wrong") as client, pytest.raises(ClientRequestException) as refused:
        client.show_training_job_flavors(ShowTrainingJobFlavorsRequest())
    assert (refused.value.status_code, refused.value.error_code) == (401, "APIGW.0301")
    assert refused.value.request_id
