"""Requests to ModelArts and IAM, signed by the vendor's signer and sent with exactly the headers they are given."""

from __future__ import annotations

import http.client
import json
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from huaweicloudsdkcore.auth.credentials import BasicCredentials
from huaweicloudsdkcore.sdk_request import SdkRequest
from huaweicloudsdkcore.signer.signer import Signer

from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S


def ask(lab: LabProcess, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, Any, Any]:
    parts = urlsplit(lab.modelarts)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=PATIENT_S)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in {"Host": parts.netloc, **headers}.items():
            connection.putheader(name, value)
        connection.endheaders(body or None)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.headers["Content-Type"].startswith("application/json")
        assert answer.headers["X-Request-Id"]
        return answer.status, json.loads(text), answer.headers
    finally:
        connection.close()


def signed(
    lab: LabProcess,
    method: str,
    path: str,
    *,
    body: str = "",
    when: datetime | None = None,
    access_key: str = "",
    secret_key: str = "",
) -> dict[str, str]:
    """Headers made by the signer of the vendor's SDK."""
    parts = urlsplit(lab.modelarts)
    headers = {"Content-Type": "application/json", "Host": parts.netloc}
    if when:
        headers["X-Sdk-Date"] = when.strftime("%Y%m%dT%H%M%SZ")
    if body:
        headers["Content-Length"] = str(len(body))
    request = SdkRequest(
        method=method,
        schema="http",
        host=parts.netloc,
        resource_path=path,
        uri=path,
        query_params=[],
        header_params=headers,
        body=body,
    )
    credentials = BasicCredentials(access_key or lab.access_key, secret_key or lab.secret_key, lab.project_id)
    result = dict(Signer(credentials).sign(request).header_params)
    result.pop("User-Agent", None)
    return {name: str(value) for name, value in result.items()}
