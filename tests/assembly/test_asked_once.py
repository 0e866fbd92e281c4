"""How often a submission asks the keyring for its keys, and the Lab whether it runs; counted where they are asked."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import FaultyProxy, Request
from support.servers.lab_process import LabProcess
from support.servers.secret_service import SecretService, is_installed
from support.stores.way import Way
from support.work_bench import BUCKET, code_in, spec
from traindeck.assembly.core import Core
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.jobs.job_spec import Target
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.secrets import CHOICE_VARIABLE
from traindeck.store.paths import Paths

FILES = 42
MOST = 3
"""Once for all checks, once to upload the code, once to send the job: the keys may be others by then."""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "home")


@pytest.fixture
def lab(paths: Paths) -> Iterator[LabProcess]:
    with LabProcess(paths.lab) as process:
        yield process


@pytest.fixture
def way(lab: LabProcess) -> Iterator[Way]:
    with closing(BlockingCalls(1, "unused")) as calls:
        yield Way.to(lab, calls)


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecretService]:
    if not is_installed:
        pytest.skip("gnome-keyring is Linux's")
    with SecretService(tmp_path / "keyring") as service:
        for name, value in service.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv(CHOICE_VARIABLE)
        yield service


def code(folder: Path) -> Path:
    code_in(folder)
    for number in range(FILES - 1):
        (folder / f"part_{number:02}.py").write_text(f"number = {number}\n", encoding="utf-8")
    return folder


@asynccontextmanager
async def line_to(lab: LabProcess, way: Way) -> AsyncIterator[FaultyProxy]:
    """Whoever looks for this Lab comes by here."""

    def sign_again(request: Request, host: str) -> None:
        if any(name.lower() == "authorization" for name in request.headers):
            way.resign(request, host)

    running = lab.root / "running.json"
    async with FaultyProxy(lab.modelarts, sign_again) as line:
        facts = json.loads(running.read_text("utf-8"))
        running.write_text(json.dumps({**facts, "modelarts": line.url, "iam": line.url}), "utf-8")
        yield line


@pytest.mark.limit(120)
async def test_the_lab_is_asked_thrice_whether_it_runs(lab: LabProcess, way: Way, paths: Paths, tmp_path: Path) -> None:
    async with line_to(lab, way) as line, Core(paths) as core:
        await (await core.connections.open(LAB)).storage.create_bucket(BUCKET)
        line.seen.clear()
        run = await core.submission.submit(spec(), code(tmp_path / "code"))
        asked = [one for one in line.seen if one.endswith("/lab/status")]
        assert len(asked) <= MOST, asked
        assert [one for one in line.seen if one.startswith("POST") and one.endswith("/training-jobs")]
        assert run.job_id


@pytest.mark.limit(120)
@pytest.mark.skipif(os.name == "nt", reason="the Secret Service is Linux's")
async def test_the_keyring_is_asked_thrice_for_the_keys(
    keyring: SecretService, lab: LabProcess, way: Way, paths: Paths, tmp_path: Path
) -> None:
    async with Core(paths) as core:
        addresses: dict[str, Any] = {
            "obs_endpoint": lab.obs, "modelarts_endpoint": lab.modelarts, "iam_endpoint": lab.iam,
        }  # fmt: skip
        profile = Profile("work", Provider.MODELARTS, lab.region, project_id=lab.project_id, **addresses)
        await core.profiles.add(profile, way.credentials)
        await (await core.connections.open("work")).storage.create_bucket(BUCKET)
        with keyring.reads_counted() as reads:
            before = reads.up_to_now()
            run = await core.submission.submit(spec(target=Target.MODELARTS), code(tmp_path / "code"), "work")
            assert 0 < reads.up_to_now() - before <= MOST
        assert run.job_id
