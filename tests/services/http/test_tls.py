"""Whom the adapters trust: known certificates for the right name, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.servers.secure import SecureServer
from support.stores.stores import plane_at
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.errors import AppError, NotTrusted, Unreachable
from traindeck.domain.storage.objects import ObjectPath
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


@pytest.mark.parametrize(
    ("names", "how", "is_known", "words", "wants_ca"),
    [
        ((), {"ended": True}, True, "has expired", False),
        ((), {"early": True}, True, "is not valid yet", False),
        (("elsewhere.example",), {}, True, "issued for a different host", False),
        ((), {}, False, "is self-signed", True),
        ((), {"issued": True}, False, "unknown authority", True),
    ],
)
async def test_each_certificate_that_is_not_accepted_has_a_sentence_of_its_own(
    tmp_path: Path,
    calls: BlockingCalls,
    names: tuple[str, ...],
    how: dict[str, bool],
    words: str,
    *,
    is_known: bool,
    wants_ca: bool,
) -> None:
    async with SecureServer(tmp_path, *names, **how) as server:
        ca_file = str(server.ca_file) if is_known else ""
        errors = await ask_both(server, calls, ca_file)
        async with plane_at(server.url, ca_file) as plane:
            with pytest.raises(AppError) as caught:
                await plane.head(ObjectPath("bucket", "k"))
        for error in (*errors, caught.value):
            assert isinstance(error, NotTrusted)
            assert words in str(error) and ("CA file" in error.sentence()) is wants_ca
        assert server.requests == 0


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
