"""Unmodified clients of a Lab's object store."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config
from obs import ObsClient

from support.servers.lab_process import LabProcess

SIGNATURES = ["obs", "v2", "v4"]


def obs_client(lab: LabProcess, signature: str = "obs", **options: Any) -> ObsClient:
    """The vendor's SDK; with the signature "obs" by the one way that needs no DNS."""
    return ObsClient(
        access_key_id=options.pop("access_key", lab.access_key),
        secret_access_key=options.pop("secret_key", lab.secret_key),
        server=lab.obs,
        signature=signature,
        client_mode="workflow" if signature == "obs" else "obs",
        path_style=True,
        max_retry_count=0,
        long_conn_mode=True,
        region="lab",
        **options,
    )


def s3_client(lab: LabProcess, signature: Any = "s3v4", **options: Any) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=lab.obs,
        aws_access_key_id=options.pop("access_key", lab.access_key),
        aws_secret_access_key=options.pop("secret_key", lab.secret_key),
        region_name="lab",
        config=Config(
            signature_version=signature, s3={"addressing_style": "path"}, retries={"max_attempts": 0}, **options
        ),
    )
