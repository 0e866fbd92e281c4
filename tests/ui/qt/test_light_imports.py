"""What the window's modules cost: they are run, and not read as words and kept so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_START = """
import atexit, linecache
from traindeck.__main__ import main
atexit.register(lambda: print("kept:", sum(len(entry) > 2 and len(entry[2]) for entry in linecache.cache.values())))
raise SystemExit(main(["--self-check"]))
"""
_FEW = 10_000


def test_the_window_starts_without_reading_the_source_of_all_it_imports(tmp_path: Path) -> None:
    """PySide does, and Python keeps it: 200,000 lines for the window."""
    done = subprocess.run(
        [sys.executable, "-c", _START],
        env={**os.environ, "TRAINDECK_HOME": str(tmp_path / "home"), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert "Window:" in done.stdout, done.stdout + done.stderr
    kept = int(done.stdout.rpartition("kept:")[2])
    assert kept < _FEW
