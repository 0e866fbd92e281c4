"""On a terminal no line is longer than it is wide, and in a pipe no name is shortened; on real terminals."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from support.cli_commands import Traindeck, in_process, put_files
from traindeck.__main__ import main
from traindeck.cli.columns import aligned, shortened, width, with_name, wrapped
from traindeck.cli.job.printing import fitted
from traindeck.domain.jobs import run_table

LONG = "一个很长的名字" * 6 + ".txt"
DEEP = "/".join(["a folder with a rather long name"] * 3) + "/file of the end.bin"


@pytest.mark.parametrize("columns", [3, 8, 13, 40])
@pytest.mark.parametrize("name", ["", "a", LONG, DEEP, "e\u0301" * 40, "字a" * 20])
def test_names_and_sentences_fit(name: str, columns: int) -> None:
    assert width(shortened(name, columns)) <= columns
    assert all(width(line) <= columns for line in wrapped(name, columns))
    assert "".join(wrapped(name, columns)).replace(" ", "") == name.replace(" ", "")
    if columns > 8:
        assert all(width(line) <= columns for line in with_name("↑ ", name, "  84 kB", columns))
        for line in aligned([["2026-11-19", name, "84 kB"], ["x", "short", "1 B"]], frozenset({2}), columns=columns):
            assert width(line) <= columns


def test_both_ends_of_a_name_stay_and_numbers_are_left_alone() -> None:
    assert shortened("train/deep/picture-0001.jpg", 15) == "train/d…001.jpg"
    assert shortened("数据集图片.jpg", 9) == "数据….jpg"
    assert wrapped("one two three", 8) == ["one two", "three"]
    assert wrapped("图片已经上传", 5) == ["图片", "已经", "上传"]
    assert aligned([["a" * 30, "12.4 kB"]], frozenset({1}), columns=20) == ["aaaaa…aaaaa  12.4 kB"]


if sys.platform != "win32":
    import fcntl
    import pty
    import struct
    import termios

    @contextmanager
    def terminal(columns: int) -> Iterator[tuple[int, list[bytes]]]:
        """The side of the program, and what it wrote so far."""
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        pieces: list[bytes] = []

        def read() -> None:
            try:
                while piece := os.read(ours, 65536):
                    pieces.append(piece)
            except OSError:
                return  # closed on the other side

        reader = threading.Thread(target=read, name="terminal")
        reader.start()
        try:
            yield its, pieces
        finally:
            os.close(its)
            reader.join()
            os.close(ours)

    def shown(columns: int, *arguments: str) -> list[str]:
        """The lines a terminal of this width shows of a command."""
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        with (
            patch.dict(os.environ, environment, clear=True), terminal(columns) as (its, pieces),
            os.fdopen(os.dup(its), "w", encoding="utf-8") as out,
            os.fdopen(os.dup(its), "w", encoding="utf-8") as said,
            patch.object(sys, "stdout", out), patch.object(sys, "stderr", said), patch.object(sys, "__stdout__", out),
        ):  # fmt: skip
            main(arguments)
        return [line for line in re.split("[\r\n]+", b"".join(pieces).decode()) if line]


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own is POSIX here")
@pytest.mark.parametrize("columns", [40, 80])
def test_no_command_writes_a_line_wider_than_its_terminal(
    columns: int, traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]
) -> None:
    put_files(tmp_path / "data", {LONG: bytes(3_000_000), DEEP: b"22", "short": b"1"})
    (tmp_path / f"data/link to {LONG}").symlink_to("short")
    there = "obs://a-bucket-with-a-name-of-its-own/a folder/"
    bucket = there.removesuffix("a folder/")
    traindeck("obs", "mb", bucket).must_be(0)
    (tmp_path / "privacy.json").write_text('{"Statement": []}', encoding="utf-8")
    for command in (
        ("obs", "cp", "-n", "data", there), ("obs", "cp", "data", there), ("obs", "sync", "-n", "data", there),
        ("obs", "sync", "data", f"{there}x/"), ("obs", "sync", "--verify", "data", there), ("obs", "ls"),
        ("obs", "ls", there), ("obs", "ls", "-r", there), ("obs", "find", there), ("obs", "du", "-d", "3", there),
        ("obs", "stat", bucket), ("obs", "stat", there), ("obs", "stat", "--versions", there + LONG),
        ("obs", "pack", "data", f"{there}packed/"), ("obs", "pack", "--list", f"{there}packed/"),
        ("obs", "rm", "-r", "-n", there), ("obs", "rm", "-r", "-n", "--all-versions", there),
        ("obs", "rm", "-r", there),
        ("obs", "policy", bucket), ("obs", "fragments", bucket), ("obs", "cp", DEEP, there), ("obs", "cp", "a", "b"),
        ("obs", "ls", f"obs://no-such-bucket-anywhere/{LONG}/"), ("profile", "list"), ("lab", "status"),
        ("lab", "engines"), ("engines",), ("flavors",), ("job", "list"), ("obs", "sync", "--help"), ("obs", "cp"),
        ("--help",), ("obs", "--help"), ("obs", "mv", there, f"{there}deeper/"), ("obs", "cp", "-n", there, "down"),
    ):  # fmt: skip
        for language in ("en", "zh_CN"):
            wide = [line for line in shown(columns, *command, "--language", language) if width(line) > columns]
            assert not wide, (command, language)
    piped = in_process(("obs", "sync", "-n", "data", f"{there}y/"), environment={"COLUMNS": str(columns)})
    assert f"↑ {LONG}  3 MB" in piped.out.splitlines() and f"↑ {DEEP}  2 B" in piped.out.splitlines()


@pytest.mark.parametrize("columns", [None, 24, 40, 60, 80, 140])
def test_the_names_of_runs_stay_readable_however_narrow_the_terminal(columns: int | None) -> None:
    """Other columns give way first; without a width, as of a terminal that tells none, nothing is cut."""
    name = "resnet50-imagenet-1119-2138-8qcs"
    row = dict.fromkeys(run_table.USUAL, "x" * 8) | {
        "name": name,
        "submitted": "2026-11-19 21:38:00",
        "run": "aabb0011",
    }

    def rows_of(shown: Sequence[str]) -> list[list[str]]:
        return [[run_table.head(one) for one in shown], [row[one] for one in shown]]

    shown, rows = fitted(run_table.USUAL, rows_of, ("account", "submitted", "number", "duration", "run"), columns)
    lines = aligned(rows, columns=columns)
    assert columns is None or all(width(line) <= columns for line in lines)
    assert name in lines[1] or columns in (24, 40)
    assert len(shown) == len(run_table.USUAL) or columns is not None
    assert shown[-2:] == ["name", "state"] or columns not in (24, 40)
    assert any(len(part) >= 12 and part.startswith("resnet") for part in lines[1].split())
