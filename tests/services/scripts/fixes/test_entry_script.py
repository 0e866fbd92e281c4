"""The entry script that a fix adds, run as a platform runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.fixed_scripts import fixed, script
from support.script_folders import tree_of
from support.waiting import PATIENT_S
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.scripts.fixes import ScriptFix
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.services.scripts.fixes.all_fixes import propose

TRAIN = """
    import argparse, os, signal, sys, time
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(4))
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dir"); parser.add_argument("--save_dir"); parser.add_argument("--epochs", type=int)
    parser.add_argument("--code", type=int, default=0); parser.add_argument("--wait", action="store_true")
    args = parser.parse_args()
    print("GOT", args.data_dir, args.save_dir, args.epochs, flush=True)
    open(os.path.join(args.save_dir, "model.txt"), "w").write("half")
    try:
        print("WAITING", flush=True)
        time.sleep(60 if args.wait else 0)
    finally:
        open(os.path.join(args.save_dir, "last.txt"), "w").write("saved")
    sys.exit(args.code)
"""
# Copies between folders that are called like places of OBS.
MOXING = """
    import os, shutil, sys
    def place(url):
        return os.path.join(os.environ["OBS"], url[6:]) if url.startswith("obs://") else url
    class file:
        @staticmethod
        def copy_parallel(source, target):
            print("COPY", source, target, flush=True)
            shutil.copytree(place(source), place(target), dirs_exist_ok=True)
"""


class Project:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.obs = folder / "obs"
        (self.obs / "data").mkdir(parents=True)
        (self.obs / "data" / "x.txt").write_text("x")
        self.code = folder / "code"
        self.code.mkdir()
        (self.code / "moxing.py").write_text(script(MOXING))
        (self.code / "train.py").write_text(script(TRAIN))
        (change,) = fixed("entry-script", {"train.py": script(TRAIN)}).changes
        assert change.after is not None
        (self.code / change.path).write_bytes(change.after)
        self.entry = self.code / change.path

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "OBS": str(self.obs), **more}
        return subprocess.Popen(
            [sys.executable, str(self.entry), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=environment, cwd=self.folder,
        )  # fmt: skip

    def run(self, *words: str, **more: str) -> tuple[int, str]:
        with self.start(*words, **more) as process:
            said, _ = process.communicate(timeout=PATIENT_S)
        return process.returncode, said


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_folders_are_used_as_they_are_and_unknown_arguments_do_not_reach_the_script(project: Project) -> None:
    out = project.folder / "out"
    code, said = project.run(f"--data_url={project.obs}/data", f"--train_url={out}", "--epochs=3", "--from_platform=1")
    assert code == 0, said
    assert f"GOT {project.obs}/data {out} 3" in said
    assert "does not know it: --from_platform=1" in said
    assert (out / "last.txt").read_text() == "saved" and "COPY" not in said


def test_obs_is_copied_in_and_results_are_copied_out_after_a_failure_too(project: Project) -> None:
    code, said = project.run("--data_url", "obs://data", "--train_url=obs://out", "--code=7")
    assert code == 7, said
    assert (project.obs / "out" / "model.txt").read_text() == "half"
    assert said.index("COPY obs://data") < said.index("GOT") < said.rindex("COPY")


def test_folders_may_come_by_the_environment(project: Project) -> None:
    out = project.folder / "out"
    code, said = project.run(data_url=str(project.obs / "data"), train_url=str(out))
    assert code == 0 and f"GOT {project.obs}/data {out}" in said, said


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_signal_reaches_the_script_and_results_are_copied_then(project: Project) -> None:
    with project.start("--data_url=obs://data", "--train_url=obs://out", "--wait") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("WAITING"):
                break
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        code = process.wait(PATIENT_S)
    assert code == 4
    assert (project.obs / "out" / "last.txt").read_text() == "saved"


def test_packages_that_cannot_be_installed_end_the_job_with_a_word(project: Project) -> None:
    (project.code / "pip-requirements.txt").write_text("./is-not-there\n")
    code, said = project.run("--data_url=obs://data", "--train_url=obs://out", MA_VJ_NAME="ma-job-1")
    assert code and "could not be installed" in said and "GOT" not in said
    # The process of another card is told by the first one.
    code, said = project.run("--data_url=obs://data", "--train_url=obs://out", MA_VJ_NAME="ma-job-1", DEVICE_ID="1")
    assert code and "could not be installed" in said and "GOT" not in said


def test_a_name_that_is_taken_is_left_to_its_owner() -> None:
    found = fixed("entry-script", {"train.py": script(TRAIN), "modelarts_entry.py": "print('mine')\n"})
    assert [one.path for one in found.changes] == ["modelarts_entry_2.py"] and found.boot == "modelarts_entry_2.py"


def test_without_a_boot_file_there_is_nothing_to_start() -> None:
    found = propose(ScriptFix.ENTRY_SCRIPT, tree_of({"a.py": "x = 1\n"}, ""), ScriptJob())
    assert not found.changes and found.not_fixed


def test_on_gpus_it_starts_a_process_for_each_card_itself() -> None:
    words = script(TRAIN) + "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
    job = ScriptJob(flavor_kind=AcceleratorKind.GPU, cards=8, inputs=(Channel("images", "obs://b/i/"),), has_form=True)
    (change,) = fixed("entry-script", {"train.py": words}, job).changes
    assert b"PROCESSES = 8" in (change.after or b"") and b'INPUTS = {"images": "--data_dir"}' in (change.after or b"")
    ascend = ScriptJob(flavor_kind=AcceleratorKind.ASCEND, cards=8, has_form=True)
    (change,) = fixed("entry-script", {"train.py": words}, ascend).changes
    assert b"PROCESSES = 1" in (change.after or b"")
