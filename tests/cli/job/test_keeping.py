"""Finding runs again, fetching what they made without losing an edit, and letting them go."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from support.cli_commands import Traindeck, s3
from support.servers.terminal import terminal

WRITER = """
import argparse, pathlib, time
parser = argparse.ArgumentParser()
parser.add_argument("--train_url")
parser.add_argument("--epochs", type=int)
parser.add_argument("--bias", type=float, default=0)
for other in ("data_url", "lr", "hidden", "warmup"):
    parser.add_argument("--" + other)
given, _ = parser.parse_known_args()
unused = given.data_url, given.lr, given.hidden, given.warmup
place = pathlib.Path(given.train_url)
for epoch in range(given.epochs):
    print(f"epoch {epoch} loss {1 / (epoch + 1) + given.bias:.4f} acc={0.5 + epoch / 10:.3f} lr 0.01", flush=True)
(place / "ckpt").mkdir(parents=True)
(place / "ckpt" / "last.ckpt").write_bytes(b"c" * 5000)
(place / "ckpt" / "big.ckpt").write_bytes(b"b" * 50000)
(place / "notes.txt").write_text("as the job wrote it")
print("the unusual word is Nebelhorn", flush=True)
"""


@pytest.fixture
def job(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> Path:
    traindeck("job", "init", "p").must_be(0)
    (tmp_path / "p" / "train.py").write_text(WRITER, encoding="utf-8")
    return tmp_path / "p"


def test_runs_are_found_sorted_and_exported_by_what_they_are_and_measured(
    traindeck: Traindeck, tmp_path: Path, job: Path
) -> None:
    first = traindeck("job", "submit", "p", "--set", "epochs=3", "--wait", "--json").must_be(0).document
    second = traindeck("job", "rerun", "last", "--set", "bias=-0.25", "--wait", "--json").must_be(0).document
    ids = [second["run"], first["run"]]
    listed = traindeck("job", "ls", "--json").must_be(0).document
    assert [run["run"] for run in listed] == ids
    assert listed[1]["metrics"]["loss"] == {"last": 0.3333, "lowest": 0.3333, "highest": 1.0}
    assert listed[1]["metrics"]["acc"]["highest"] == 0.7 and set(listed[1]["metrics"]) == {"loss", "acc"}

    def found(*words: str) -> list[str]:
        return [run["run"] for run in traindeck("job", "ls", *words, "--json").must_be(0).document]

    assert found("--best", "loss") == ids and found("--best", "loss:max") == ids[::-1]
    assert found("--state", "running") == [] == found("--tag", "good")
    assert "Did you mean “loss”?" in traindeck("job", "ls", "--best", "lss").must_be(2).said
    assert "Did you mean “bias”?" in traindeck("job", "ls", "--columns", "name,bais").must_be(2).said
    assert found("--columns", "bias", "--state", "running") == []
    assert found("bias", "-0.25") == ids[:1] and found("100%_") == []
    assert found("--log", "nebelHORN") == ids and found("--log", "nebelhorns") == []
    assert found("--sort", "number", "--ascending") == ids[::-1] and found("--since", "1h") == ids
    assert "is not a state" in traindeck("job", "ls", "--state", "happy").must_be(2).said

    tagged = traindeck("job", "tag", ids[1], "good", "team=视觉", "--json").must_be(0).document
    assert tagged["tags"] == ["good", "team=视觉"] and found("--tag", "team") == ids[1:] == found("视觉")
    traindeck("job", "star", ids[1]).must_be(0)
    traindeck("job", "note", ids[1], "the one", "for the paper").must_be(0)
    traindeck("job", "describe", ids[1], "baseline of November").must_be(0)
    assert found("--starred") == ids[1:] == found("paper") == found("November")
    shown = traindeck("job", "show", ids[1]).must_be(0).out
    for words in ("the one for the paper", "good team=视觉", "baseline of November", "0.3333 (0.3333 … 1)"):
        assert words in shown
    assert traindeck("job", "tag", ids[1], "--remove", "good", "--json").must_be(0).document["tags"] == ["team=视觉"]

    table = traindeck("job", "ls", "--columns", "name,bias,loss,tags").must_be(0).out.splitlines()
    assert table[0].split() == ["Name", "bias", "loss", "Tags"] and "-0.25" in table[1] and "–" in table[2]
    traindeck("job", "note", ids[0], '=HYPERLINK("http://x")|').must_be(0)
    traindeck("job", "ls", "--export", "runs.csv").must_be(0)
    with (tmp_path / "runs.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["Run"] for row in rows] == ids and rows[0]["bias"] == "-0.25" and rows[1]["loss"] == "0.3333"
    assert rows[0]["Note"].startswith("'=HYPERLINK"), "a spreadsheet runs nothing"
    exported = traindeck("job", "ls", "--export", "runs.md", "--columns", "name,note", "--json").must_be(0).document
    assert exported == {"file": "runs.md", "runs": 2, "columns": ["name", "note"]}
    lines = (tmp_path / "runs.md").read_text("utf-8").splitlines()
    assert lines[:2] == ["| Name | Note |", "| --- | --- |"] and lines[2].endswith("\\| |") and len(lines) == 4
    assert ".csv" in traindeck("job", "ls", "--export", "runs.xls").must_be(2).said


def test_only_what_differs_between_runs_is_shown_unless_all_is_asked(
    traindeck: Traindeck, tmp_path: Path, job: Path
) -> None:
    first = traindeck("job", "submit", "p", "--set", "epochs=1", "--wait", "--json").must_be(0).document
    (job / "train.py").write_text(WRITER + "\n# another line", encoding="utf-8")
    second = traindeck("job", "submit", "p", "--set", "epochs=2", "--wait", "--json").must_be(0).document
    both = (first["run"], second["run"])
    found = traindeck("job", "compare", *both, "--json").must_be(0).document
    assert [run["run"] for run in found["runs"]] == [*both] and found["hidden"] > 5
    rows = {(row["section"], row["name"]): row["values"] for row in found["rows"]}
    assert rows["parameters", "epochs"] == ["1", "2"] and rows["metrics", "loss"] == ["1", "0.5"]
    assert len(set(rows["code", "train.py"])) == 2 and ("code", "job.toml") not in rows
    assert not any(section == "data" for section, _ in rows), "the same data"
    whole = traindeck("job", "compare", *both, "--all", "--json").must_be(0).document
    every = {(row["section"], row["name"]): row["values"] for row in whole["rows"]}
    assert whole["hidden"] == 0 and rows.items() <= every.items()
    data = every["data", "data_url: content"][0]
    assert "2 files" in data and "at submission" in data
    said = traindeck("job", "compare", *both).must_be(0)
    assert "PARAMETERS" in said.out and "equal rows are hidden" in said.said
    assert "2 to 8" in traindeck("job", "compare", both[0], both[0]).must_be(2).said


def test_fetching_again_brings_what_is_new_and_never_replaces_an_edit(
    traindeck: Traindeck, tmp_path: Path, job: Path, lab: dict[str, str]
) -> None:
    run = traindeck("job", "submit", "p", "--set", "epochs=1", "--wait", "--json").must_be(0).document
    only = ("job", "fetch", "last", "--to", "out", "--json")
    fetched = traindeck(*only, "--include", "*.ckpt", "--max-size", "20kB").must_be(0)
    assert [Path(file).name for file in fetched.document["files"]] == ["last.ckpt"]
    assert fetched.document["too_large"] == [{"name": "ckpt/big.ckpt", "bytes": 50000}]
    assert "left in OBS" in fetched.said and not (tmp_path / "out" / "notes.txt").exists()

    everything = traindeck(*only).must_be(0).document
    assert (everything["new"], len(everything["files"])) == (2, 3)
    notes, ckpt = tmp_path / "out" / "notes.txt", tmp_path / "out" / "ckpt" / "last.ckpt"
    notes.write_text("my own words")
    (tmp_path / "out" / "ckpt" / "big.ckpt").unlink()
    client = s3(lab)
    (output,) = [
        one["Key"] for bucket in client.list_buckets()["Buckets"]
        for one in client.list_objects_v2(Bucket=bucket["Name"]).get("Contents", [])
        if one["Key"].endswith("ckpt/last.ckpt")
    ]  # fmt: skip
    bucket = next(
        one["Name"] for one in client.list_buckets()["Buckets"]
        if client.list_objects_v2(Bucket=one["Name"], Prefix=output).get("Contents")
    )  # fmt: skip
    client.put_object(Bucket=bucket, Key=output, Body=b"a newer checkpoint")
    client.put_object(Bucket=bucket, Key=output.replace("ckpt/last.ckpt", "notes.txt"), Body=b"newer notes")

    again = traindeck(*only).must_be(0)
    assert notes.read_text() == "my own words" and again.document["kept"] == [str(Path("out", "notes.txt"))]
    assert "--overwrite" in again.said and "notes.txt" in again.said
    assert ckpt.read_bytes() == b"a newer checkpoint", "what came from there and was not touched is renewed"
    assert (tmp_path / "out" / "ckpt" / "big.ckpt").stat().st_size == 50000
    assert traindeck(*only, "--overwrite").must_be(0).document["kept"] == []
    assert notes.read_text() == "newer notes"
    assert traindeck(*only).must_be(0).document["new"] == 0
    assert run["run"] == traindeck("job", "show", "last", "--json").document["run"]


def test_outputs_follow_a_run_to_its_end_and_a_person_is_asked_about_edited_files(
    traindeck: Traindeck, tmp_path: Path, job: Path, lab: dict[str, str]
) -> None:
    script = (job / "train.py").read_text(encoding="utf-8")
    (job / "train.py").write_text(script.replace("    print(f", "    time.sleep(1.5)\n    print(f"), encoding="utf-8")
    sent = traindeck("job", "submit", "p", "--set", "epochs=2", "--json").must_be(0).document
    assert sent["state"] not in ("Completed", "Failed")
    fetched = traindeck("job", "fetch", "last", "--to", "out", "--follow", "--json").must_be(0).document
    assert fetched["state"] == "Completed" and fetched["new"] == 3
    notes = tmp_path / "out" / "notes.txt"
    for answer, content in (("n", "my own words"), ("y", "as the job wrote it")):
        notes.write_text("my own words", encoding="utf-8")
        with terminal(tmp_path, "job", "fetch", "last", "--to", "out") as shown:
            shown.read_until("Overwrite 1 file")
            shown.type(f"{answer}\n")
            assert shown.end() == 0
        assert notes.read_text(encoding="utf-8") == content


def test_a_run_goes_only_when_that_is_meant_with_its_code_only_when_asked_and_never_with_its_outputs(
    traindeck: Traindeck, tmp_path: Path, job: Path, lab: dict[str, str]
) -> None:
    sent = [traindeck("job", "submit", "p", "--set", "epochs=1", "--wait", "--json").must_be(0).document]
    sent.append(traindeck("job", "rerun", "last", "--wait", "--json").must_be(0).document)
    bundles = tmp_path / "home" / "bundles"

    def objects() -> str:
        return traindeck("obs", "find", f"obs://{bucket}/").must_be(0).out

    code = traindeck("job", "show", "last", "--json").document["code"]
    bucket = code.split("/")[2]
    refused = traindeck("job", "rm", "last").must_be(2)
    assert "--yes" in refused.said and f"{sent[1]['name']}/" in refused.said and " code files" in refused.said
    assert len(traindeck("job", "ls", "--json").document) == 2, "nobody said yes"

    kept = traindeck("job", "rm", "last", "--yes", "--json").must_be(0)
    assert kept.document["code_removed"] is False and kept.document["code_files"] >= 2
    assert "1 other run uses" in kept.said and code.rstrip("/").split("/", 3)[3] in objects()

    gone = traindeck("job", "rm", sent[0]["run"], "--yes", "--code", "--json").must_be(0).document
    assert gone["local_files"] == 2 and gone["code_files"] >= 2 and gone["code_bytes"] > 500
    left = objects()
    assert f"traindeck/code/{sent[0]['name']}/" not in left and f"traindeck/code/{sent[1]['name']}/" in left
    assert f"{sent[0]['name']}/notes.txt" in left, "outputs stay"
    assert not any(bundles.glob("*/manifest.json"))
    assert (tmp_path / "home" / "runs" / sent[0]["run"] / "log" / "worker-0.log").exists()
    assert traindeck("job", "ls", "--json").document == []


def test_a_run_that_has_ended_is_said_to_have_ended_and_not_to_bill(traindeck: Traindeck, job: Path) -> None:
    traindeck("job", "submit", "p", "--set", "epochs=1", "--wait").must_be(0)
    stopped = traindeck("job", "stop", "last").must_be(0)
    assert "already ended" in stopped.out and "charged" not in stopped.out + stopped.said
    assert traindeck("job", "stop", "last", "--json").must_be(0).document["state"] == "Completed"


def test_a_job_made_elsewhere_is_adopted_and_run_again(
    traindeck: Traindeck, tmp_path: Path, job: Path, lab: dict[str, str]
) -> None:
    theirs = traindeck("job", "submit", "p", "--set", "epochs=2", "--wait", "--json").must_be(0).document
    for left in (tmp_path / "home").glob("records.db*"):
        left.unlink()
    for folder in ("runs", "copies", "bundles"):
        for file in sorted((tmp_path / "home" / folder).rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        (tmp_path / "home" / folder).rmdir()
    assert traindeck("job", "ls", "--json").must_be(0).document == []
    adopted = traindeck("job", "adopt", theirs["job_id"], "--json").must_be(0).document
    assert (adopted["job_id"], adopted["state"]) == (theirs["job_id"], "Completed")
    assert "epoch 1" in traindeck("job", "logs", "last").must_be(0).out
    assert "already in the list" in traindeck("job", "adopt", theirs["name"]).must_be(1).said
    # Its output is a folder like any other, and not empty.
    again = traindeck("job", "rerun", "last", "--set", "epochs=1", "--yes", "--wait", "--json").must_be(0).document
    assert again["rerun_of"] == adopted["run"] and again["state"] == "Completed"
    assert traindeck("job", "adopt", "nobody").must_be(4).said


def test_tensorboard_is_opened_on_the_event_files_and_missing_ones_are_named(
    traindeck: Traindeck, tmp_path: Path, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    traindeck("job", "submit", "p", "--set", "epochs=1", "--wait").must_be(0)
    none = traindeck("job", "fetch", "last", "--to", "out", "--tensorboard").must_be(4)
    assert "no TensorBoard event files" in none.said
    assert not (tmp_path / "out" / "notes.txt").exists(), "only what TensorBoard reads was wanted"
    (tmp_path / "out" / "logs").mkdir(parents=True)
    (tmp_path / "out" / "logs" / "events.out.tfevents.1").write_bytes(b"event")
    assert "not installed" in traindeck("job", "fetch", "last", "--to", "out", "--tensorboard").must_be(4).said


def test_a_lab_that_cannot_run_a_job_says_why_where_the_user_is(
    traindeck: Traindeck, tmp_path: Path, job: Path
) -> None:
    (tmp_path / "home" / "lab" / "lab.toml").write_text("[engines\n")
    refused = traindeck("job", "submit", "p", "--set", "epochs=1", "--wait", "--json").must_be(1)
    assert "lab.toml" in refused.error["title"] and "line 1" in refused.error["title"]


def test_code_that_no_run_uses_is_counted_and_deleted_when_confirmed(
    traindeck: Traindeck, tmp_path: Path, job: Path
) -> None:
    nothing = traindeck("job", "clean").must_be(0)
    assert "No run of this account has uploaded code" in nothing.out
    run = traindeck("job", "submit", "p", "--set", "epochs=1", "--wait", "--json").must_be(0).document
    (job / "extra.py").write_text("x = 1\n", encoding="utf-8")
    more = traindeck("job", "submit", "p", "--set", "epochs=1", "--wait", "--json").must_be(0).document
    removed = traindeck("job", "rm", more["run"], "--code", "--yes").must_be(0)
    assert "job clean" in removed.said
    young = traindeck("job", "clean", "--json").must_be(0)
    assert young.document["places"][0]["too_new"] == 1 and young.document["removed"] is False
    assert "too new" in young.said

    shown = traindeck("job", "clean", "--older-than", "0s", "--dry-run").must_be(0)
    assert "1 code file is used by no run (6 B)" in shown.said and "Nothing was deleted." in shown.out
    unasked = traindeck("job", "clean", "--older-than", "0s").must_be(2)
    assert "only when confirmed" in unasked.said
    done = traindeck("job", "clean", "--older-than", "0s", "--yes", "--json").must_be(0).document
    assert done["removed"] is True and done["places"][0]["unused"] == 1
    again = traindeck("job", "clean", "obs://digits", "--older-than", "0s", "--json").must_be(0).document
    assert again["removed"] is False and again["places"][0]["unused"] == 0 < again["places"][0]["kept"]
    assert "no-such-bucket" in traindeck("job", "clean", "no-such-bucket").must_be(4).said
    traindeck("job", "rerun", run["run"], "--wait").must_be(0)
