"""What is wrong with a job is told before it is sent, by hand and at every submission; nothing red leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.cli_commands import Answer, Traindeck, put_object
from support.servers.lab_control import Control

JOB = """\
# my job, with a remark
[job]
name = "job"
[code]
boot = "train.py"            # what is started
[engine]
name = "Local-Python"
version = "local-python"
[resources]
flavor = "modelarts.vm.cpu.2u"
stop_after = "1h"
[inputs]
data_url = "obs://mine/data/"
[outputs]
train_url = "{output}"  # where it goes
[logs]
to = "obs://mine/log/{{run}}/"
"""
GOOD = "obs://mine/out/{run}/"


@pytest.fixture
def project(traindeck: Traindeck, lab: dict[str, str], tmp_path: Path) -> Path:
    """A job that is good, with its bucket and its data."""
    put_object(traindeck, tmp_path / "x.csv", b"1,2\n", "obs://mine/data/x.csv")
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "train.py").write_text("print('trained')\n", encoding="utf-8")
    return with_output(folder, GOOD)


def with_output(folder: Path, output: str) -> Path:
    (folder / "job.toml").write_text(JOB.format(output=output), encoding="utf-8")
    return folder


def of(answer: Answer, check: str) -> dict[str, Any]:
    (found,) = (one for one in answer.document["checks"] if one["check"] == check)
    return dict(found)


def told(answer: Answer) -> str:
    return f"{answer.error['title']} {answer.error['hint']}"


def test_a_good_job_is_told_to_be_good(traindeck: Traindeck, project: Path) -> None:
    answer = traindeck("job", "check", project, "--json").must_be(0)
    keys = {"check", "level", "title", "fact", "hint", "file", "line"}
    assert all(keys <= one.keys() and one["title"] and one["fact"] for one in answer.document["checks"])
    assert {one["level"] for one in answer.document["checks"]} == {"green"}
    shown = traindeck("job", "check", project / "job.toml").must_be(0).out
    assert shown.startswith("Good (") and "✓ Boot file: train.py" in shown


def test_a_check_that_could_not_run_is_no_success(
    traindeck: Traindeck, project: Path, lab: dict[str, str], tmp_path: Path
) -> None:
    fault = {"kind": "error", "service": "modelarts", "operation": "GET */training-job-engines", "status": 500}
    control = Control(tmp_path / "home" / "lab")
    control.rules(fault)
    answer = traindeck("job", "check", project, "--json").must_be(5)
    unknown = [one["check"] for one in answer.document["checks"] if one["level"] == "not checked"]
    assert answer.document["could_not_run"] == unknown != []
    shown = traindeck("job", "check", project).must_be(5).out
    assert shown.splitlines()[-1].startswith("No verdict: ") and "could not run" in shown
    (project / "train.py").write_text("print((1,\n", encoding="utf-8")
    traindeck("job", "check", project).must_be(1)
    control.rules()
    assert traindeck("job", "check", project, "--json").must_be(1).document["could_not_run"] == []


def test_what_is_red_fails_with_its_place_and_what_to_do(traindeck: Traindeck, project: Path) -> None:
    (project / "train.py").write_text("import os\nprint((1,\n", encoding="utf-8")
    answer = traindeck("job", "check", project, "--set", "inputs.data_url=obs://mine/datum/", "--json").must_be(1)
    syntax = of(answer, "syntax")
    assert (syntax["level"], syntax["file"], syntax["line"]) == ("red", "train.py", 2) and "was never closed" in syntax[
        "fact"
    ]
    inputs = of(answer, "inputs")
    assert inputs["level"] == "red" and inputs["fixes"][0]["changes"] == {"inputs:data_url": "obs://mine/data/"}
    shown = traindeck("job", "check", project, "--set", "inputs.data_url=obs://mine/datum/").must_be(1).out
    assert shown.startswith("Must be corrected (2)") and "Fix: Use obs://mine/data/" in shown


def test_what_is_wrong_with_the_script_is_told_and_never_silenced_by_a_fix(traindeck: Traindeck, project: Path) -> None:
    script = "import argparse\nprint(argparse.ArgumentParser().parse_args())\ninput()\n"
    (project / "train.py").write_text(script, encoding="utf-8")
    before = (project / "job.toml").read_text(encoding="utf-8")
    answer = traindeck("job", "check", project, "--fix", "--yes", "--json").must_be(1)
    found = of(answer, "interactive")
    assert (found["level"], found["file"], found["line"], found["rule"]) == ("red", "train.py", 3, "interactive")
    assert found["source"] == "input()" and found["fixes"][-1]["changes"] == {"silenced_rules": ["interactive"]}
    assert "traindeck doctor" in answer.said and (project / "job.toml").read_text(encoding="utf-8") == before
    refused = traindeck("job", "submit", project, "--yes", "--json").must_be(1)
    assert "othing was submitted" in refused.error["title"]
    shown = traindeck("job", "check", project).must_be(1).out
    assert f"traindeck doctor {project} --fix" in shown, "what the window has a button for is a command here"
    assert "--set checks.silence=interactive" in shown and "Show the fix" not in shown
    silenced = ("--set", "checks.silence=interactive,parse-args,unread-input,unread-output")
    assert of(traindeck("job", "check", project, *silenced, "--json").must_be(0), "interactive")["level"] == "green"


def test_what_is_no_job_is_not_checked(traindeck: Traindeck, project: Path, tmp_path: Path) -> None:
    (project / "job.toml").write_text("[jop]\nname = 1\n", encoding="utf-8")
    assert "Did you mean “job”" in traindeck("job", "check", project).must_be(2).said
    assert traindeck("job", "check", project, "--set", "nonsense").must_be(2)
    assert traindeck("job", "check", tmp_path / "nowhere.toml").must_be(4)


REFUSED = {
    "missing bucket": (["outputs.train_url=obs://nowhere-at-all/out/{run}/"], "does not exist"),
    "mistyped bucket": (["outputs.train_url=obs://mien/out/{run}/"], "does not exist"),
    "missing input": (["inputs.data_url=obs://mine/cifar/"], "does not exist"),
    "mistyped field": (["outputs.train_url=obs://mine/out/{runn}/"], "Did you mean “{run}”"),
    "output is input": (["outputs.train_url=obs://mine/data/"], "overwrite"),
}


def test_what_would_lose_the_run_is_not_sent(traindeck: Traindeck, project: Path) -> None:
    for fault, (changes, words) in REFUSED.items():
        sets = [word for change in changes for word in ("--set", change)]
        answer = traindeck("job", "submit", project, *sets, "--yes", "--json").must_be(1)
        assert "othing was submitted" in answer.error["title"] and words in told(answer), fault
    for script in ("print((\n", "<!DOCTYPE html>\n<html><body>404</body></html>\n"):
        (project / "train.py").write_text(script, encoding="utf-8")
        assert "train.py" in told(traindeck("job", "submit", project, "--yes", "--json").must_be(1))
    assert traindeck("job", "ls", "--json").must_be(0).document == []


def test_what_a_template_locks_is_kept_by_every_command(traindeck: Traindeck, project: Path) -> None:
    file = project / "job.toml"
    file.write_text(file.read_text("utf-8").replace("[job]\n", '[job]\ntemplate = "ours"\n'), encoding="utf-8")
    lock = ("--lock", "resources.stop_after", "--lock", "outputs")
    traindeck("job", "template", "save", "ours", project, *lock).must_be(0)
    traindeck("job", "submit", project, "--wait").must_be(0)
    change = ("--set", "resources.stop_after=2h")
    assert "locked by the template" in of(traindeck("job", "check", project, *change, "--json"), "template")["fact"]
    for command in (("submit", project), ("rerun", "last")):
        refused = traindeck("job", *command, *change, "--yes", "--json").must_be(1)
        assert "locked by the template “ours”: “1h”" in told(refused)
    assert len(traindeck("job", "ls", "--json").document) == 1

    with_output(project, "obs://mine/elsewhere/{run}/")
    file.write_text(file.read_text("utf-8").replace("[job]\n", '[job]\ntemplate = "ours"\n'), encoding="utf-8")
    template = of(traindeck("job", "check", project, "--json").must_be(1), "template")
    assert template["fixes"][0]["changes"] == {"outputs": {"train_url": GOOD}} and "train_url" in template["fact"]
    traindeck("job", "check", project, "--fix", "--yes").must_be(0)
    assert GOOD in file.read_text("utf-8") and "# where it goes" in file.read_text("utf-8")
    traindeck("job", "template", "remove", "ours").must_be(0)
    gone = of(traindeck("job", "check", project, *change, "--json").must_be(0), "template")
    assert gone["level"] == "not checked" and "There is no template “ours”." in gone["fact"]


def test_a_folder_that_a_run_writes_to_is_nobody_elses(traindeck: Traindeck, project: Path) -> None:
    (project / "train.py").write_text("import time\ntime.sleep(600)\n", encoding="utf-8")
    shared = ("--set", "outputs.train_url=obs://mine/shared/")
    traindeck("job", "submit", project, *shared, "--yes").must_be(0)
    try:
        answer = traindeck("job", "submit", project, *shared, "--yes", "--json").must_be(1)
        assert "is writing to obs://mine/shared/" in told(answer)
        assert len(traindeck("job", "ls", "--json").document) == 1
    finally:
        traindeck("job", "stop", "last").must_be(0)
        traindeck("job", "wait", "last").must_be(1)


def test_a_warning_is_accepted_in_so_many_words_and_kept_with_the_run(traindeck: Traindeck, project: Path) -> None:
    with_output(project, "obs://mine/out/")
    refused = traindeck("job", "submit", project).must_be(2)
    assert "every run" in refused.said and "--yes" in refused.said
    assert traindeck("job", "ls", "--json").document == []
    sent = traindeck("job", "submit", project, "--yes", "--wait", "--json").must_be(0)
    assert "Warnings (1)" in sent.said
    (kept,) = traindeck("job", "show", "last", "--json").must_be(0).document["accepted"]
    assert (kept["check"], kept["level"]) == ("outputs", "amber") and "every run" in kept["fact"]
    assert "Accepted" in traindeck("job", "show", "last").must_be(0).out


@pytest.mark.skipif(os.name == "nt", reason="terminals of POSIX")
def test_fixes_are_shown_and_leave_the_remarks(traindeck: Traindeck, project: Path) -> None:
    with_output(project, "obs://mine/out/{runn}/")
    before = (project / "job.toml").read_text("utf-8")
    assert "--yes" in traindeck("job", "check", project, "--fix").must_be(2).said
    assert (project / "job.toml").read_text("utf-8") == before
    fixed = traindeck("job", "check", project, "--fix", "--yes", "--json").must_be(0)
    assert of(fixed, "outputs")["level"] == "green" and GOOD in fixed.said
    assert (project / "job.toml").read_text("utf-8") == before.replace("{runn}", "{run}")


def test_a_bucket_that_is_missing_is_made_where_none_is_called_alike(traindeck: Traindeck, project: Path) -> None:
    with_output(project, "obs://quite-another-name/out/{run}/")
    assert of(traindeck("job", "check", project, "--json").must_be(1), "buckets")["level"] == "red"
    fixed = traindeck("job", "check", project, "--fix", "--yes", "--json").must_be(0)
    assert "Create the bucket quite-another-name" in fixed.said and of(fixed, "buckets")["level"] == "green"


def test_what_is_gone_since_is_named_before_a_rerun(traindeck: Traindeck, project: Path) -> None:
    traindeck("job", "submit", project, "--wait").must_be(0)
    traindeck("obs", "rm", "obs://mine/data/x.csv", "--yes").must_be(0)
    traindeck("obs", "cp", "x.csv", "obs://mine/data-2/x.csv").must_be(0)
    answer = traindeck("job", "rerun", "last", "--yes", "--json").must_be(1)
    assert "obs://mine/data/ does not exist" in told(answer)
    assert len(traindeck("job", "ls", "--json").document) == 1
    again = traindeck("job", "rerun", "last", "--set", "inputs.data_url=obs://mine/data-2/", "--wait", "--json")
    assert json.loads(again.must_be(0).out)["state"] == "Completed"
