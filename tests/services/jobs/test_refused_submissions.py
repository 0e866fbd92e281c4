"""What is refused, here or by the service, is not sent and says why; who asks for patience is given it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import Answer
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import (
    CREATES,
    SEARCHES,
    Bench,
    Sending,
    bad_line,
    count,
    jobs_named,
    over,
    spec,
    was_not_sent,
)
from traindeck.domain.errors import (
    AppError,
    Conflict,
    InvalidInput,
    LocalTrouble,
    NotFound,
    Throttled,
    Unreachable,
)
from traindeck.domain.jobs.availability import sold_out_at
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.texts import CHINESE
from traindeck.runtime import language

NAME_EXISTS = Answer(
    400,
    b'{"error_code": "ModelArts.2751", "error_msg": "exists"}',
    {"Content-Type": "application/json"},
)
THROTTLED = Answer(429, b'{"error_code": "ModelArts.2799", "error_msg": "slow"}', {"Content-Type": "application/json"})

pytestmark = pytest.mark.usefixtures("no_waiting")


def nothing_can_be_written(bench: Bench) -> None:
    """From now on, to the records; SQLite itself says so."""
    disk = bench.records._records._disk
    assert disk is not None
    bench.records._writer._pool.submit(lambda: disk.execute("PRAGMA query_only = ON")).result()


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"flavor": ""}, InvalidInput),
        ({"parameters": (("lr", 1), ("lr", 2))}, InvalidInput),
        ({"boot": "missing.py"}, NotFound),
        ({"ignore": ("*.py",)}, InvalidInput),
        ({"code_folder": "nowhere"}, NotFound),
    ],
)
async def test_what_cannot_be_sent_sends_nothing(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path, changes: dict[str, Any], kind: type[AppError]
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        with pytest.raises(kind):
            await bench.submission.submit(replace(spec(), **changes), code)
        assert proxy.seen == []
        assert await bench.records.all() == []


async def test_a_job_for_the_lab_is_not_sent_to_a_paid_account(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.add_account("paid")
        with pytest.raises(InvalidInput, match="are charged"):
            await bench.submission.submit(spec(), code, "paid")
        assert await bench.records.all() == []


async def test_a_refusal_of_the_service_is_not_sent_and_says_why(sending: Sending, code: Path) -> None:
    quota = Answer(400, b'{"error_code": "ModelArts.2815", "error_msg": "quota"}', NAME_EXISTS.headers)
    async with sending() as (proxy, bench):
        proxy.faults.append(quota)
        with pytest.raises(Conflict, match="quota"):
            await bench.submitted(code)
        await was_not_sent(bench, "quota")
        assert count(proxy, CREATES) == 1 and count(proxy, SEARCHES) == 0


async def test_a_missing_bucket_stops_before_the_request(lab: LabProcess, way: Way, code: Path, tmp_path: Path) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        elsewhere = (Channel("train_url", "obs://no-such-bucket/out/{run}/"),)
        with pytest.raises(NotFound, match="no-such-bucket"):
            await bench.submission.submit(spec(outputs=elsewhere, log_to=""), code)
        await was_not_sent(bench, "no-such-bucket")
        assert count(proxy, CREATES) == 0


async def test_a_service_that_was_never_reached_got_nothing(
    way: Way, unused_port: int, code: Path, tmp_path: Path
) -> None:
    nowhere = way.at(modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
    async with Bench(tmp_path / "home", nowhere) as bench:
        await bench.prepare()
        with pytest.raises(Unreachable):
            await bench.submitted(code)
        (run,) = await bench.records.all()
        assert run.state is RunState.NOT_SENT
        in_english = str(run.reason)
        language.speak(CHINESE)
        assert str(run.reason) != in_english


async def test_a_service_that_takes_no_more_for_now_is_asked_again(sending: Sending, way: Way, code: Path) -> None:
    async with sending() as (proxy, bench):
        bench.submission.throttled_s = (0.01, 0.02)
        asks_for_time = replace(THROTTLED, headers={**THROTTLED.headers, "Retry-After": "1"})
        proxy.faults.extend([THROTTLED, asks_for_time, THROTTLED])
        stages: list[str] = []
        begin = time.monotonic()
        run = await bench.submission.submit(spec(), code, stage=lambda words: stages.append(str(words)))
        assert time.monotonic() - begin >= 1.0, "as long as it asked for"
        assert run.state.is_remote and count(proxy, CREATES) == 4 and await jobs_named(way, run.name) == 1
        assert sum("limiting requests. Trying again in 1 s" in words for words in stages) == 3


@pytest.mark.parametrize("status", [429, 502, 503])
async def test_a_page_of_a_busy_gateway_is_no_sign_in_page(sending: Sending, way: Way, code: Path, status: int) -> None:
    page = Answer(status, b"<!DOCTYPE html><html><body>Busy</body></html>", {"Content-Type": "text/html"})
    async with sending() as (proxy, bench):
        bench.submission.throttled_s = (0.01, 0.02)
        proxy.faults.extend([page] * (2 if status == 429 else 1))
        stages: list[str] = []
        run = await bench.submission.submit(spec(), code, stage=lambda words: stages.append(str(words)))
        # Only 429 says for certain that nothing was made.
        assert run.state.is_remote is (status == 429)
        assert count(proxy, CREATES) == (3 if status == 429 else 1)
        assert await jobs_named(way, run.name) == (status == 429)
        said = f"{stages} {run.reason}".lower()
        assert "sign" not in said and "web page" not in said and "cannot be read" not in said
        proxy.only = SEARCHES
        proxy.faults.append(page)
        assert await bench.submission.settle() == [], "a look is repeated"


async def test_the_labs_own_busy_page_is_asked_again(lab: LabProcess, way: Way, code: Path, tmp_path: Path) -> None:
    control = Control(lab.root)
    create = {"service": "modelarts", "operation": "POST */training-jobs"}
    control.rules({"kind": "error", "status": 429, "body": "html", "count": 2, **create})
    try:
        async with Bench(tmp_path / "home", way) as bench:
            await bench.prepare()
            bench.submission.throttled_s = (0.01, 0.02)
            run = await bench.submitted(code)
            assert run.state.is_remote and await jobs_named(way, run.name) == 1
    finally:
        control.rules()


async def test_who_asks_for_too_much_patience_is_told_of_at_once(sending: Sending, code: Path) -> None:
    async with sending() as (proxy, bench):
        proxy.faults.append(replace(THROTTLED, headers={**THROTTLED.headers, "Retry-After": "3600"}))
        with pytest.raises(Throttled):
            await bench.submitted(code)
        await was_not_sent(bench, "limiting requests")
        assert count(proxy, CREATES) == 1


async def test_nothing_is_sent_when_the_intent_cannot_be_written(sending: Sending, code: Path) -> None:
    async with sending() as (proxy, bench):

        def fill(run: Run) -> None:
            if run.state is RunState.PREPARING:
                nothing_can_be_written(bench)

        bench.submission.changed.add(fill)
        with pytest.raises(LocalTrouble):
            await bench.submitted(code)
        assert count(proxy, CREATES) == 0


async def test_a_job_that_was_made_is_never_called_not_sent_for_want_of_room(
    sending: Sending, way: Way, code: Path
) -> None:
    async with sending() as (proxy, bench):

        def fill(run: Run) -> None:
            if run.state is RunState.SUBMITTING:
                nothing_can_be_written(bench)

        bench.submission.changed.add(fill)
        run = await bench.submitted(code)
        assert run.state.is_remote and run.job_id
        assert (await bench.records.existing(run.id)).job_id == run.job_id
        assert count(proxy, CREATES) == await jobs_named(way, run.name) == 1


SOLD_OUT_ANSWER = Answer(
    400, b'{"error_code": "ModelArts.4992", "error_msg": "none"}', {"Content-Type": "application/json"}
)


async def test_that_a_specification_was_sold_out_is_known_until_a_job_gets_it(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as line, Bench(tmp_path / "home", over(line, way)) as bench:
        await bench.prepare()
        flavor = spec().flavor
        line.faults.append(SOLD_OUT_ANSWER)
        with pytest.raises(AppError, match="sold out"):
            await bench.submitted(code)
        (refused,) = await bench.records.all()
        assert sold_out_at([refused], flavor, refused.profile) == refused.created
        assert sold_out_at([refused], flavor, "another") is None
        assert sold_out_at([refused], "another", refused.profile) is None
        await bench.submitted(code)
        assert sold_out_at(await bench.records.all(), flavor, refused.profile) is None
