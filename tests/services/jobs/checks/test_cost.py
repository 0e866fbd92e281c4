"""What a job would cost beside what the month may: told before it is sent, with what nobody knows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.job_corpus import CLOUD, GOOD, checks_of, settled_in
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import Bench
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.checks import CheckFinding, CheckLevel, NotAccepted
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.services.jobs.checks.job_checks import let_through
from traindeck.services.jobs.submission import nobody_accepts
from traindeck.store.price_file import PriceFile

pytestmark = pytest.mark.usefixtures("no_waiting")
BASE = next(case for case in GOOD if case.name == "as it is")
PRICED = replace(BASE.spec(), flavor="modelarts.vm.cpu.2u", stop_after="6h")


def ended(number: int, flavor: str, duration_ms: int | None) -> Run:
    """A run of this month on an account that is charged."""
    now = datetime.now(UTC)
    form = JobSpec(name="old", flavor=flavor)
    began = now - timedelta(hours=1) if duration_ms is not None else None
    return Run(f"aabb1{number:03}", number, "old", CLOUD, form, RunState.COMPLETED, now, started=began, ended=now,
               duration_ms=duration_ms)  # fmt: skip


async def test_the_cost_is_told_with_the_month_and_what_is_unknown_of_it(
    lab: LabProcess, way: Way, tmp_path: Path
) -> None:
    code = BASE.lay_out(tmp_path / "code")
    async with Bench(tmp_path / "home", way) as bench, settled_in(bench, lab):
        prices = PriceFile(bench.paths.prices)

        async def cost(spec: JobSpec, profile: str = CLOUD) -> CheckFinding:
            report = await checks_of(bench).check(spec, code, profile)
            (found,) = (one for one in report.findings if one.check == "cost")
            if found.level is CheckLevel.AMBER and not report.is_red:
                with pytest.raises(NotAccepted):
                    await let_through(report, nobody_accepts)
            return found

        good = await cost(PRICED)
        assert (good.level, str(good.fact)) == (
            CheckLevel.GREEN, "It costs at most 6.00 CNY; 0.00 CNY are spent this month.",
        )  # fmt: skip
        prices.change(flavors={}, currency=None, limit=5)
        over = await cost(PRICED)
        assert over.level is CheckLevel.AMBER and "this month 0.00 CNY of 5.00 CNY are spent" in str(over.fact)
        assert str(over.hint).startswith("Shorten the time")
        free = await cost(PRICED, LAB)
        assert (free.level, str(free.fact)) == (CheckLevel.GREEN, "It is not charged.")

        # What a run of this month cost is not known: nobody can tell that this one is not too much.
        prices.change(flavors={}, currency=None, limit=1000)
        await bench.records.add(ended(1, "modelarts.unheard.of", None))
        doubtful = await cost(PRICED)
        assert doubtful.level is CheckLevel.AMBER and "What 1 run of this month cost is not known" in str(doubtful.fact)
        assert "traindeck billing prices" in str(doubtful.hint)
        prices.change(flavors={}, currency=None, limit=0)
        unlimited = await cost(PRICED)
        assert unlimited.level is CheckLevel.GREEN and "comes on top" in str(unlimited.fact)

        prices.path.write_text("flavors = 1", encoding="utf-8")
        broken = await cost(PRICED)
        assert broken.level is CheckLevel.NOT_CHECKED and "cannot be read" in str(broken.fact)
