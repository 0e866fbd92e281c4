"""Commands start fast: nothing is imported that they do not need, and never Qt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"aiohttp", "asyncio", "keyring", "obs", "huaweicloudsdkcore", "sqlite3", "platformdirs", "tomlkit", "filelock"}
ASK = """
import json, sys
from traindeck.__main__ import main
code = main(sys.argv[1:])
with open("loaded.json", "w", encoding="utf-8") as file:
    json.dump([code, sorted({name.partition(".")[0] for name in sys.modules})], file)
"""


def loaded(tmp_path: Path, *words: str) -> tuple[int, set[str]]:
    subprocess.run(
        [sys.executable, "-c", ASK, *words],
        capture_output=True, check=True, cwd=tmp_path, stdin=subprocess.DEVNULL, env=os.environ,
    )  # fmt: skip
    code, modules = json.loads((tmp_path / "loaded.json").read_text(encoding="utf-8"))
    return code, set(modules)


@pytest.mark.parametrize("words", [("--help",), ("job", "submit", "--help"), ("--version",), ("obs", "nonsense")])
def test_help_and_mistakes_import_nothing_heavy(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, modules = loaded(tmp_path, *words)
    assert code == (2 if "nonsense" in words else 0)
    assert not modules & (HEAVY - {"asyncio"} if code else HEAVY)
    assert not modules & {"PySide6", "shiboken6", "qasync"}


@pytest.mark.parametrize(
    "words",
    [("profile", "list"), ("obs", "ls", "--profile", "nobody"), ("job", "ls"), ("engines", "--profile", "nobody")],
)
def test_no_command_loads_qt(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, modules = loaded(tmp_path, *words)
    assert code == (4 if "nobody" in words else 0)
    assert "traindeck" in modules
    assert not modules & {"PySide6", "shiboken6", "qasync"}
