"""Jobs as people write them: what is wrong is found before anything is sent, and nothing is said of what is right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from support.job_corpus import BROKEN, GOOD, JobCase, checks_of, settled_in
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import Bench
from traindeck.domain.jobs.checks import CheckLevel, CheckReport
from traindeck.services.jobs.checks.all_checks import ALL_CHECKS


async def reports_of(cases: list[JobCase], bench: Bench, folder: Path) -> list[tuple[JobCase, CheckReport]]:
    checks = checks_of(bench)
    found = []
    for number, case in enumerate(cases):
        place = case.lay_out(folder / str(number))
        found.append((case, await checks.check(case.spec(), place, case.profile)))
    return found


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert len(BROKEN) >= 60 and len(GOOD) >= 30
    names = Counter(case.name for case in (*BROKEN, *GOOD))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.limit(120)
async def test_what_is_broken_is_named_and_what_is_good_is_not(lab: LabProcess, way: Way, tmp_path: Path) -> None:
    cases = [case for case in (*BROKEN, *GOOD) if case.can_be_laid_out]
    async with Bench(tmp_path / "home", way) as bench, settled_in(bench, lab):
        reports = await reports_of(cases, bench, tmp_path)
    missed = {case.name: problem for case, report in reports if (problem := case.missed(report))}
    assert missed == {}
    said = {(one.check, one.level) for _, report in reports for one in report.findings}
    known = {(check.id, level) for check in ALL_CHECKS for level in check.levels}
    assert said <= known | {(check.id, CheckLevel.NOT_CHECKED) for check in ALL_CHECKS}
