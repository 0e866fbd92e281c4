"""What a job file can hold, told by the command line; and what is said about files that are not right."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.sample_home import quicken
from support.servers.lab_control import Control
from traindeck.assembly import data_core
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.services.http import calls


def test_every_field_is_explained_in_both_languages(traindeck: Traindeck) -> None:
    listed = traindeck("job", "fields", "--json").must_be(0).document
    assert [field["key"] for field in listed] == [field.place for field in FIELDS]
    assert next(field for field in listed if field["key"] == "resources.priority")["highest"] == 3
    chinese = traindeck("job", "fields", "--language", "zh_CN").must_be(0).out
    assert "resources.stop_after" in chinese and "自动停止" in chinese and "密钥" not in chinese.split("\n")[0]
    assert "JobPreempted" in chinese and "作业被抢占" in chinese, "the name of the service and what it means"


def test_a_folder_without_a_job_file_is_not_said_to_be_missing(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    assert "has no job.toml" in traindeck("job", "submit", "code").must_be(4).said
    assert "does not exist" in traindeck("job", "submit", "other").must_be(4).said


def test_parameters_are_taken_from_what_was_pasted(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    given = b'{"epochs": 2, "note": "a;b"}'
    words = ("job", "submit", "p", "--parameters", "-", "--set", "epochs=1", "--set", "resources.stop_after=30m", "-y")
    sent = traindeck(*words, "--json", given=given).must_be(0)
    assert "stops after 1 hour" in sent.said
    shown = traindeck("job", "show", sent.document["run"], "--json").must_be(0).document
    assert shown["parameters"]["epochs"] == 1 and shown["parameters"]["note"] == "a;b"
    wrong = traindeck("job", "submit", "p", "--parameters", "epochs=1;lr").must_be(2)
    assert "“lr” is not a parameter" in wrong.said


def test_what_is_wrong_with_a_form_is_said_before_anything_is_sent(traindeck: Traindeck, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    for setting, said, code in (
        ("resources.priority=99", "a number from 0 to 3", 1),
        ("logs.to=obs://b-1/{runn}/", "Did you mean “{run}”?", 1),
        ("resources.stop_after=9999h", "longer than a year", 1),
        ("resources.node=2", "“resources.nodes”", 2),
    ):
        assert said in traindeck("job", "submit", "p", "--set", setting).must_be(code).said
    assert traindeck("job", "ls", "--json").must_be(0).document == []


def test_what_was_mistyped_is_told_by_its_own_word(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    engine = traindeck("job", "check", "p", "--set", "engine.name=PyTorsh").must_be(1)
    assert "“PyTorsh” is not available here. The nearest is “PyTorch”." in engine.out
    checked = traindeck("job", "check", "p", "--set", "epcohs=1", "--set", "resources.stop_after=30m").must_be(0)
    assert "“epcohs” is a new running parameter. Did you mean “epochs”?" in checked.said
    assert (checked.out + checked.said).count("counts whole hours") == 1
    assert "1 level deep" in checked.out
    run = traindeck("job", "submit", "p", "--set", "epochs=1", "--json").must_be(0)
    assert "new running parameter" not in run.said
    again = traindeck("job", "rerun", "last", "--set", "warmup=3", "-y").must_be(0)
    assert "“warmup” is a new running parameter." in again.said


def test_engines_and_flavors_are_filtered_and_known_without_the_service(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_core, "PATIENCE_S", 0.2)
    monkeypatch.setattr(calls, "FIRST_S", 0.001)
    found = traindeck("flavors", "--filter", "ascend 8*", "--json").must_be(0).document
    assert [one["id"] for one in found] == ["modelarts.kat1.8xlarge.public"]
    assert found[0]["cards"] == 8 and found[0]["disk"] == "3200 GB"
    assert [one["name"] for one in traindeck("engines", "--filter", "local", "--json").must_be(0).document] == [
        "Local-Python"
    ]
    Control(tmp_path / "home" / "lab").rules(
        {"kind": "error", "service": "modelarts", "status": 503, "code": "x", "count": 0}
    )
    later = traindeck("flavors", "--filter", "ascend 8*", "--json").must_be(0)
    assert later.document == found and "This is what was offered on 20" in later.said


def test_specifications_say_what_they_cost_and_when_they_were_sold_out(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path
) -> None:
    cpu, other = "modelarts.vm.cpu.2u", "modelarts.vm.cpu.8u"
    Control(tmp_path / "home" / "lab").rules({"kind": "sold-out", "resource": cpu})
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    traindeck("job", "submit", "p").must_be(5)
    offered = {one["id"]: one for one in traindeck("flavors", "--json").must_be(0).document}
    assert offered[cpu]["sold_out"] and offered[other]["sold_out"] is None
    assert offered[cpu]["per_hour"] == 0, "the Lab is free"
    listed = traindeck("flavors").must_be(0).out
    assert "Was sold out on" in listed and listed.splitlines()[1].startswith(cpu), "the ones used lately first"
    assert "Was sold out on" not in traindeck("flavors", "--filter", "ascend").must_be(0).out
    (tmp_path / "home" / "prices.toml").write_text("[flavors]\nx = -1\n")
    broken = traindeck("flavors").must_be(0)
    assert "prices.toml" in broken.said and "unknown" in broken.out
