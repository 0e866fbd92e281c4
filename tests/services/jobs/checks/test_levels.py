"""Each check is seen to say all it can: a forgotten one fails here."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.job_corpus import BROKEN, CLOUD, GOOD, JobCase, checks_of, settled_in
from support.places import closed_port
from support.servers.faults import Answer, FaultyProxy
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import Bench
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.checks import CheckLevel, CheckReport
from traindeck.domain.jobs.job import Isolation
from traindeck.domain.jobs.job_spec import Channel
from traindeck.services.jobs.checks.all_checks import ALL_CHECKS
from traindeck.services.jobs.checks.job_checks import JobChecks
from traindeck.services.jobs.checks.lab_limits import LabPython
from traindeck.store.price_file import PriceFile

pytestmark = pytest.mark.usefixtures("no_waiting")

BASE = next(case for case in GOOD if case.name == "as it is")
JSON = {"Content-Type": "application/json"}
CUDA = "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"


def answer(document: object, status: int = 200) -> Answer:
    return Answer(status, json.dumps(document).encode(), JSON)


@asynccontextmanager
async def spoiled(
    bench: Bench, lab: LabProcess, way: Way, of: str, only: str, *faults: Answer
) -> AsyncIterator[FaultyProxy]:
    """The account “spoiled”, to whose questions of this kind somebody else gives these answers, the last for ever."""
    upstream = lab.modelarts if of == "modelarts" else lab.obs
    async with FaultyProxy(upstream, way.resign if of == "modelarts" else None) as proxy:
        proxy.only = re.compile(only)
        proxy.faults.extend(faults * 20)
        addresses: dict[str, Any] = {f"{of}_endpoint": proxy.url}
        await bench.add_account("spoiled", **addresses)
        yield proxy


async def checked(bench: Bench, folder: Path, profile: str, **changes: Any) -> CheckReport:
    return await checks_of(bench).check(replace(BASE.spec(), **changes), folder, profile)


async def of_a_dead_service(bench: Bench, code: Path) -> CheckReport:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    await bench.add_account("dead", obs_endpoint=nowhere, modelarts_endpoint=nowhere)
    return await checked(bench, code, "dead", pool="pool-1", outputs=(Channel("train_url", "obs://corpus/out/"),))


async def test_a_dead_service_leaves_every_remote_check_open(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        report = await of_a_dead_service(bench, BASE.lay_out(tmp_path / "code"))
    level_of = {finding.check: finding.level for finding in report.findings}
    remote = {check.id for check in ALL_CHECKS if check.is_remote} - {"lab-limits"}
    assert {level_of[check] for check in remote} == {CheckLevel.NOT_CHECKED}
    assert all(str(one.fact).startswith("Not checked: ") and one.hint for one in report.of(CheckLevel.NOT_CHECKED))
    assert level_of["syntax"] is CheckLevel.GREEN


def one_of_each() -> list[JobCase]:
    """Of the broken ones: the corpus itself has a test of its own."""
    laid = [case for case in BROKEN if case.can_be_laid_out]
    return list({(case.content["check"], case.content["level"]): case for case in laid}.values())


async def reports(bench: Bench, lab: LabProcess, way: Way, folder: Path) -> AsyncIterator[CheckReport]:
    """What the corpus cannot bring about, because it is not in the job."""
    code = BASE.lay_out(folder / "code")
    yield await of_a_dead_service(bench, code)
    prices = PriceFile(bench.paths.prices)
    prices.change(flavors={}, currency=None, limit=0)
    yield await checked(bench, code, CLOUD, flavor="modelarts.vm.cpu.8u")
    prices.change(flavors={}, currency=None, limit=1000)
    async with spoiled(bench, lab, way, "modelarts", "authorizations", answer({"auth": []})):
        yield await checked(bench, code, "spoiled")
    no_right = answer({"error_code": "ModelArts.0108", "error_msg": "no"}, 403)
    async with spoiled(bench, lab, way, "modelarts", "authorizations", no_right):
        yield await checked(bench, code, "spoiled")
    full = answer({"quotas": [{"resource": "job-num", "quota": 5, "used": 5}]})
    async with spoiled(bench, lab, way, "modelarts", "quotas", full):
        yield await checked(bench, code, "spoiled")
    async with spoiled(bench, lab, way, "modelarts", "quotas", answer({"quotas": []})):
        yield await checked(bench, code, "spoiled")
    for phase, state in (("Running", "Enabled"), ("Creating", "Enabled"), ("Running", "Disabled")):
        pool = {
            "metadata": {"name": "pool-1", "labels": {"os.modelarts/name": "mine"}},
            "status": {"phase": phase, "scope": [{"scopeType": "Train", "state": state}]},
        }
        async with spoiled(bench, lab, way, "modelarts", "/pools", answer({"items": [pool]})):
            yield await checked(bench, code, "spoiled", pool="pool-1")
    nameless = Answer(200, b"<ListAllMyBucketsResult><Buckets><Bucket><Name>corpus</Name></Bucket></Buckets>"
                      b"</ListAllMyBucketsResult>", {"Content-Type": "application/xml"})  # fmt: skip
    async with spoiled(bench, lab, way, "obs", r"GET /(\?|$)", nameless):
        yield await checked(bench, code, "spoiled")
    denied = Answer(403, b"<Error><Code>AccessDenied</Code></Error>", {"Content-Type": "application/xml"})
    async with spoiled(bench, lab, way, "obs", "encryption", denied):
        yield await checked(bench, code, "spoiled")
    control = Control(lab.root)
    for minutes in (5, 30):
        control.rules({"kind": "clock-skew", "seconds": minutes * 60})
        yield await checked(bench, code, CLOUD)
    control.rules()
    await bench.add_account("rotated", Credentials(lab.access_key, Secret("not-the-right-one")))
    yield await checked(bench, code, "rotated")
    await bench.add_account("moved", project_id="0" * 32)
    yield await checked(bench, code, "moved")
    many, crowd = (Channel("data_url", f"obs://{bucket}/data/") for bucket in ("many", "crowded"))
    yield await checked(bench, code, LAB, inputs=(many,))
    yield await checked(bench, code, LAB, inputs=(crowd,))
    free = {"flavor": "modelarts.p3.large.public.free", "engine": "PyTorch", "engine_version": CUDA}
    yield await checked(bench, code, LAB, **free)
    yield await checked(bench, folder / "nowhere", LAB)
    large = folder / "large"
    JobCase("", False, {"files": {"train.py": "x = 1\n" * 200_000}}).lay_out(large)
    yield await checked(bench, large, LAB)
    broken = checks_of(bench, LabPython("/usr/bin/none", "", "it cannot be run"))
    yield await broken.check(BASE.spec(), code, LAB)
    for isolation in (Isolation.FULL, Isolation.NONE):
        told = checks_of(bench, LabPython("/usr/bin/python3", "3.11.2", isolation=isolation))
        report = await told.check(BASE.spec(), code, LAB)
        (one,) = (found for found in report.findings if found.check == "lab-isolation")
        assert ("The job is isolated" in str(one.fact)) is (isolation is Isolation.FULL)
        yield report
    yield await JobChecks(checks_of(bench).facts, bench.disk).check(BASE.spec(), code, LAB)


@pytest.mark.limit(120)
async def test_every_check_says_all_it_can(lab: LabProcess, way: Way, tmp_path: Path) -> None:
    seen: dict[tuple[str, CheckLevel], str] = {}
    async with Bench(tmp_path / "home", way) as bench, settled_in(bench, lab):
        found = [report async for report in reports(bench, lab, way, tmp_path)]
        checks = checks_of(bench)
        for number, case in enumerate((*one_of_each(), *GOOD)):
            found.append(await checks.check(case.spec(), case.lay_out(tmp_path / str(number)), case.profile))
    for report in found:
        seen |= {(one.check, one.level): str(one.fact) for one in report.findings}
    said = {(check.id, level) for check in ALL_CHECKS for level in check.levels}
    assert {f"{check} is never {level.value}" for check, level in said - seen.keys()} == set()
    assert {f"{check} is {level.value}: {seen[check, level]}" for check, level in seen.keys() - said} == set()
