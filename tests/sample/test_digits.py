"""The sample project as a platform runs it: a process with folders, arguments it does not know, and a sudden end."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from support.waiting import PATIENT_S

SAMPLE = Path(__file__).parents[2] / "resources" / "sample" / "digits"
SMALL = ["--hidden", "16", "--lr", "0.2"]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, str(SAMPLE / "train.py"), *map(str, arguments)]


def train(*arguments: str | Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, encoding="utf-8", timeout=PATIENT_S, env=environment
    )


def test_a_run_prints_its_curve_and_leaves_checkpoints_metrics_and_model(tmp_path: Path) -> None:
    results = tmp_path / "输出 folder"
    # A pipe of a Windows machine speaks a legacy code page; the folder's name must still be printed.
    legacy = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = train("--data_url", SAMPLE / "data", "--train_url", results, "--epochs", "3", *SMALL, environment=legacy)
    assert done.returncode == 0, done.stderr
    steps = re.findall(r"^epoch (\d)/3 step (\d+)/58 loss (\d\.\d{4}) accuracy ([01]\.\d{4})$", done.stdout, re.M)
    assert {epoch for epoch, *_ in steps} == {"1", "2", "3"}
    assert len(steps) == 3 * 8
    assert float(steps[-2][2]) < float(steps[0][2]) / 2, "the loss falls"
    tests = re.findall(r"^epoch (\d)/3 test_loss \d\.\d{4} test_accuracy ([01]\.\d{4})$", done.stdout, re.M)
    assert [epoch for epoch, _ in tests] == ["1", "2", "3"]
    assert float(tests[-1][1]) > 0.85
    written = sorted(path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file())
    assert written == [*(f"ckpt/epoch-00{epoch}.json" for epoch in (1, 2, 3)), "metrics.json", "model.json"]
    metrics = json.loads((results / "metrics.json").read_text(encoding="utf-8"))
    assert f"{metrics['epochs'][-1]['test_accuracy']:.4f}" == tests[-1][1]


def test_a_killed_run_goes_on_where_it_was_and_ends_like_one_never_stopped(tmp_path: Path) -> None:
    data: list[str | Path] = ["--data_url", SAMPLE / "data" / "digits.txt"]
    whole = train(*data, "--train_url", tmp_path / "whole", "--epochs", "4", *SMALL)
    assert whole.returncode == 0, whole.stderr

    cut = tmp_path / "cut"
    with subprocess.Popen(
        command(*data, "--train_url", cut, "--epochs", "400", *SMALL), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if line.startswith("epoch 3/400 step"):
                process.kill()
                break
    (cut / "ckpt" / "epoch-003.json").write_text('{"epoch": 3, "hid', encoding="utf-8")  # as a machine may leave it

    resumed = train(*data, "--train_url", cut, "--epochs", "4", *SMALL)
    assert resumed.returncode == 0, resumed.stderr
    assert "epoch-003.json is not complete" in resumed.stdout
    assert "epoch-002.json, epoch 2 is done" in resumed.stdout
    assert re.findall(r"^epoch (\d)/4 test_loss", resumed.stdout, re.M) == ["3", "4"]
    for name in ("model.json", "metrics.json"):
        assert (cut / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()

    again = train(*data, "--train_url", cut, "--epochs", "4", *SMALL)
    assert again.returncode == 0
    assert "nothing left to do" in again.stdout


def test_resume_takes_checkpoints_from_another_folder_but_not_of_another_network(tmp_path: Path) -> None:
    first = train("--train_url", tmp_path / "first", "--epochs", "1", *SMALL)
    assert first.returncode == 0, first.stderr
    source: list[str | Path] = ["--resume", tmp_path / "first" / "ckpt"]
    second = train("--train_url", tmp_path / "second", *source, "--epochs", "2", *SMALL)
    assert re.findall(r"^epoch (\d)/2 test_loss", second.stdout, re.M) == ["2"]
    other = train("--train_url", tmp_path / "third", *source, "--epochs", "1", "--hidden", "8")
    assert "made with hidden 16" in other.stdout
    assert "starting at epoch 1" in other.stdout
    assert other.returncode == 0


def test_missing_or_broken_data_ends_with_a_sentence(tmp_path: Path) -> None:
    absent = train("--data_url", tmp_path, "--train_url", tmp_path / "out")
    address = train("--data_url", "obs://digits/data/", "--train_url", tmp_path / "out")
    shutil.copy(SAMPLE / "data" / "digits.txt", tmp_path)
    with (tmp_path / "digits.txt").open("a", encoding="utf-8") as file:
        file.write("00ff 3\n")
    cut = train("--data_url", tmp_path, "--train_url", tmp_path / "out")
    for failed, sentence in (
        (absent, f"{tmp_path / 'digits.txt'} does not exist"),
        (address, "obs://digits/data/, but this script reads a folder"),
        (cut, "line 1798: not 64 pixels and a digit"),
    ):
        assert failed.returncode == 1
        assert sentence in failed.stderr
        assert "Traceback" not in failed.stderr
    assert not (tmp_path / "out").exists()


def test_arguments_of_the_platform_do_not_end_the_job(tmp_path: Path) -> None:
    done = train("--train_url", tmp_path, "--epochs", "1", *SMALL, "--init_method=tcp://127.0.0.1:6666", "--rank=0")
    assert done.returncode == 0, done.stderr
    assert "--init_method=tcp://127.0.0.1:6666 --rank=0" in done.stdout


def test_the_script_is_python_3_7_and_imports_the_standard_library_alone() -> None:
    tree = ast.parse((SAMPLE / "train.py").read_text(encoding="utf-8"), feature_version=(3, 7))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= sys.stdlib_module_names


def test_the_job_file_names_what_the_project_holds() -> None:
    job = tomllib.loads((SAMPLE / "job.toml").read_text(encoding="utf-8"))
    assert (SAMPLE / job["code"]["folder"] / job["code"]["boot"]).is_file()
    defaults = train("--help").stdout
    assert all(f"--{name}" in defaults for name in [*job["inputs"], *job["outputs"], *job["parameters"]])
    assert Path("epoch-001.json").match(job["checkpoint"]["pattern"])


def test_the_data_carry_their_licence() -> None:
    licence = (SAMPLE / "data" / "DATA-LICENCE.md").read_text(encoding="utf-8")
    for words in ("Alpaydin", "Kaynak", "creativecommons.org/licenses/by/4.0", "Changed"):
        assert words in licence
