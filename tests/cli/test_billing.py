"""`traindeck billing` as it is typed."""

from __future__ import annotations

from pathlib import Path

from support.cli_commands import Traindeck
from support.sample_home import quicken

FLAVOR = "modelarts.vm.cpu.2u"


def test_what_runs_is_listed_with_its_price_and_stopped_from_there(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    assert "No active jobs" in traindeck("billing").must_be(0).out
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    sent = traindeck("job", "submit", "p", "--set", "epochs=500", "--json").must_be(0).document
    bill = traindeck("billing", "--json").must_be(0).document
    (job,) = bill["jobs"]
    assert (job["job_id"], job["run"], job["per_hour"]) == (sent["job_id"], sent["run"], 0.0), "the Lab is free"
    assert bill["complete"] and bill["month"]["spent"] == 0
    assert sent["name"] in traindeck("billing", "jobs").must_be(0).out
    assert "No job was specified" in traindeck("billing", "stop").must_be(2).said
    stopping = traindeck("billing", "stop", sent["job_id"], "--json").must_be(0).document
    assert stopping["state"] == "Terminating"
    assert traindeck("job", "wait", "last", "--json").must_be(1).document["state"] == "Terminated"
    assert "someone else" in traindeck("billing", "stop", "their-job").must_be(2).said
    assert "no job with the ID" in traindeck("billing", "stop", "their-job", "--yes").must_be(4).said
    assert "not a region" in traindeck("billing", "--regions", "x y").must_be(2).said
    elsewhere = traindeck("billing", "--regions", "cn-north-4", "--json").must_be(1)
    assert elsewhere.document["complete"] is False and elsewhere.document["unreachable"][0]["region"] == "cn-north-4"


def test_prices_are_shown_and_changed_and_unknown_is_unknown(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    shown = traindeck("billing", "prices").must_be(0)
    assert "unknown" in shown.out and "prices.toml" in shown.said
    table = traindeck("billing", "prices", "--set", f"{FLAVOR}=1.25", "--limit", "80", "--json").must_be(0).document
    assert table["prices"][FLAVOR] == 1.25 and table["monthly_limit"] == 80.0
    assert None in table["prices"].values(), "what nobody wrote down"
    assert "1.25 CNY" in traindeck("billing", "prices").must_be(0).out
    again = traindeck("billing", "prices", "--set", f"{FLAVOR}=", "--json").must_be(0).document
    assert again["prices"][FLAVOR] is None
    assert "amount" in traindeck("billing", "prices", "--set", f"{FLAVOR}=cheap").must_be(2).said
    (tmp_path / "home" / "prices.toml").write_text("[flavors]\nx = -1\n")
    assert "prices.toml" in traindeck("billing").must_be(2).said
