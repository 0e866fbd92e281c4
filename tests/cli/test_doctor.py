"""`traindeck doctor`: findings with their lines, in words and as JSON, fixed and taken back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from traindeck.cli.script_place import ScriptPlace, script_place
from traindeck.services.scripts.rules.all_rules import RULE_NAMES

SCRIPT = """\
import argparse

import torch

password = "Correct-Horse-7"
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()
net = torch.nn.Linear(2, 2).cuda()
for line in open("obs://bucket/data/train.csv"):
    print(line)
"""
JOB = """\
[job]
name = "doctored"
[code]
folder = "."
boot = "train.py"
ignore = ["old/"]
[engine]
name = "Ascend-Powered-Engine"
version = "pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt3p"
[resources]
flavor = "modelarts.kat1.xlarge.public"
[inputs]
data_url = "obs://bucket/data/"
[checks]
silence = ["secret-in-code", "unread-input"]
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "old").mkdir(parents=True)
    (folder / "train.py").write_text(SCRIPT)
    (folder / "old" / "keys.py").write_text('token = "a8Fk3Lq9Zx2Vb7Nm"\n')
    return folder


def found(traindeck: Traindeck, *words: object, code: int = 1) -> dict[str, tuple[str, int, bool]]:
    document = traindeck("doctor", *words, "--json").must_be(code).document
    assert set(document) == {"findings", "files", "not_read"}
    keys = {"rule", "level", "file", "line", "source", "title", "why", "hint", "fix", "silenced"}
    assert all(set(one) == keys for one in document["findings"])
    return {one["rule"]: (one["level"], one["line"], one["silenced"]) for one in document["findings"]}


def test_a_script_alone_a_folder_and_a_job_file(traindeck: Traindeck, code: Path) -> None:
    alone = found(traindeck, code / "train.py")
    assert alone == {
        "obs-path-opened": ("red", 10, False), "parse-args": ("amber", 8, False), "secret-in-code": ("amber", 5, False),
    }  # fmt: skip
    ascend = found(traindeck, code, "--for", "ascend")
    assert ascend["cuda-on-ascend"] == ("red", 9, False) and ascend["parse-args"] == ("red", 8, False)
    (code / "job.toml").write_text(JOB)
    job = found(traindeck, code / "job.toml")
    assert job == {
        "parse-args": ("red", 8, False), "cuda-on-ascend": ("red", 9, False), "obs-path-opened": ("red", 10, False),
        "unread-input": ("amber", 1, True), "secret-in-code": ("amber", 5, True),
    }  # fmt: skip
    assert found(traindeck, code) == job, "the job file of a folder is taken"


def test_words_say_where_why_and_what_to_do_and_no_secret(traindeck: Traindeck, code: Path) -> None:
    answer = traindeck("doctor", code / "train.py").must_be(1)
    assert "✗ train.py:10  OBS path opened as a file [obs-path-opened]" in answer.out
    assert 'for line in open("obs://bucket/data/train.csv"):' in answer.out and "mox.file.copy_parallel" in answer.out
    assert "1 must be corrected, 2 warnings in 1 file." in answer.said
    assert "Correct-Horse-7" not in answer.out + answer.said and 'password = "••••••"' in answer.out
    said = traindeck("doctor", code / "train.py", "--language", "zh_CN").must_be(1)
    assert "train.py:10  将 OBS 路径当作文件打开" in said.out


def test_fixes_are_shown_written_and_taken_back(traindeck: Traindeck, code: Path) -> None:
    script = code / "train.py"
    refused = traindeck("doctor", script, "--for", "ascend", "--fix")
    assert refused.code == 2 and "--yes" in refused.said and script.read_text() == SCRIPT
    assert "+args = parser.parse_known_args()[0]" in refused.out and "Correct-Horse-7" not in refused.out
    fixed = traindeck("doctor", script, "--for", "ascend", "--fix", "--yes").must_be(1)
    assert "import torch_npu" in script.read_text() and ".npu()" in script.read_text()
    assert "cuda-on-ascend" not in fixed.out.partition("@@")[2].partition("✗")[2]
    assert traindeck("doctor", script, "--undo", "--json").must_be(0).document == {"undone": ["train.py"]}
    assert script.read_text() == SCRIPT
    assert "can be undone" in traindeck("doctor", script, "--undo").must_be(4).said


def test_results_that_no_output_gets_are_told_of_where_a_service_is_named(traindeck: Traindeck, code: Path) -> None:
    words = "import argparse, torch\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr')\n"
    (code / "train.py").write_text(words + "torch.save(parser.parse_known_args()[0], name)\n")
    assert found(traindeck, code / "train.py", "--for", "modelarts", code=0) == {"unread-output": ("amber", 1, False)}
    assert found(traindeck, code / "train.py", code=0) == {}
    (code / "train.py").write_text(words.replace("lr", "save_dir") + "print(parser.parse_known_args())\n")
    assert found(traindeck, code / "train.py", "--for", "modelarts", code=0) == {}, "its output may be called so"
    (code / "train.py").write_text("import torch\ntorch.save({}, 'model.pth')\n")
    assert set(found(traindeck, code / "train.py", "--for", "modelarts", code=0)) == {"output-lost"}, "once is enough"
    (code / "train.py").write_text("import moxing, torch\nmoxing.file.copy_parallel('/cache/a', 'obs://bucket/a')\n")
    assert found(traindeck, code / "train.py", "--for", "modelarts", code=0) == {}


def test_undo_is_about_the_script_that_is_named(traindeck: Traindeck, code: Path) -> None:
    words = "import argparse\nargs = argparse.ArgumentParser().parse_args()\n"
    first, second = code / "first.py", code / "second.py"
    for script in (first, second):
        script.write_text(words)
        traindeck("doctor", script, "--for", "modelarts", "--fix", "--yes").must_be(0)
    assert "(first.py)" in traindeck("doctor", first, "--undo").must_be(0).out
    assert first.read_text() == words != second.read_text()
    traindeck("doctor", first, "--undo").must_be(4)


def test_what_cannot_be_looked_at_is_not_said_to_be_right(traindeck: Traindeck, code: Path, tmp_path: Path) -> None:
    (code / "train.py").write_text("input()\n" + "x = 1  # padding\n" * 70_000)
    assert "train.py was not checked" in traindeck("doctor", code / "train.py").must_be(0).said
    (tmp_path / "empty" / "train.py").mkdir(parents=True)
    assert "no script" in traindeck("doctor", tmp_path / "empty").must_be(4).said
    traindeck("doctor", tmp_path / "empty" / "train.py").must_be(4)


@pytest.mark.usefixtures("permissions_hold")
def test_a_script_that_cannot_be_read_is_an_error_and_what_it_imports_a_remark(
    traindeck: Traindeck, code: Path
) -> None:
    (code / "train.py").write_text("import more\n")
    (code / "more.py").write_text("")
    (code / "more.py").chmod(0)
    try:
        imported, named = traindeck("doctor", code / "train.py"), traindeck("doctor", code / "more.py")
    finally:
        (code / "more.py").chmod(0o600)
    assert "more.py was not read" in imported.must_be(0).said
    assert named.code == 1 and "permission" in named.said


@pytest.mark.skipif(sys.platform == "win32", reason="links and such names need rights there")
def test_links_and_strange_names(traindeck: Traindeck, code: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "train.py"
    link.parent.mkdir()
    link.symlink_to(code / "train.py")
    assert set(found(traindeck, link)) == {"obs-path-opened", "parse-args", "secret-in-code"}
    (code / "train.py").unlink()
    (code / "a\nb.py").write_text("input()\n")
    assert "a\\nb.py:1" in traindeck("doctor", code).must_be(1).out


@pytest.mark.usefixtures("permissions_hold")
def test_a_folder_that_cannot_be_read_is_told(traindeck: Traindeck, code: Path) -> None:
    (code / "train.py").write_text("import pkg.part\n")
    (code / "pkg").mkdir(mode=0)
    try:
        for place in (code, code / "train.py"):
            said = traindeck("doctor", place).must_be(0).said
            assert "pkg" in said and "permission" in said.lower()
    finally:
        (code / "pkg").chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_module_that_lies_outside_is_told(traindeck: Traindeck, code: Path, tmp_path: Path) -> None:
    (tmp_path / "more.py").write_text("input()\n")
    (code / "train.py").write_text("import more\n")
    (code / "more.py").symlink_to(tmp_path / "more.py")
    said = traindeck("doctor", code).must_be(0).said
    assert "more.py was not read" in said and "interactive" not in said


def test_a_right_script_ends_well(traindeck: Traindeck, code: Path) -> None:
    (code / "train.py").write_text("print('training')\n")
    assert "Nothing found in 1 file." in traindeck("doctor", code / "train.py").must_be(0).said
    assert "can be fixed" not in traindeck("doctor", code / "train.py", "--fix").must_be(0).said


def test_rules_and_arguments_are_listed(traindeck: Traindeck, code: Path) -> None:
    rules = traindeck("doctor", "--rules", "--json").must_be(0).document["rules"]
    assert [one["rule"] for one in rules] == list(RULE_NAMES)
    assert "local-path" in traindeck("doctor", "--rules").must_be(0).out
    arguments = traindeck("doctor", code / "train.py", "--arguments", "--json").must_be(0).document["arguments"]
    assert [(one["name"], one["type"], one["default"]) for one in arguments] == [("lr", "float", 0.1)]


def test_a_folder_without_arguments_is_named(traindeck: Traindeck, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code / "train.py").write_text("print('training')\n")
    monkeypatch.chdir(code)
    assert ". reads no arguments" in traindeck("doctor", ".", "--arguments").must_be(0).said


@pytest.mark.parametrize("name", ["x" * 300 + ".py", "a/" * 3000 + "b.py", "train\0.py"])
def test_a_shell_file_that_starts_what_no_folder_can_hold(tmp_path: Path, name: str) -> None:
    (tmp_path / "scripts").mkdir()
    place = tmp_path / "scripts" / "run.sh"
    place.write_text(f"python {name}\n")
    assert script_place(place) == ScriptPlace(place.parent, "run.sh", is_one_script=True)


def test_a_shell_file_that_starts_what_lies_above_it(traindeck: Traindeck, code: Path) -> None:
    (code / "scripts").mkdir()
    run = code / "scripts" / "run.sh"
    for words in ("python train.py $@", "cd $(dirname $0)/..\npython train.py", 'python "$(dirname "$0")/../train.py"'):
        run.write_text(words)
        arguments = traindeck("doctor", run, "--arguments", "--json").must_be(0).document["arguments"]
        assert [(one["name"], one["file"]) for one in arguments] == [("lr", "train.py")]
    (code / "scripts" / "train.py").write_text("")
    run.write_text("cd $(dirname $0)\npython train.py")
    assert not traindeck("doctor", run, "--arguments", "--json").must_be(0).document["arguments"]


def test_what_is_nothing_of_the_kind_is_said(traindeck: Traindeck, code: Path, tmp_path: Path) -> None:
    assert "does not exist" in traindeck("doctor", tmp_path / "no.py").must_be(4).said
    assert "Nothing to look at" in traindeck("doctor").must_be(2).said
    (tmp_path / "data.csv").touch()
    assert "is not a script" in traindeck("doctor", tmp_path / "data.csv").must_be(2).said
    (code / "job.toml").write_text(JOB.replace("train.py", "trian.py"))
    assert "“trian.py” is not in the code directory" in traindeck("doctor", code).must_be(4).said
