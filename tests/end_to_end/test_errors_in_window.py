"""What can go wrong on a user's machine, as the window says it: a sentence to read, and a program that goes on."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from support import planted
from support.cli_commands import as_program, serving
from support.places import FULL, READ_ONLY, closed_port, inside_mount, with_home_on
from support.sample_home import quicken
from support.servers.lab_process import LabProcess
from support.servers.rotating_account import RotatingAccount
from support.servers.window_process import END_S, WindowProcess, app_log
from support.servers.xvfb import Xvfb, is_installed

SK = planted.SECRET_KEY

WRONG = "The secret key does not match access key"

on_a_screen = pytest.mark.skipif(os.name == "nt" or not is_installed, reason="an X server and xdotool are Linux's")


# what keeps the program from starting: a dialog of its own, and the end


def said_on_screen(home: Path, before: Sequence[str] = ()) -> str:
    """Start the program as a person does; give the title of the dialog it shows, after closing that by a key."""
    errors = home.parent / "stderr"
    home.parent.mkdir(parents=True, exist_ok=True)
    with Xvfb() as screen, errors.open("wb") as stderr:
        process = subprocess.Popen(
            [*before, sys.executable, "-m", "traindeck", "--language", "en"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env={**os.environ, **screen.environment, "TRAINDECK_HOME": str(home)},
        )
        try:
            # Longer than the name of the program: its frame may have been in sight for a moment.
            window = screen.do("search", "--sync", "--onlyvisible", "--name", ".{10}").split()[0]
            title = screen.do("getwindowname", window).strip()
            screen.do("windowfocus", "--sync", window)
            screen.do("key", "Escape")
            assert process.wait(END_S) == 1
        finally:
            process.kill()
            process.wait(END_S)
    words = errors.read_text("utf-8")
    assert "Traceback" not in words
    assert title.partition("  ")[0].removesuffix(" — TrainDeck") in words, "who has no screen reads the same"
    return title


@on_a_screen
def test_a_read_only_home_is_named(home: Path) -> None:
    before = inside_mount(home, "ro")
    assert str(home) in said_on_screen(home, before)


@on_a_screen
def test_a_full_disk_is_said_to_be_full(home: Path) -> None:
    before = inside_mount(home, "size=64k")
    assert "full" in said_on_screen(home, before)


@on_a_screen
def test_damaged_settings_are_named_and_left_alone(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.json").write_text("{", "utf-8")
    assert str(home / "settings.json") in said_on_screen(home)
    assert (home / "settings.json").read_text("utf-8") == "{"


@on_a_screen
def test_the_records_of_a_newer_program_are_left_alone(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(home / "records.db")) as db:
        db.execute("PRAGMA user_version = 99")
    assert "newer TrainDeck" in said_on_screen(home)


# what the window says while it goes on


def test_a_lab_that_cannot_start_says_why(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "lab").write_text("in the way", "utf-8")
    with WindowProcess(home, "read_the_bar", "The Lab could not be started.") as window:
        said = window.told("said")
        assert str(home / "lab") in said["bar"]
        window.must_be_well()


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("boot", "trian.py", "trian.py"),
        pytest.param("code_folder", "/no/such/folder", "/no/such/folder", marks=pytest.mark.long),
    ],
)
def test_what_is_missing_is_named_before_anything_is_sent(home: Path, field: str, value: str, words: str) -> None:
    with WindowProcess(home, "submit_in_vain", f"“{words}”", field, value) as window:
        said = window.told("said")
        assert words in said["bar"] or words in said["words"]
        assert window.told("listed")["states"] == []
        window.must_be_well()


def test_a_disk_that_fills_up_is_said_to_be_full_when_a_job_is_sent(home: Path, tmp_path: Path) -> None:
    before = inside_mount(home, "size=24m")
    go = tmp_path / "go"
    with WindowProcess(home, "submit_in_vain", "disk is full", "", "", str(go), before=before) as window:
        window.told("ready")
        fill_up(Path(f"/proc/{window.process.pid}/root") / home.relative_to("/"))
        go.touch()
        assert "Free" in window.told("said")["bar"]
        assert window.ended() == 0
        assert window.error_text == ""


@pytest.mark.parametrize(
    "script", [pytest.param(FULL, id="full"), pytest.param(READ_ONLY, id="read-only", marks=pytest.mark.long)]
)
def test_a_running_job_is_listed_and_stopped_from_a_home_that_takes_nothing(
    home: Path, tmp_path: Path, script: str
) -> None:
    with serving("--root", str(home / "lab")):
        environment = {"TRAINDECK_HOME": str(home)}
        as_program(("job", "init", "p"), tmp_path, environment=environment).must_be(0)
        quicken(tmp_path / "p")
        words = ("job", "submit", "p", "--set", "epochs=500", "--json")
        as_program(words, tmp_path, environment=environment).must_be(0)
        disk = tmp_path / "disk"
        before = with_home_on(disk, home, script)
        with WindowProcess(disk, "stop_without_a_disk", before=before) as window:
            assert "Free up space" in window.told("listed")["bar"] or "permission" in window.heard[-1]["bar"]
            window.told("stopped")
            assert window.ended() == 0
            assert window.error_text == ""


def fill_up(folder: Path) -> None:
    with (folder / "filler").open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(65536))
            except OSError:
                return


def test_without_a_keyring_and_with_a_wrong_secret_key(home: Path, tmp_path: Path) -> None:
    with (
        LabProcess(tmp_path / "elsewhere") as lab,
        WindowProcess(
            home, "connect", lab.access_key, lab.project_id, lab.obs, lab.modelarts, lab.iam,
            environment={"SECRET_KEY": SK},
        ) as window,
    ):  # fmt: skip
        kept = window.told("kept")
        assert "keyring" in kept["error"]
        checked = window.told("checked")
        assert "The credential is not valid." in checked["facts"]
        assert len([fact for fact in checked["facts"] if WRONG in fact]) == 3
        assert not checked["keys_in_sight"]
        assert WRONG in window.told("form")["offer"]
        window.must_be_well()
    assert_nowhere(SK, home)


def test_an_account_of_ones_own_takes_six_acts(home: Path, tmp_path: Path) -> None:
    with LabProcess(tmp_path / "elsewhere") as lab, WindowProcess(
        home, "own_account", lab.access_key, lab.region, lab.obs, lab.modelarts, lab.iam,
        environment={"SECRET_KEY": lab.secret_key},
    ) as window:  # fmt: skip
        assert len(window.told("in use")["acts"]) <= 6
        window.must_be_well()
    assert_nowhere(lab.secret_key, home)


def test_a_service_that_cannot_be_reached_is_not_taken_for_a_wrong_key(home: Path) -> None:
    nowhere = f"http://127.0.0.1:{closed_port()}"
    gone = f"Cannot connect to {nowhere.removeprefix('http://')}."
    with WindowProcess(
        home, "connect", "ACCESSKEY1234567890X", "0" * 32, nowhere, nowhere, nowhere, environment={"SECRET_KEY": SK}
    ) as window:
        facts = window.told("checked")["facts"]
        assert "Keys not checked yet." in facts
        assert len([fact for fact in facts if gone in fact]) == 3
        assert gone in window.told("form")["offer"]
        window.must_be_well()
    assert_nowhere(SK, home)


def test_keys_that_are_taken_away_are_replaced_without_a_restart(home: Path, tmp_path: Path) -> None:
    rotated = tmp_path / "rotated"
    with LabProcess(tmp_path / "elsewhere") as lab:
        account = RotatingAccount(lab.root)
        keys = account.keys
        with WindowProcess(
            home, "lose_keys", keys.access_key, lab.obs, lab.modelarts, lab.iam, str(rotated),
            environment={"SECRET_KEY": keys.secret_key.reveal()},
        ) as window:  # fmt: skip
            assert "The credential is valid." in window.told("connected")["words"]
            account.rotate()
            rotated.touch()
            refused = window.told("refused")
            assert "campus" in refused["title"] and "Everything that uses this account i" in refused["hint"]
            assert (refused["button"], refused["notices"]) == ("Enter new keys…", 1)
            window.told("accepted")
            window.must_be_well()
    # The Lab, which made the keys, has them in its own folder.
    kept = [path for path in home.rglob("*") if path.is_file()]
    for secret in (keys.secret_key.reveal(), account.keys.secret_key.reveal()):
        assert kept and not [path for path in kept if secret.encode() in path.read_bytes()]


def assert_nowhere(secret: str, home: Path) -> None:
    files = [path for path in home.parent.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret.encode() in path.read_bytes()]
    assert secret not in app_log(home)
