"""What keys are good for, where not everything is: one folder only, no right to write, a wrong clock, a short life."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import Answer, FaultyProxy
from support.servers.lab_process import LabProcess
from support.stores.lab_clients import obs_client
from support.stores.way import Way
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import CheckUp
from traindeck.domain.errors import NoRight
from traindeck.domain.storage.objects import ObjectPath
from traindeck.lab.accounts import Accounts
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.key_checks import check_keys
from traindeck.services.storage.listing import entries

BUCKET = "shared-bucket"
DENIED = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
SKEWED = b"<Error><Code>RequestTimeTooSkewed</Code><Message>clock</Message></Error>"

pytestmark = pytest.mark.usefixtures("no_waiting")


def verdicts(told: CheckUp) -> dict[str, bool | None]:
    return {check.id: check.passed for check in told.checks}


def facts(told: CheckUp) -> str:
    return " ".join(f"{check.fact} {check.hint or ''}" for check in told.checks)


async def checked(way: Way, calls: BlockingCalls) -> CheckUp:
    return await check_keys(way.profile, way.credentials, calls)


async def limited(lab: LabProcess, way: Way) -> Way:
    """An account that may read and write below team/ of a bucket that is not its own, and only read below data/."""
    accounts = Accounts(lab.root)
    if "limited" not in [account.name for account in accounts.all()]:
        accounts.add("limited")
    account = next(account for account in accounts.all() if account.name == "limited")
    who = {"ID": [f"domain/{account.domain_id}:user/{account.user_id}"]}

    def statement(actions: list[str], resource: str, **more: object) -> dict[str, object]:
        return {"Effect": "Allow", "Principal": who, "Action": actions, "Resource": [resource], **more}

    only = {"StringLike": {"prefix": ["team/*", "data/*"]}}
    policy = {
        "Statement": [
            statement(["ListBucket"], BUCKET, Condition=only),
            statement(["GetObject", "PutObject"], f"{BUCKET}/team/*"),
            statement(["GetObject"], f"{BUCKET}/data/*"),
        ]
    }
    with way.storage() as storage:
        await storage.create_bucket(BUCKET)
    keys = ("team/mine.txt", "data/x.csv", "others/secret.txt")
    await way.put(b"x", *(ObjectPath(BUCKET, key) for key in keys))

    def set_policy() -> None:
        client = obs_client(lab)
        assert client.setBucketPolicy(BUCKET, json.dumps(policy)).status < 300
        client.close()

    await asyncio.to_thread(set_policy)
    return way.at(credentials=Credentials(account.access_key, Secret(account.secret_key)), project_id="")


async def test_keys_for_one_folder_are_checked_there(lab: LabProcess, way: Way, calls: BlockingCalls) -> None:
    account = await limited(lab, way)
    team = account.at(work_in=f"obs://{BUCKET}/team/")
    told = await checked(team, calls)
    assert verdicts(told) == {"clock": True, "obs": True, "project": True, "modelarts": True, "write": True}
    assert f"Can write to obs://{BUCKET}/team/." in facts(told)
    with team.storage() as storage:
        names = [entry.path.key async for page in storage.entries(ObjectPath(BUCKET, "team/")) for entry in page]
        assert names == ["team/mine.txt"], "the check left nothing"
    told = await checked(account.at(work_in=f"obs://{BUCKET}/data/"), calls)
    assert (verdicts(told)["obs"], verdicts(told)["write"], told.accepted) == (True, False, True)
    told = await checked(account.at(work_in=f"obs://{BUCKET}/others/"), calls)
    assert (verdicts(told)["obs"], verdicts(told)["write"], told.accepted) == (False, None, True)


async def test_the_way_to_the_one_folder_can_be_walked(lab: LabProcess, way: Way) -> None:
    team = (await limited(lab, way)).at(work_in=f"obs://{BUCKET}/team/")
    with team.storage() as storage:
        top = [entry.path async for page in storage.entries(ObjectPath(BUCKET)) for entry in page]
        assert top == [ObjectPath(BUCKET, "team/")]
        with pytest.raises(NoRight):
            await anext(storage.entries(ObjectPath(BUCKET, "others/")))
    async with team.plane() as plane:
        top = [entry.path async for page in entries(plane, ObjectPath(BUCKET)) for entry in page]
        assert top == [ObjectPath(BUCKET, "team/")]
        with pytest.raises(NoRight):
            await plane.page(BUCKET, "others/", delimiter="/")
        with pytest.raises(NoRight):
            await plane.page(BUCKET)


async def test_keys_that_may_not_list_the_buckets_are_asked_for_their_place(
    lab: LabProcess, way: Way, calls: BlockingCalls
) -> None:
    account = await limited(lab, way)
    async with FaultyProxy(lab.obs) as proxy:
        proxy.faults.extend([Answer(403, DENIED)] * 2)
        there = account.at(obs_endpoint=proxy.url)
        told = await checked(there, calls)
        assert (verdicts(told)["obs"], verdicts(told)["write"], told.accepted) == (None, None, True)
        assert "enter it under Restrict to" in facts(told)
        with there.at(work_in=f"obs://{BUCKET}/team/").storage() as storage:
            assert [bucket.name for bucket in await storage.buckets()] == [BUCKET]


@pytest.mark.parametrize(("minutes", "passed"), [(0, True), (4, None), (-30, False)])
async def test_the_clock_is_compared_with_the_service(
    lab: LabProcess, way: Way, calls: BlockingCalls, minutes: int, passed: bool | None
) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes), usegmt=True)
    async with FaultyProxy(lab.obs) as proxy:
        # Refused for its clock, it is asked once more by the clock of the service.
        body, times = (SKEWED, 2) if passed is False else (DENIED, 1)
        proxy.faults.extend([Answer(403, body, {"Date": date})] * times)
        told = await checked(way.at(obs_endpoint=proxy.url), calls)
    assert verdicts(told)["clock"] is passed
    if minutes:
        assert f"off by {abs(minutes)} minutes" in facts(told)


async def test_the_end_of_temporary_keys_is_told(way: Way, calls: BlockingCalls) -> None:
    end = datetime.now(UTC) + timedelta(hours=1)
    told = await checked(way.at(credentials=replace(way.credentials, expires=end)), calls)
    assert str(told.verdict) == f"The credential is valid. It expires at {end.astimezone():%Y-%m-%d %H:%M}."


async def test_what_cannot_be_read_as_certificates_is_named(
    way: Way, calls: BlockingCalls, tmp_path: Path, unused_port: int
) -> None:
    nowhere = f"https://127.0.0.1:{unused_port}"
    secure: dict[str, Any] = {"obs_endpoint": nowhere, "iam_endpoint": nowhere, "project_id": ""}
    (tmp_path / "ca.pem").write_text("no certificate", "utf-8")
    for name in ("ca.pem", "missing.pem"):
        told = await checked(way.at(ca_file=str(tmp_path / name), **secure), calls)
        assert verdicts(told)["obs"] is False and verdicts(told)["project"] is False and told.accepted is None
        assert facts(told).count(f"{name}” is not a file of certificates") == 2
