"""Without a screen: the first minute walks by itself, and an installation looks at itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from support.sample_home import AS_SHIPPED, shorten_the_sample
from support.servers.window_process import all_of, app_log
from support.waiting import PATIENT_S

LIMIT_S = 3 * PATIENT_S
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


@pytest.fixture
def home(new_home: Path) -> Path:
    """With nothing in it, as it is at the first start."""
    return new_home


def run_without_screen(home: Path, folder: Path, *words: str, umask: int = -1) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in SCREENS}
    environment |= {"TRAINDECK_HOME": str(home), "PYTHONUTF8": "1"}
    if not sys.platform.startswith("linux"):
        environment["QT_QPA_PLATFORM"] = "offscreen"  # only there a screen can be missing
    folder.mkdir(parents=True, exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "traindeck", "--language", "en", *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_S,
        umask=umask,
    )


@pytest.mark.parametrize("epochs", [2, pytest.param(AS_SHIPPED, marks=pytest.mark.long)])
def test_the_first_minute_walks_by_itself(home: Path, tmp_path: Path, epochs: int) -> None:
    if epochs != AS_SHIPPED:
        shorten_the_sample(home, epochs)
    done = run_without_screen(home, tmp_path / "here", "--first-minute")
    assert done.returncode == 0, done.stdout + done.stderr + app_log(home)
    assert done.stderr == ""
    said = done.stdout
    for words in ("The Lab is running.", f"epoch 1/{epochs} ", "finished: test_accuracy", ": Completed, duration"):
        assert words in said
    outputs = [path for path in (home / "runs").rglob("outputs/**/*") if path.is_file()]
    assert {"metrics.json", "model.json"} <= {path.name for path in outputs}
    assert all(str(path) in said for path in outputs)

    picture = tmp_path / "here" / "traindeck-first-minute.png"
    assert str(picture) in said
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    image = QImage(str(picture))
    assert (image.width(), image.height()) == (1280, 800)
    assert len({image.pixel(x, y) for x in range(0, 1280, 8) for y in range(0, 800, 8)}) > 8
    assert all_of(home) == []


USERS_OWN = ("outputs", "digits")
"""What a user edits, opens and hands on is as they have their files everywhere; the folders above it are closed."""


@pytest.mark.skipif(os.name == "nt", reason="rights of another kind")
def test_what_is_kept_is_for_its_owner_alone(home: Path, tmp_path: Path) -> None:
    shorten_the_sample(home, 2)
    home.chmod(0o755)
    done = run_without_screen(home, tmp_path / "here", "--first-minute", umask=0)
    assert done.returncode == 0, done.stdout + done.stderr + app_log(home)
    kept = [home, *(path for path in home.rglob("*") if not any(at.name in USERS_OWN for at in (path, *path.parents)))]
    assert {path.suffix for path in kept} >= {".db", ".log", ".json"} and (home / "lab" / "obs").is_dir()
    open_ones = [f"{path.relative_to(home)} {path.stat().st_mode:o}" for path in kept if path.stat().st_mode & 0o077]
    assert open_ones == [], "\n".join(open_ones)


@pytest.mark.long
def test_an_installation_looks_at_itself(home: Path, tmp_path: Path) -> None:
    done = run_without_screen(home, tmp_path, "--self-check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) >= 5
    assert all(line.startswith("ok ") for line in lines), done.stdout
    assert all_of(home) == []


@pytest.mark.long
def test_what_does_not_hold_is_named_and_fails_the_check(home: Path, tmp_path: Path) -> None:
    home.mkdir(parents=True)
    (home / "lab").write_text("in the way", "utf-8")
    done = run_without_screen(home, tmp_path, "--self-check")
    assert done.returncode == 1
    (failed,) = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert "Lab" in failed
    assert all_of(home) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there a screen can be missing")
def test_a_window_without_a_screen_is_a_sentence(home: Path, tmp_path: Path) -> None:
    done = run_without_screen(home, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("There is no display to open the window on.")
    assert not home.exists()
