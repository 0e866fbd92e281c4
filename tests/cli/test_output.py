"""What is printed reads well, parses, and survives every terminal and pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import traindeck
from traindeck.cli.columns import aligned, cut, width
from traindeck.cli.output import Output
from traindeck.domain.texts import printable

PRINTS = r"""
import sys
from traindeck.cli.output import Output, end_streams, prepare_streams
prepare_streams()
output = Output(json_wanted=True)
output.document({"name": "\u6570\u5b57 \xe9 \U0001f600"})
output.line("\u6570\u5b57 \xe9 \U0001f600 \udcff")
output.note("\u6570\u5b57")
output.bytes("\u5b57".encode())
end_streams()
"""


APP = str(Path(traindeck.__file__).parents[1])


def python(program: str, *options: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, *options, "-c", program], capture_output=True, env=os.environ | environment)


@pytest.mark.parametrize(
    ("words", "columns"), [("abc", 3), ("训练", 4), ("训练ab", 6), ("", 0), ("e\u0301", 1), ("ｗ", 2), ("a\u200bb", 2)]
)
def test_chinese_characters_take_two_columns(words: str, columns: int) -> None:
    assert width(words) == columns


def test_columns_stand_below_each_other_in_any_script() -> None:
    lines = aligned([["名称", "State"], ["bert", "运行中"], ["数字识别", "Failed"]])
    seconds = ("State", "运行中", "Failed")
    starts = [width(line.partition(second)[0]) for line, second in zip(lines, seconds, strict=True)]
    assert starts == [10, 10, 10]


def test_numbers_stand_at_the_right_and_columns_keep_their_least_width() -> None:
    assert aligned([["1", "a"], ["100", "b"]], right=frozenset({0})) == ["  1  a", "100  b"]
    assert aligned([["1", "a"]], right=frozenset({0}), least=(4,)) == ["   1  a"]


def test_a_name_cannot_steer_the_terminal_or_begin_a_new_line() -> None:
    assert printable("a\x1b[2Jb\nc\u202ed") == "a\\x1b[2Jb\\nc\\u202ed"
    assert printable("数字 é 😀") == "数字 é 😀"


def test_what_is_too_long_is_cut_at_the_last_column_that_fits() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdef", 4) == "abc…"
    assert cut("训练作业", 6) == "训练…"
    assert cut("abc", 0) == ""


def test_a_pipe_gets_utf_8_whatever_the_system_would_choose() -> None:
    # -S: under such a system Python cannot read the path of an installation with Chinese characters in it.
    done = python(PRINTS, "-S", PYTHONUTF8="0", LC_ALL="C", PYTHONCOERCECLOCALE="0", PYTHONPATH=APP)
    assert done.returncode == 0, done.stderr
    document, line = done.stdout.decode("utf-8").splitlines()
    assert json.loads(document) == {"name": "数字 é 😀"}
    assert line == "数字 é 😀 \\udcff"
    assert done.stderr.decode("utf-8") == "数字\n字"


def test_a_legacy_console_gets_signs_for_what_it_cannot_show_and_json_stays_json() -> None:
    done = python(PRINTS, PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    document, line = done.stdout.decode("cp1252").splitlines()
    assert json.loads(document) == {"name": "数字 é 😀"}
    assert line.startswith("\\u6570\\u5b57 é")


@pytest.mark.skipif(os.name == "nt", reason="the shell's pipe is POSIX")
def test_a_reader_that_has_heard_enough_ends_us_quietly() -> None:
    done = subprocess.run(
        f'"{sys.executable}" -m traindeck --help | head -n 1', shell=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("usage: traindeck")
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="there an interrupt reaches the reader of the pipe, too")
def test_what_is_written_after_an_interrupt_waits_for_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "w") as stream:
            monkeypatch.setattr(sys, "stdout", stream)
            output = Output()
            with output.ended_by_interrupts():
                signal.raise_signal(signal.SIGINT)
                output.line("x" * 1_000_000)
                output.bytes(b"x" * 1_000_000)
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(reading)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is needed")
def test_output_that_finds_no_room_is_an_error_and_says_so() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "traindeck", "profile", "list"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "The output could not be written: No space left on device." in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
