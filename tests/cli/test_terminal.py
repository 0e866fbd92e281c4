"""A person at a terminal: asked, not shown what is secret, and able to leave at any moment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.cli_commands import Traindeck
from support.servers.terminal import terminal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal is POSIX")

AK, SK = "ACCESSKEY1234567890X", "secretkeythatnobodymaysee1234567890abcdef"


def test_keys_are_asked_for_and_the_secret_one_is_not_shown(tmp_path: Path) -> None:
    with terminal(tmp_path, "profile", "add", "p", "--region", "cn-north-4") as screen:
        screen.read_until("Access key (AK): ")
        screen.type(f"{AK}\n")
        screen.read_until("Secret key (SK), not shown: ")
        screen.type(f"{SK}\n")
        assert screen.end() == 3, "there is no keyring in this test"
    assert "keyring" in screen.seen
    assert AK in screen.seen
    assert SK not in screen.seen


@pytest.mark.parametrize("prompt", ["Access key (AK): ", "Secret key (SK), not shown: "])
def test_ctrl_c_at_a_question_leaves_at_once(tmp_path: Path, prompt: str) -> None:
    with terminal(tmp_path, "profile", "add", "p", "--region", "cn-north-4") as screen:
        screen.read_until("Access key (AK): ")
        if "Secret" in prompt:
            screen.type(f"{AK}\n")
            screen.read_until(prompt)
        screen.type("\x03")
        assert screen.end() == 130
    assert "Interrupted." in screen.seen
    assert "Traceback" not in screen.seen


def test_removing_a_folder_asks_with_the_count_and_only_a_yes_is_one(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    traindeck("obs", "cp", "-", "obs://cli-bucket/one/a", given=b"12345").must_be(0)
    remove = ("obs", "rm", "-r", "obs://cli-bucket/one/")
    for answer, code, said in (("\n", 0, "Nothing was deleted."), ("\x03", 130, "Interrupted.")):
        with terminal(tmp_path, *remove) as screen:
            screen.read_until("Delete 1 object (5 B) permanently? [y/N] ")
            screen.type(answer)
            assert screen.end() == code
        assert said in screen.seen
        assert traindeck("obs", "cp", "obs://cli-bucket/one/a", "-").must_be(0).raw == b"12345"
    with terminal(tmp_path, *remove) as screen:
        screen.read_until("[y/N] ")
        screen.type("y\n")
        assert screen.end() == 0
    traindeck("obs", "ls", "obs://cli-bucket/one/").must_be(4)


def test_a_transfer_shows_its_progress_and_leaves_only_its_result(
    tmp_path: Path, traindeck: Traindeck, lab: dict[str, str]
) -> None:
    (tmp_path / "big").write_bytes(os.urandom(30_000_000))
    traindeck("obs", "mb", "obs://cli-bucket").must_be(0)
    with terminal(tmp_path, "obs", "cp", "big", "obs://cli-bucket/") as screen:
        assert screen.end() == 0
    assert "/ 30 MB" in screen.seen
    last = screen.seen.rpartition("\r\n")[0].rpartition("\r")[2]
    assert last == "Copied 1 file to obs://cli-bucket/. Confirmed by size and checksum: 1"
