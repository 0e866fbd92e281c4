"""Templates, and jobs as other programs write them, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from support.cli_commands import Traindeck
from support.sample_home import quicken

JOB = """\
[job]
name = "digits"  # short
target = "lab"

[code]
boot = "train.py"

[engine]
name = "Local-Python"
version = "local-python"

[resources]
flavor = "modelarts.vm.cpu.2u"
stop_after = "1h"

[outputs]
train_url = "obs://digits/out/{run}/"
"""


def test_a_template_begins_job_files_and_keeps_its_locked_keys(
    traindeck: Traindeck, lab: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    assert "No templates yet" in traindeck("job", "template", "list").must_be(0).said
    saved = traindeck("job", "template", "save", "小作业", "job.toml", "--lock", "resources.flavor", "--json").must_be(
        0
    )
    assert saved.document == {"template": "小作业", "locked": ["resources.flavor"]}
    assert "already exists" in traindeck("job", "template", "save", "小作业", "job.toml").must_be(1).said
    assert "resources.flavor" in traindeck("job", "template", "save", "x", ".", "--lock", "flavor").must_be(2).said
    (listed,) = traindeck("job", "template", "list", "--json").must_be(0).document
    assert listed["template"] == "小作业"
    assert "# short" in traindeck("job", "template", "show", "小作业").must_be(0).out

    traindeck("job", "init", "new/folder", "--template", "小作业").must_be(0)
    made = (tmp_path / "new" / "folder" / "job.toml").read_text(encoding="utf-8")
    assert "# short" in made and 'template = "小作业"' in made
    (tmp_path / "new" / "folder" / "train.py").write_text("print(1)\n", encoding="utf-8")
    refused = traindeck("job", "submit", "new/folder", "--set", "resources.flavor=modelarts.vm.cpu.8u").must_be(1)
    assert "locked by the template “小作业”: “modelarts.vm.cpu.2u”" in refused.said
    assert "Did you mean “小作业”?" in traindeck("job", "init", "other", "--template", "小作").must_be(4).said
    traindeck("job", "template", "remove", "小作业").must_be(0)
    assert traindeck("job", "template", "list", "--json").must_be(0).document == []
    assert traindeck("job", "template", "show", "小作业").must_be(4)
    assert "name of the template" in traindeck("job", "template", "show").must_be(2).said
    assert "job file to save" in traindeck("job", "template", "save", "x").must_be(2).said


def test_a_job_goes_out_and_comes_back(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    traindeck("job", "export", "job.toml", "--as", "yaml", "--to", "job.yaml").must_be(0)
    again = traindeck("job", "import", "job.yaml").must_be(0).out
    assert again == traindeck("job", "export", "job.toml").must_be(0).out
    body = traindeck("job", "export", "job.toml", "--as", "json", "--json").must_be(0).document
    assert json.loads(body["content"])["spec"]["auto_stop"] == {"time_unit": "HOURS", "duration": 1}
    assert "Outputs" in body["lost"]
    given = json.dumps({"job_name": "old", "config": {"app_url": "/b-1/code/", "train_url": "/b-1/o/"}}).encode()
    assert 'name = "old"' in traindeck("job", "import", "-", given=given).must_be(0).out
    assert "already exists" in traindeck("job", "import", "job.yaml", "--to", "job.toml").must_be(2).said
    assert "Line 2" in traindeck("job", "import", "-", given=b"[job]\nnam = 1\n").must_be(2).said


def test_a_run_is_exported_with_the_places_it_had(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("job", "init", "p").must_be(0)
    quicken(tmp_path / "p")
    run = traindeck("job", "submit", "p", "--set", "epochs=1", "--json").must_be(0).document
    content = traindeck("job", "export", "last", "--as", "json").must_be(0).out
    assert run["name"] in content and "{run}" not in content


def test_what_an_import_leaves_behind_is_said(traindeck: Traindeck, lab: dict[str, str], tmp_path: Path) -> None:
    """On standard error, and in the document; the account is asked only for an engine that has no name."""
    config = {"app_url": "/code-b/c/", "boot_file_url": "/code-b/c/train.py", "engine_id": 130, "dataset_id": "d"}
    (tmp_path / "old.json").write_text(json.dumps({"job_name": "old", "config": config}), encoding="utf-8")
    read = traindeck("job", "import", "old.json", "--json").must_be(0)
    left, no_stop_time, looked_up = read.document["remarks"]
    assert "“130”" in looked_up and "no engine of this ID" in looked_up
    assert left == "Not imported, because a job has no place for it: config.dataset_id."
    assert all(remark in read.said for remark in (left, no_stop_time, looked_up))
    away = traindeck("job", "import", "old.json", "--profile", "nobody").must_be(0)
    assert "could not be looked up" in away.said and "name = " in away.out


def test_an_import_without_a_stop_time_asks_for_one(traindeck: Traindeck, tmp_path: Path) -> None:
    body = {"kind": "job", "metadata": {"name": "x"}, "algorithm": {}, "spec": {"resource": {"node_count": 1}}}
    files = {
        "rest.json": json.dumps(body),
        "old.json": json.dumps({"job_name": "x", "config": {"app_url": "/b/c/"}}),
        "job.yaml": "name: x\ntrain-instance-type: f\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        read = traindeck("job", "import", name).must_be(0)
        assert "stop_after" not in read.out, name
        assert "no stop time" in read.said and "resources.stop_after" in read.said, name
    limited = {**body, "spec": {**body["spec"], "auto_stop": {"time_unit": "HOURS", "duration": 3}}}  # type: ignore[dict-item]
    given = traindeck("job", "import", "-", given=json.dumps(limited).encode()).must_be(0)
    assert 'stop_after = "3h"' in given.out and "no stop time" not in given.said


def test_no_limit_that_was_typed_goes_out_and_comes_back(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.replace('"1h"', '"none"'), encoding="utf-8")
    for kind, name in (("yaml", "job.yaml"), ("toml", "again.toml")):
        traindeck("job", "export", "job.toml", "--as", kind, "--to", name).must_be(0)
        assert 'stop_after = "none"' in traindeck("job", "import", name).must_be(0).out
    written = traindeck("job", "export", "job.toml", "--as", "json", "--json").must_be(0).document
    assert "Stop after" not in written["lost"]


def test_what_an_output_says_of_its_upload_is_kept_and_sent_back(traindeck: Traindeck, tmp_path: Path) -> None:
    for upload in ({"mode": "upload_periodically", "period": 30}, {"mode": "upload_at_end", "period": 60}):
        output = {"name": "train_url", "remote": {"obs": {"obs_url": "/b-1/o/"}}, **upload, "newer": [1]}
        body = {"kind": "job", "metadata": {"name": "x"}, "algorithm": {"outputs": [output]}, "spec": {}}
        (tmp_path / "rest.json").write_text(json.dumps(body), encoding="utf-8")
        (tmp_path / "job.toml").write_text(traindeck("job", "import", "rest.json").must_be(0).out, encoding="utf-8")
        back = json.loads(traindeck("job", "export", "job.toml", "--as", "json").must_be(0).out)
        (row,) = back["algorithm"]["outputs"]
        assert {key: row[key] for key in (*upload, "newer")} == {**upload, "newer": [1]}


def test_replacing_a_template_keeps_its_locks_unless_others_are_named(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    save = ("job", "template", "save", "x", "job.toml", "--json")
    locks = ("resources.flavor", "outputs")
    traindeck(*save, *(word for lock in locks for word in ("--lock", lock))).must_be(0)
    kept = traindeck(*save, "--replace").must_be(0)
    assert kept.document["locked"] == [*locks] and "resources.flavor" in kept.said
    assert traindeck(*save, "--replace", "--lock", "engine.name").must_be(0).document["locked"] == ["engine.name"]
    assert traindeck(*save, "--replace", "--lock", "").must_be(0).document["locked"] == []
    assert traindeck(*save, "--replace").must_be(0).document["locked"] == []
    assert traindeck("job", "template", "save", "new", "job.toml", "--replace", "--json").must_be(0)
