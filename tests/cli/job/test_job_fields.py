"""What a job file can hold, told by the command line; and what is said about files that are not right."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.servers.lab_control import Control
from traindeck.assembly import data_core
from traindeck.domain.jobs.form_fields import FIELDS
from traindeck.services.http import calls


def test_every_field_is_explained_in_both_languages(traindeck: Traindeck) -> None:
    listed = traindeck("job", "fields", "--json").must_be(0).document
    assert [field["key"] for field in listed] == [field.place for field in FIELDS]
    assert next(field for field in listed if field["key"] == "resources.priority")["highest"] == 3
    chinese = traindeck("job", "fields", "--language", "zh_CN").must_be(0).out
    assert "resources.stop_after" in chinese and "自动停止" in chinese


def test_a_folder_without_a_job_file_is_not_said_to_be_missing(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    assert "has no job.toml" in traindeck("job", "submit", "code").must_be(4).said
    assert "does not exist" in traindeck("job", "submit", "other").must_be(4).said


def test_parameters_are_taken_from_what_was_pasted(traindeck: Traindeck, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    given = b'{"epochs": 2, "note": "a;b"}'
    words = ("job", "submit", "p", "--parameters", "-", "--set", "epochs=1", "--set", "resources.stop_after=30m")
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
