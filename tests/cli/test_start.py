"""Commands start fast: nothing is imported that they do not need, and never Qt."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli_commands import LIMIT_S, Traindeck

ASK = """
import json, sys
from traindeck.__main__ import main
code = main(sys.argv[1:])
with open("loaded.json", "w", encoding="utf-8") as file:
    json.dump([code, sorted(sys.modules)], file)
"""
QT = {"PySide6", "shiboken6", "qasync"}
SDKS = {"obs", "requests", "urllib3", "Crypto", "cffi", "pycparser", "huaweicloudsdkcore", "huaweicloudsdkmodelarts"}
# Each of these takes as long as a small command may take altogether, or a good part of it.
SELDOM = {"aiohttp", "keyring", "tomlkit", "psutil", "platformdirs", "http.client", "urllib.request", "email", "shutil"}
KEPT = {"sqlite3", "filelock", "logging.handlers"}
LOCKING = {"filelock", "shutil"}
MOVING = {
    "traindeck.services.transfers", "traindeck.domain.transfers.records", "traindeck.store.transfer_journal",
    "traindeck.domain.storage.object_facts",
}  # fmt: skip
RUNS = {"traindeck.domain.jobs.job", "traindeck.services.jobs.submission", "traindeck.store.runs"}


def loaded(tmp_path: Path, *words: str | Path) -> tuple[int, set[str]]:
    subprocess.run(
        [sys.executable, "-c", ASK, *map(str, words)],
        capture_output=True, check=True, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=LIMIT_S,
    )  # fmt: skip
    code, modules = json.loads((tmp_path / "loaded.json").read_text(encoding="utf-8"))
    return code, set(modules)


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("--help",),
        ("job", "submit", "--help"),
        ("obs", "cp", "--help"),
        ("--language", "zh_CN", "profile", "--help"),
        ("obs", "nonsense"),
    ],
)
def test_help_and_mistakes_load_the_parser_alone(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, modules = loaded(tmp_path, *words)
    assert code == (2 if "nonsense" in words else 0)
    assert not modules & (QT | SDKS | KEPT | MOVING | RUNS | (SELDOM - {"shutil"}))
    parts = {name.split(".")[1] for name in modules if name.startswith("traindeck.")}
    if not code:
        assert not modules & {"asyncio", "ssl", "logging"}
        assert parts == {"__main__", "cli", "domain", "runtime"}
    assert not parts & {"assembly", "store", "lab", "ui", "viewmodels"}


NEEDED = {
    "obs ls obs://bucket/": set[str](),
    "obs ls --recursive obs://bucket/": set[str](),
    "obs du obs://bucket/": set[str](),
    "profile list": set[str](),
    "profile use lab": LOCKING,
    "obs cat obs://bucket/one": MOVING | LOCKING | {"sqlite3"},
    "obs cp file obs://bucket/two": MOVING | LOCKING | {"sqlite3"},
    "obs sync folder obs://bucket/x/": MOVING | LOCKING | {"sqlite3"},
    "job ls": MOVING | RUNS | LOCKING | {"sqlite3"},
    "lab status": LOCKING | {"sqlite3", "psutil"},
}


def test_a_command_loads_what_it_needs(traindeck: Traindeck, lab: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"content")
    traindeck("obs", "mb", "obs://bucket").must_be(0)
    traindeck("obs", "cp", tmp_path / "file", "obs://bucket/one").must_be(0)
    traindeck("job", "ls").must_be(0)  # what is made once, such as the records, is there
    for words, needed in NEEDED.items():
        code, modules = loaded(tmp_path, *words.split())
        assert code == 0, words
        too_many = modules & (QT | SDKS | SELDOM | KEPT | MOVING | RUNS) - needed
        assert not too_many, f"{words}: {sorted(too_many)}"


@pytest.mark.parametrize("words", [("obs", "ls", "--profile", "nobody"), ("engines", "--profile", "nobody")])
def test_who_asks_no_service_loads_no_sdk(tmp_path: Path, words: tuple[str, ...]) -> None:
    code, modules = loaded(tmp_path, *words)
    assert code == 4
    assert not modules & (QT | SDKS)
