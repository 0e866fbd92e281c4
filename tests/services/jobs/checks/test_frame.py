"""All checks at once: none waits for another's trouble, no question is asked twice, and what failed is not green."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from support.job_corpus import GOOD, checks_of
from support.servers.faults import FaultyProxy
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import until
from support.work_bench import Bench
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import NotFound
from traindeck.domain.jobs.checks import CheckFinding, CheckLevel
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.texts import text
from traindeck.services.jobs.checks import frame
from traindeck.services.jobs.checks.code_facts import CodeFacts, SourceMemory
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, green, levels, run_checks

BASE = next(case for case in GOOD if case.name == "two inputs and two outputs")
MOST_REQUESTS = 40
"""One after another, each with a connection of its own and 100 ms away: still no 8 s."""


def check_of(
    name: str, look: Callable[[CheckedJob], Awaitable[Iterable[CheckAnswer]]], *, remote: bool = False
) -> JobCheck:
    return JobCheck(name, text("{name}", name=name), frozenset({"name"}), look, levels(*CheckLevel), is_remote=remote)


async def fine(_: CheckedJob) -> Iterable[CheckAnswer]:
    return [green(text("good"))]


def job_of(bench: Bench, folder: Path) -> CheckedJob:
    service = checks_of(bench).facts.of(LAB)
    profile = bench.connections.profile(LAB)
    return CheckedJob(JobSpec(name="one"), profile, CodeFacts(folder, (), bench.disk, SourceMemory()), service)


async def test_a_check_that_fails_says_so_and_the_others_go_on(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: CheckedJob) -> Iterable[CheckAnswer]:
        await asyncio.Event().wait()
        return []

    async def mistaken(_: CheckedJob) -> Iterable[CheckAnswer]:
        raise ZeroDivisionError("of ours")

    async def missing(_: CheckedJob) -> Iterable[CheckAnswer]:
        raise NotFound(text("It is gone."), text("Look for it."))

    monkeypatch.setattr(frame, "REMOTE_LIMIT_S", 0.05)
    checks = [
        check_of("never", never, remote=True), check_of("mistaken", mistaken), check_of("missing", missing),
        check_of("fine", fine),
    ]  # fmt: skip
    told: list[str] = []
    async with Bench(tmp_path / "home", way) as bench:
        report = await run_checks(
            checks, job_of(bench, tmp_path), found=lambda found: told.extend(one.check for one in found)
        )
    facts = {one.check: str(one.fact) for one in report.of(CheckLevel.NOT_CHECKED)}
    assert "no response" in facts["never"] and "ZeroDivisionError: of ours" in facts["mistaken"]
    assert facts["missing"] == "Not checked: It is gone."
    assert [one.check for one in report.of(CheckLevel.GREEN)] == ["fine"]
    assert sorted(told) == ["fine", "missing", "mistaken", "never"] and told[-1] == "never"


async def test_one_that_is_cancelled_leaves_nothing_running(way: Way, tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def long(_: CheckedJob) -> Iterable[CheckAnswer]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return []

    async with Bench(tmp_path / "home", way) as bench:
        task = asyncio.ensure_future(run_checks([check_of("long", long)], job_of(bench, tmp_path)))
        await begun.wait()
        task.cancel()
        await asyncio.wait([task])
    assert task.cancelled() and ended.is_set()


@asynccontextmanager
async def counted(
    bench: Bench, lab: LabProcess, way: Way, credentials: Credentials | None = None
) -> AsyncIterator[list[str]]:
    """All that an account called “counted” asks."""
    async with FaultyProxy(lab.modelarts, way.resign) as jobs, FaultyProxy(lab.obs) as objects:
        await bench.add_account("counted", credentials, modelarts_endpoint=jobs.url, obs_endpoint=objects.url)
        seen: list[str] = []
        jobs.seen = objects.seen = seen
        yield seen


async def test_all_remote_checks_ask_little_enough_to_be_quick_from_afar(
    lab: LabProcess, way: Way, tmp_path: Path
) -> None:
    code, spec = BASE.lay_out(tmp_path / "code"), BASE.spec()
    async with Bench(tmp_path / "home", way) as bench, counted(bench, lab, way) as seen:
        checks = checks_of(bench)
        report = await checks.check(spec, code, "counted")
        assert not report.is_red and [one.check for one in report.of(CheckLevel.NOT_CHECKED)] == ["cost"]
        assert len(seen) <= MOST_REQUESTS and len(seen) == len(set(seen)), seen
        # What a field does not touch is not asked again: here nothing but the quota and what lives now.
        del seen[:]
        await checks.check(spec, code, "counted")
        assert len(seen) <= 3, seen
        del seen[:]
        changed = replace(spec, parameters=(("epochs", 7),))
        again = await checks.check(changed, code, "counted", known=report)
        assert seen == [] and [one.level for one in again.findings] == [one.level for one in report.findings]
        del seen[:]
        moved = replace(spec, inputs=(Channel("data_url", "obs://corpus/full/"),))
        await checks.check(moved, code, "counted", known=again)
        assert 0 < len(seen) <= 6 and not any("training" in line for line in seen), seen


async def test_keys_that_are_refused_are_not_shown_again_and_again(
    lab: LabProcess, way: Way, tmp_path: Path, no_waiting: None
) -> None:
    wrong = Credentials(lab.access_key, Secret("not-the-right-one"))
    async with Bench(tmp_path / "home", way) as bench, counted(bench, lab, way, wrong) as seen:
        objects_only = re.compile("training|authorizations|pools")
        report = await checks_of(bench).check(BASE.spec(), BASE.lay_out(tmp_path / "code"), "counted")
        asked = [line for line in seen if not objects_only.search(line)]
    (keys,) = (one for one in report.findings if one.check == "keys")
    assert keys.level is CheckLevel.RED and len(asked) == 1 and len(seen) <= 3, seen


async def test_a_file_that_has_not_changed_is_read_once(way: Way, tmp_path: Path) -> None:
    code = BASE.lay_out(tmp_path / "code")
    async with Bench(tmp_path / "home", way) as bench:
        checks = checks_of(bench)

        async def syntax() -> CheckFinding:
            report = await checks.check(BASE.spec(), code, LAB)
            (one,) = (one for one in report.findings if one.check == "syntax")
            return one

        assert (await syntax()).level is CheckLevel.GREEN
        known = dict(checks.memory._known)
        assert (await syntax()).level is CheckLevel.GREEN and checks.memory._known == known
        (code / "train.py").write_text("print(\n", encoding="utf-8")
        found = await syntax()
        assert (found.level, found.file, found.line) == (CheckLevel.RED, "train.py", 1)


async def test_findings_come_while_others_still_look(way: Way, tmp_path: Path) -> None:
    go_on = asyncio.Event()
    told: list[str] = []

    async def waits(_: CheckedJob) -> Iterable[CheckAnswer]:
        await go_on.wait()
        return [green(text("late"))]

    async with Bench(tmp_path / "home", way) as bench:
        work = asyncio.ensure_future(
            run_checks(
                [check_of("waits", waits), check_of("fine", fine)],
                job_of(bench, tmp_path),
                found=lambda found: told.extend(one.check for one in found),
            )
        )
        await until(lambda: told == ["fine"])
        go_on.set()
        assert [one.check for one in (await work).findings] == ["waits", "fine"]
