"""No command replaces a file that is there without a yes: one rule, in one place, for all that write one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import traindeck as program
from support.cli_commands import Traindeck
from traindeck.cli import terminal

_CLI = Path(program.__file__).parent / "cli"
_JOB = '[job]\nname = "small"\n'
_WRITE = {"write_whole", "write_bytes", "write_text", "move_new", "save_loader"}
_ELSEWHERE = {"target_file.py", "completion.py"}
"""The shell names the file of the second, which it made for that."""


def test_commands_write_files_in_one_place_alone() -> None:
    found = set()
    for path in sorted(_CLI.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and path.name not in _ELSEWHERE:
                name = ast.unparse(node.func).rpartition(".")[2]
                modes = [ast.unparse(one).strip("'\"") for one in (*node.args, *(word.value for word in node.keywords))]
                if name in _WRITE or (name == "open" and {"w", "x", "a", "wb", "xb", "ab"} & set(modes)):
                    found.add(f"{path.name}:{node.lineno}")
    assert found == set()


@pytest.fixture
def commands(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """All that write a file, by its name."""
    (tmp_path / "small.toml").write_text(_JOB, encoding="utf-8")
    traindeck("job", "init", "p").must_be(0)
    traindeck("job", "submit", "p", "--set", "epochs=1").must_be(0)
    return {
        "out.yaml": ("job", "export", "small.toml", "--as", "yaml", "--to"),
        "out.toml": ("job", "import", "small.toml", "--to"),
        "out.csv": ("job", "ls", "--export"),
        "out.md": ("job", "ls", "--export"),
        "out.zip": ("job", "code", "last", "--zip"),
        "report.zip": ("diag", "--bundle"),
    }


def test_what_is_there_is_replaced_after_a_yes_alone(
    traindeck: Traindeck, tmp_path: Path, commands: dict[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, words in commands.items():
        file = tmp_path / name
        file.write_bytes(b"mine")
        file.chmod(0o640)
        refused = traindeck(*words, file).must_be(2)
        assert f"“{file}” already exists." in refused.said and "--yes" in refused.said, name
        assert file.read_bytes() == b"mine", name

        with monkeypatch.context() as somebody:
            somebody.setattr(terminal, "somebody_is_there", lambda: True)
            answers = iter(("no", "yes"))
            somebody.setattr(terminal, "asked", lambda _, answers=answers: next(answers))
            if words[0] != "diag":  # which would measure the network all the same
                assert "Nothing was written." in traindeck(*words, file).must_be(0).said
                assert file.read_bytes() == b"mine", name
                traindeck(*words, file).must_be(0)
                assert file.read_bytes() != b"mine", name
                assert name.endswith(".zip") or file.stat().st_mode & 0o777 == 0o640, name

        if words[0] != "diag":
            file.write_bytes(b"mine")
            traindeck(*words, file, "--yes").must_be(0)
            assert file.read_bytes() != b"mine", name
            file.unlink()
            traindeck(*words, file).must_be(0)
            assert file.stat().st_size, name
        folder = tmp_path / f"folder.{name}"
        folder.mkdir()
        assert "It is a folder." in traindeck(*words, folder, "--yes").must_be(1).said
        assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")], "parts are left behind"


def test_a_project_that_has_begun_is_never_begun_anew(traindeck: Traindeck, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(_JOB, encoding="utf-8")
    assert "already exists" in traindeck("job", "init", ".").must_be(1).said
    assert (tmp_path / "job.toml").read_text(encoding="utf-8") == _JOB
