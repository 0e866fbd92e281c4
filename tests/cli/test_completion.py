"""Shells complete commands: asked through the scripts they are given, and in the shells themselves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.cli_commands import LIMIT_S, Traindeck
from support.folder_cloud import FolderCloud, digits_spec
from support.servers.terminal import program_at_terminal
from traindeck.cli import completion
from traindeck.domain.jobs.job import Run, RunState

PROGRAMS = Path(sys.executable).parent
Offered = Callable[..., list[str]]
ASK = """
import json, sys
from traindeck.__main__ import main
code = main([])
with open("loaded.json", "w", encoding="utf-8") as file:
    json.dump([code, sorted(sys.modules)], file)
"""


def shell_environment(tmp_path: Path) -> dict[str, str]:
    """All of it: a shell takes much from what it inherits, such as COLUMNS and PROMPT_COMMAND."""
    path = os.pathsep.join([str(PROGRAMS), os.environ.get("PATH", os.defpath)])
    kept = ("TRAINDECK_HOME", "PYTHON_KEYRING_BACKEND", "XDG_CACHE_HOME")
    return {name: os.environ[name] for name in kept} | {
        "PATH": path, "TERM": "dumb", "PS1": "> ", "HOME": str(tmp_path), "LC_ALL": "C", "INPUTRC": os.devnull,
    }  # fmt: skip


@pytest.fixture
def offered(traindeck: Traindeck, tmp_path: Path) -> Offered:
    """What a shell would be told for this line, with the cursor at its end."""

    def ask(line: str, shell: str = "fish") -> list[str]:
        file = tmp_path / "offered.txt"
        asked = {
            "_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(file), "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_SHELL": shell, "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
            "COMP_LINE": line, "COMP_POINT": str(len(line)),
        }  # fmt: skip
        answer = traindeck(environment=asked).must_be(0)
        assert not answer.raw and not answer.said
        return file.read_text(encoding="utf-8-sig").splitlines()

    return ask


def test_settings_are_what_the_script_reads(offered: Offered, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float, default=0.1)\n"
        "p.add_argument('--optimizer', choices=['sgd', 'adam'])\np.parse_args()\n"
    )
    (tmp_path / "job.toml").write_text('[job]\nname = "a"\n[code]\nfolder = "."\nboot = "train.py"\n')
    names = offered("traindeck job submit job.toml --set ")
    assert names[:2] == ["lr=", "optimizer="]
    assert {"resources.nodes=", "job.name="} <= set(names)
    assert offered("traindeck job submit job.toml --set opt") == ["optimizer="]
    assert offered("traindeck job submit job.toml --set optimizer=") == ["optimizer=sgd", "optimizer=adam"]
    assert offered("traindeck job submit job.toml --set lr=") == ["lr=0.1"]
    assert "resources.nodes=" in offered("traindeck job submit missing.toml --set ")


async def test_what_is_run_again_takes_what_its_frozen_script_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINDECK_HOME", str(tmp_path / "home"))
    code = tmp_path / "code"
    code.mkdir()
    script = (
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--{}', choices=['a', 'b'])\np.parse_args()\n"
    )
    (code / "train.py").write_text(script.format("then"))
    run = Run("r1", 1, "digits", "lab", digits_spec(code_folder=str(code)), RunState.COMPLETED, datetime.now(UTC))
    async with FolderCloud(tmp_path) as cloud, cloud.bundles.frozen(code, "train.py", ()) as bundle:
        await cloud.records.add(replace(run, bundle=bundle.id))
    (code / "train.py").write_text(script.format("now"))

    def offered(start: str, name: str, code: str = "then") -> list[str]:
        return list(completion._settings(start, Namespace(run=name, code=code)))

    for name in ("last", "r1", "dig"):
        assert offered("", name)[0] == "then="
    assert offered("then=", "last") == ["then=a", "then=b"]
    assert offered("", "last", "now")[0] == "now="
    assert "resources.nodes=" in offered("", "nobody")


def test_commands_options_choices_names_and_files_are_offered(
    offered: Offered, traindeck: Traindeck, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.py").touch()
    (tmp_path / "file of mine.csv").touch()
    (tmp_path / "折叠\n.txt").touch()
    assert {"lab", "obs", "job", "completion"} <= set(offered("traindeck "))
    assert offered("traindeck obs sy") == ["sync"]
    assert offered("traindeck --profile lab obs sy") == ["sync"]
    assert offered("traindeck lab account r") == ["remove"]
    assert {"--profile", "--delete", "--dry-run"} <= set(offered("traindeck obs sync --"))
    assert offered("traindeck obs sync --compare ") == ["time", "size", "md5"]
    assert offered("traindeck completion po") == ["powershell"]
    assert offered("traindeck profile use ") == offered("traindeck --profile ") == ["lab"]
    assert not offered("traindeck profile add l") and not offered("traindeck profile add --region ")
    assert offered("traindeck job submit fo") == ["folder/"]
    assert offered("traindeck job submit folder/") == ["folder/train.py"]
    assert offered("traindeck profile add x --csv fi") == ["file of mine.csv"]
    assert not offered("traindeck obs cp 折")  # a line end in a name would be two names
    assert offered("traindeck job show l") == ["last"]
    assert offered("traindeck obs ls ") == ["obs://"]
    assert not offered("traindeck obs ls 'obs://")
    assert offered("traindeck jo", "powershell") == ["job"]


def test_where_something_was_moved_is_offered_again(
    offered: Offered,
    traindeck: Traindeck,
    lab: dict[str, str],
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_bytes(b"content")
    traindeck("obs", "mb", "obs://bucket").must_be(0)
    traindeck("obs", "cp", "file", "obs://bucket/deep/one").must_be(0)
    assert offered("traindeck obs ls obs://") == offered("traindeck obs cp x obs://b") == ["obs://bucket/"]
    assert offered("traindeck obs cat obs://bucket/") == ["obs://bucket/deep/"]
    assert offered("traindeck obs cat obs://bucket/deep/o") == ["obs://bucket/deep/one"]
    assert not offered("traindeck obs cat --profile other obs://")


def test_an_answer_loads_no_service_and_makes_no_home(tmp_path: Path) -> None:
    home, file = tmp_path / "nothing yet", tmp_path / "offered"
    line = "traindeck obs cp obs://"
    asked = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(file), "COMP_LINE": line, "COMP_POINT": str(len(line)),
        "TRAINDECK_HOME": str(home),
    }  # fmt: skip
    subprocess.run(
        [sys.executable, "-c", ASK], check=True, cwd=tmp_path, env=os.environ | asked, timeout=LIMIT_S,
    )  # fmt: skip
    code, modules = json.loads((tmp_path / "loaded.json").read_text(encoding="utf-8"))
    assert code == 0 and file.exists() and not home.exists()
    assert "argcomplete" in modules
    slow = {"PySide6", "obs", "keyring", "aiohttp", "requests", "platformdirs", "traindeck.services"}
    assert not slow & set(modules)


SCRIPTS = {
    "bash": "complete -o nospace -F _python_argcomplete traindeck",
    "zsh": "compdef _python_argcomplete traindeck",
    "fish": "complete --command traindeck -f -a",
    "powershell": "Register-ArgumentCompleter -Native -CommandName traindeck -ScriptBlock {",
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_shell_gets_its_script(traindeck: Traindeck, shell: str) -> None:
    printed = traindeck("completion", shell).must_be(0)
    assert SCRIPTS[shell] in printed.out and not printed.said
    assert traindeck("completion", shell, "--json").must_be(0).document["script"] in printed.out
    assert "tcsh" in traindeck("completion", "tcsh").must_be(2).said


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are of the others")
@pytest.mark.parametrize(
    ("words", "before"),
    [
        (("bash", "--norc", "--noprofile", "-i"), ""),
        (("zsh", "-f", "-i"), "autoload -U compinit; compinit -u -D; "),
    ],
    ids=["bash", "zsh"],
)
def test_a_shell_at_a_terminal_completes(
    tmp_path: Path, words: tuple[str, ...], before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(words[0]) is None:
        assert words[0] != "bash"
        pytest.skip(f"{words[0]} is not installed")
    inputrc = tmp_path / "inputrc"
    inputrc.write_text("TAB: self-insert\n", encoding="utf-8")
    for name, value in (("INPUTRC", str(inputrc)), ("COLUMNS", "15"), ("PROMPT_COMMAND", "cd /")):
        monkeypatch.setenv(name, value)  # what a user may have set is nothing to the test
    (tmp_path / "some folder").mkdir()
    with program_at_terminal(tmp_path, *words, environment=shell_environment(tmp_path)) as seen:
        seen.type(f"{before}eval \"$(traindeck completion {words[0]})\"; echo rea''dy\n")
        seen.read_until("ready\r")
        seen.type("traindeck compl\t")
        seen.read_until("completion ")
        seen.type("f\t")
        seen.read_until("ish")
        seen.type("\x15traindeck obs ls ob\t")
        seen.read_until("obs://")
        seen.type("\x15traindeck job submit so\t")
        seen.read_until("some\\ folder/")
        seen.type("\x15exit\n")
        assert seen.end() == 0


def test_fish_completes(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    script = 'traindeck completion fish | source; complete -C "traindeck compl"; complete -C "traindeck obs ls o"'
    done = subprocess.run(
        ["fish", "-N", "-c", script], capture_output=True, timeout=LIMIT_S, cwd=tmp_path,
        env=shell_environment(tmp_path), encoding="utf-8",
    )  # fmt: skip
    assert not done.stderr
    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == ["completion", "obs://"]
