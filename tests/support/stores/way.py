"""What the tests of the adapters share: a running Lab and ways to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from support.servers.faults import Request
from support.servers.lab_process import LabProcess
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.sdk.buckets import ObsStorage
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.data_plane import DataPlane


@dataclass
class Way:
    """To the Lab, or past it: `at` gives the same way with other addresses or keys."""

    profile: Profile
    credentials: Credentials
    calls: BlockingCalls

    @classmethod
    def to(cls, lab: LabProcess, calls: BlockingCalls) -> Way:
        profile = Profile(
            "lab",
            Provider.LAB,
            lab.region,
            obs_endpoint=lab.obs,
            modelarts_endpoint=lab.modelarts,
            iam_endpoint=lab.iam,
            project_id=lab.project_id,
        )
        return cls(profile, Credentials(lab.access_key, Secret(lab.secret_key)), calls)

    def at(self, *, credentials: Credentials | None = None, **fields: Any) -> Way:
        return Way(replace(self.profile, **fields), credentials or self.credentials, self.calls)

    @contextmanager
    def storage(self) -> Iterator[ObsStorage]:
        storage = ObsStorage(self.profile, self.credentials, self.calls)
        try:
            yield storage
        finally:
            storage.close()

    @asynccontextmanager
    async def plane(self) -> AsyncIterator[DataPlane]:
        plane = DataPlane(WireAccount(self.profile, self.credentials))
        try:
            yield plane
        finally:
            await plane.close()

    async def put(self, content: bytes, *targets: ObjectPath) -> None:
        """The same content in each of these places."""
        async with self.plane() as plane:
            for target in targets:
                await plane.put(target, BytesBody(content))

    async def remove(self, *targets: ObjectPath) -> None:
        """Each of them, whether it is there or not."""
        async with self.plane() as plane:
            for bucket in {target.bucket for target in targets}:
                assert not await plane.remove(bucket, [one.key for one in targets if one.bucket == bucket])

    @contextmanager
    def training(self) -> Iterator[ModelArtsTraining]:
        training = ModelArtsTraining(self.profile, self.credentials, self.calls)
        try:
            yield training
        finally:
            training.close()

    def resign(self, request: Request, host: str) -> None:
        """The gateway signature covers the Host header; sign again for where the request goes."""
        from huaweicloudsdkcore.auth.credentials import BasicCredentials
        from huaweicloudsdkcore.sdk_request import SdkRequest
        from huaweicloudsdkcore.signer.signer import Signer

        path, _, query = request.target.partition("?")
        pairs = [tuple(pair.split("=", 1)) for pair in query.split("&") if pair]
        signed = SdkRequest(
            method=request.method,
            schema="http",
            host=host,
            resource_path=path,
            query_params=pairs,
            header_params={"Host": host, "Content-Type": request.headers["Content-Type"]},
            body=request.body.decode(),
        )
        keys = BasicCredentials(self.credentials.access_key, self.credentials.secret_key.reveal())
        request.headers.update(Signer(keys).sign(signed).header_params)
