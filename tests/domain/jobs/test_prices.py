"""What jobs cost, where it is known, and that what is not known is never nothing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.choices import Flavor
from traindeck.domain.jobs.job import RemoteJob, Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.prices import STARTER, PriceTable, estimate, money_words, month_cost, price_table

PRICES = PriceTable("CNY", 100.0, {"npu.1": 20.0}, {"modelarts.gpu": 5.0})
NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)


def run(hours: float, *, flavor: str = "npu.1", account: str = "cloud", **changes: object) -> Run:
    form = JobSpec(name="job", flavor=flavor)
    started = NOW - timedelta(hours=hours)
    one = Run(
        "r1", 1, "job-1", account, form, RunState.COMPLETED, started, started=started, ended=NOW,
        duration_ms=int(hours * 3_600_000),
    )  # fmt: skip
    return replace(one, **changes)  # type: ignore[arg-type]


def test_the_table_that_comes_along_knows_no_price_and_says_how_to_write_one() -> None:
    table = price_table(STARTER, "prices.toml")
    assert table == PriceTable() and table.per_hour("npu.1", 1, "cloud") is None
    assert "#" in STARTER and "[billing_codes]" in STARTER


def test_a_price_is_that_of_the_specification_else_of_its_billing_code_and_free_is_known_to_be_free() -> None:
    assert PRICES.per_hour("npu.1", 3, "cloud") == 60.0
    assert PRICES.per_hour("gpu.8", 2, "cloud", "modelarts.gpu", 8) == 80.0
    assert PRICES.per_hour("npu.8", 1, "cloud", "modelarts.npu", 8) is None
    assert PRICES.per_hour("modelarts.p3.large.public.free", 1, "cloud") == 0.0 == PRICES.per_hour("npu.8", 1, LAB)
    assert PRICES.per_hour("", 1, "cloud", "modelarts.gpu", 1, pool="pool-1") is None, "a pool is paid for by itself"
    job = RemoteJob("j", "job", "Running", flavor="gpu.8", nodes=2, billing_code="modelarts.gpu", billing_units=8)
    assert PRICES.of_job(job, "cloud") == 80.0


@pytest.mark.parametrize(
    "source",
    ["[flavors]\na = -1", "[flavors]\na = nan", "[flavors]\na = true", "[flavors]\na = '7'", "currency = 7",
     "monthly_limit = -1", "limit = 5", "[flavors", "flavors = 3", "[flavors]\na = inf"],
)  # fmt: skip
def test_a_table_that_could_be_misread_is_refused_with_its_name(source: str) -> None:
    with pytest.raises(InvalidInput, match=r"prices\.toml"):
        price_table(source, "prices.toml")


def test_the_most_a_form_can_cost() -> None:
    form = JobSpec(name="job", flavor="npu.1", nodes=2, stop_after="4h")
    assert estimate(form, "cloud", PRICES).at_most == 160.0
    assert estimate(replace(form, stop_after="none"), "cloud", PRICES).at_most is None
    assert estimate(replace(form, stop_after="soon"), "cloud", PRICES).at_most is None
    assert estimate(replace(form, flavor="gpu"), "cloud", PRICES).at_most is None
    offered = Flavor("gpu", "gpu", "GPU", billing_code="modelarts.gpu", billing_units=2)
    assert estimate(replace(form, flavor="gpu"), "cloud", PRICES, offered).at_most == 80.0
    assert estimate(replace(form, stop_after="none"), LAB, PRICES).at_most == 0.0


def test_a_month_counts_what_of_each_run_was_in_it_and_tells_what_it_does_not_know() -> None:
    month = month_cost([run(2), run(1, account=LAB)], PRICES, NOW)
    assert (month.spent, month.known_runs, month.unknown_runs, month.share) == (40.0, 1, 0, 0.4)
    assert not month.is_near and not month.is_over_with(60.0) and month.is_over_with(60.1)
    assert month.is_over_with(None), "what nobody knows may be too much"
    # It began long before the month.
    began = month_cost([run(24 * 40)], PRICES, NOW)
    assert began.spent == pytest.approx(20.0 * (NOW.astimezone() - began.begins).total_seconds() / 3600)
    unknown = month_cost([run(3, flavor="npu.8"), run(1, started=None, duration_ms=None)], PRICES, NOW)
    assert (unknown.spent, unknown.unknown_runs, unknown.unknown_hours) == (0.0, 2, 3.0)
    assert unknown.is_over_with(0.1), "what some of it cost nobody knows"
    assert not unknown.is_over_by(99.0) and unknown.is_over_by(100.1)
    waiting = run(0, state=RunState.PENDING, started=None, ended=None, duration_ms=None)
    assert month_cost([waiting], PRICES, NOW).unknown_runs == 0
    live = run(4, state=RunState.RUNNING, ended=None, duration_ms=None)
    near = month_cost([live], PRICES, NOW)
    assert near.spent == 80.0 and near.is_near and not near.is_over
    assert month_cost([run(5)], PRICES, NOW).is_over
    assert month_cost([run(5)], replace(PRICES, monthly_limit=0.0), NOW).share is None


def test_money_is_told_with_its_currency_and_the_unknown_stays_unknown() -> None:
    assert money_words(1234.5, "CNY") == "1,234.50 CNY" and money_words(None, "CNY") is None
