"""Object stores of every kind, each in a dialect, with our data plane on the way to them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import boto3
from botocore.config import Config

from support.servers.lab_process import LabProcess
from support.stores.foreign_stores import ACCESS_KEY, SECRET_KEY
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.data_plane import DataPlane


@dataclass(frozen=True)
class Store:
    """One object store in one dialect."""

    name: str
    profile: Profile
    credentials: Credentials
    make_bucket: Callable[[str], None]

    @asynccontextmanager
    async def plane(self, **fields: Any) -> AsyncIterator[DataPlane]:
        options = {name: fields.pop(name) for name in ("refused", "most_connections") if name in fields}
        credentials = fields.pop("credentials", self.credentials)
        plane = DataPlane(WireAccount(replace(self.profile, **fields), credentials, **options))
        try:
            yield plane
        finally:
            await plane.close()


@asynccontextmanager
async def plane_at(
    url: str, ca_file: str = "", proxy: str = "", proxy_password: str = "", **options: Any
) -> AsyncIterator[DataPlane]:
    """To a server that looks at no key."""
    profile = Profile("p", Provider.MODELARTS, "cn-north-4", obs_endpoint=url, ca_file=ca_file, proxy=proxy)
    keys = Credentials("AKEXAMPLE123", Secret("SKEXAMPLE123"), proxy_password=Secret(proxy_password))
    plane = DataPlane(WireAccount(profile, keys, **options))
    try:
        yield plane
    finally:
        await plane.close()


def lab_store(lab: LabProcess, signature: Signature = Signature.OBS) -> Store:
    profile = Profile("lab", Provider.LAB, lab.region, obs_endpoint=lab.obs, signature=signature)
    return Store(
        f"lab-{signature}",
        profile,
        Credentials(lab.access_key, Secret(lab.secret_key)),
        _by_boto3(lab.obs, lab.access_key, lab.secret_key),
    )


def foreign_store(name: str, url: str) -> Store:
    profile = Profile(name, Provider.MODELARTS, "us-east-1", obs_endpoint=url, signature=Signature.V4, path_style=True)
    return Store(name, profile, Credentials(ACCESS_KEY, Secret(SECRET_KEY)), _by_boto3(url, ACCESS_KEY, SECRET_KEY))


def _by_boto3(url: str, access_key: str, secret_key: str) -> Callable[[str], None]:
    def make(bucket: str) -> None:
        client = boto3.client(
            "s3",
            endpoint_url=url,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}),
        )
        client.create_bucket(Bucket=bucket)
        client.close()

    return make


_numbers = iter(range(1, 1_000_000))


def new_bucket(store: Store) -> ObjectPath:
    bucket = f"bucket-{next(_numbers)}"
    store.make_bucket(bucket)
    return ObjectPath(bucket)
