"""Whom the adapters trust: known certificates for the right name, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.servers.secure import SecureServer
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.errors import AppError, Unreachable
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining
from traindeck.services.storage.sdk.buckets import ObsStorage

pytestmark = pytest.mark.usefixtures("no_waiting")


async def ask_both(server: SecureServer, calls: BlockingCalls, ca_file: str) -> list[AppError]:
    """The errors of one request to OBS and one to ModelArts."""
    profile = Profile(
        "p",
        Provider.MODELARTS,
        "cn-north-4",
        obs_endpoint=server.url,
        modelarts_endpoint=server.url,
        project_id="p",
        ca_file=ca_file,
    )
    keys = Credentials("AK", Secret("SK"))
    storage, training = ObsStorage(profile, keys, calls), ModelArtsTraining(profile, keys, calls)
    errors = []
    for request in (storage.buckets, training.engines):
        with pytest.raises(AppError) as caught:
            await request()
        errors.append(caught.value)
    storage.close()
    training.close()
    return errors


async def test_an_unknown_certificate_is_not_accepted(tmp_path: Path, calls: BlockingCalls) -> None:
    async with SecureServer(tmp_path) as server:
        for error in await ask_both(server, calls, ""):
            assert isinstance(error, Unreachable)
            assert "certificate" in error.sentence()
        assert server.requests == 0


async def test_the_ca_file_of_the_profile_is_trusted(tmp_path: Path, calls: BlockingCalls) -> None:
    async with SecureServer(tmp_path) as server:
        for error in await ask_both(server, calls, str(server.ca_file)):
            assert not isinstance(error, Unreachable)
            assert "404" in error.detail
        assert server.requests == 2


async def test_a_certificate_for_another_host_is_not_accepted(tmp_path: Path, calls: BlockingCalls) -> None:
    async with SecureServer(tmp_path, "elsewhere.example") as server:
        for error in await ask_both(server, calls, str(server.ca_file)):
            assert isinstance(error, Unreachable)
        assert server.requests == 0
