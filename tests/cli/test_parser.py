"""What can be typed, and what is said when it cannot."""

from __future__ import annotations

import inspect
import sys
from argparse import SUPPRESS
from pathlib import Path
from types import ModuleType

import pytest

from support.cli_commands import parsers, typed_commands
from traindeck.cli import lab
from traindeck.cli.columns import width
from traindeck.cli.main import command
from traindeck.cli.parser import read
from traindeck.cli.parser_parts import UsageError
from traindeck.domain.texts import CHINESE, ENGLISH, say
from traindeck.runtime import language


def commands_in(module: ModuleType) -> set[str]:
    """What looks like a command there: public, and takes the call alone."""
    return {
        name.rstrip("_")
        for name, found in vars(module).items()
        if inspect.iscoroutinefunction(found) and found.__module__ == module.__name__ and name[0] != "_"
        and [*inspect.signature(found).parameters] == ["call"]
    }  # fmt: skip


def test_every_command_that_can_be_typed_exists_and_none_is_hidden() -> None:
    typed = set(typed_commands())
    of_lab = {*lab.COMMANDS, *(f"account {name}" for name in lab._OF_ACCOUNTS)} - {"account"}
    assert {" ".join(words[1:]) for words in typed if words[0] == "lab"} == of_lab
    for words in typed:
        if words[0] != "lab":
            handler = command(words[0], words[1] if len(words) > 1 else None)
            beside = commands_in(sys.modules[handler.__module__])
            assert handler.__name__.rstrip("_") == words[-1] and {(*words[:-1], name) for name in beside} <= typed


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "--profile", "p", "obs", "ls"],
        ["obs", "--json", "--profile", "p", "ls"],
        ["obs", "ls", "--json", "--profile", "p"],
    ],
)
def test_common_options_may_stand_anywhere(words: list[str]) -> None:
    options = read(words)
    assert (options.group, options.action, options.json, options.profile) == ("obs", "ls", True, "p")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("obs mini ds --share 5% obs://b/x", {"source": "ds", "target": "obs://b/x"}),
        ("obs lifecycle b --file x set", {"bucket": "b", "file": "x", "what": "set"}),
        ("obs versioning b --json enable", {"bucket": "b", "json": True, "what": "enable"}),
        ("obs tagging b --json set a=1 -v b=2", {"path": "b", "what": "set", "tags": ["a=1", "b=2"]}),
        ("obs tagging b set -- -a=1", {"path": "b", "what": "set", "tags": ["-a=1"]}),
        ("obs versioning --json b", {"bucket": "b", "what": "show"}),
        ("obs ls --json", {"path": None}),
        ("profile check --json p", {"name": "p"}),
    ],
)
def test_options_may_stand_between_words_that_may_be_left_out(words: str, found: dict[str, object]) -> None:
    assert vars(read(words.split())).items() >= found.items()


def test_no_command_means_the_window() -> None:
    assert read([]).group is None
    options = read(["--first-minute", "--theme", "dark", "--language", "zh_CN"])
    assert (options.group, options.first_minute, options.theme, options.language) == (None, True, "dark", "zh_CN")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--json"], "--json needs a command."),
        (["--theme", "dark", "engines"], "--theme applies to the window"),
        (["--self-check", "obs", "ls"], "--self-check applies to the window"),
        (["obs"], "required: COMMAND"),
        (["obs", "cp", "a"], "required: DST"),
        (["obs", "ls", "--rec"], "unrecognized arguments: --rec"),
        (["obs", "versioning", "--json"], "required: BUCKET"),
        (["obs", "mini", "a", "--share", "1", "b", "c"], "unrecognized arguments: c"),
        (["job", "ls", "--limit", "-3"], "0 or more"),
        (["job", "ls", "--limit", "x"], "0 or more"),
        (["lab", "serve", "--port", "65535"], "up to 65534"),
        (["profile", "add", "p"], "required: --region"),
        (["nonsense"], "invalid choice: 'nonsense'"),
    ],
)
def test_a_mistake_is_named_with_the_line_that_would_be_right(words: list[str], problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(words)
    assert problem in str(caught.value)
    assert caught.value.usage.startswith("usage: traindeck")


@pytest.mark.parametrize("words", ["job show 2 3", "job wait 4 5 --json", "obs ls --rec", "engines --nonsense"])
def test_what_is_too_much_is_told_with_the_line_of_its_command(words: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(words.split())
    command = " ".join(word for word in words.split()[:2] if word.isalpha())
    assert caught.value.usage.startswith(f"usage: traindeck {command} ")


def test_runs_are_named_before_and_after_an_option() -> None:
    assert read(["job", "rm", "4", "--yes", "5", "last"]).runs == ["4", "5", "last"]
    assert read(["job", "stop", "-y", "4"]).runs == ["4"]


def test_a_certificate_file_is_kept_as_seen_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read(["profile", "add", "p", "--region", "r", "--ca", "ca.pem"]).ca == str(tmp_path / "ca.pem")


def test_keys_can_never_be_arguments() -> None:
    for secret in ("--ak", "--sk", "--secret-key", "--access-key", "--token"):
        with pytest.raises(UsageError):
            read(["profile", "add", "p", "--region", "r", secret, "value"])


def test_settings_add_up() -> None:
    options = read(["job", "submit", "job.toml", "--set", "lr=0.1", "--set", "epochs=2", "--follow"])
    assert options.changes == ["lr=0.1", "epochs=2"]
    assert (options.follow, options.wait) == (True, False)
    assert read(["job", "submit", "job.toml"]).changes == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "缺少参数：COMMAND"),
        (["cp", "a", "b", "--nonsense"], "无法识别的参数：--nonsense"),
        (["nonsense"], "参数 COMMAND：无效的值：'nonsense'（可选：'ls'"),
        (["cp", "a", "b", "--links", "cut"], "无效的值：'cut'（可选："),
        (["cp", "a", "b", "--limit"], "需要一个值"),
    ],
)
def test_what_argparse_says_is_chinese_too(words: list[str], said: str) -> None:
    language.speak(CHINESE)
    with pytest.raises(UsageError) as refused:
        read(["obs", *words])
    assert said in str(refused.value)
    assert refused.value.usage.startswith("用法：")


def test_a_chinese_help_has_no_english_headings(capsys: pytest.CaptureFixture[str]) -> None:
    language.speak(CHINESE)
    with pytest.raises(SystemExit):
        read(["obs", "cp", "--help"])
    help_ = capsys.readouterr().out
    assert [line for line in help_.splitlines() if line[:1] > " " and line.endswith(("：", ":"))] == [
        "参数：",
        "选项：",
    ]


@pytest.mark.parametrize("spoken", [ENGLISH, CHINESE])
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_every_help_names_its_command_and_fits_the_terminal(
    spoken: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    language.speak(spoken)
    for words, parser in parsers():
        with pytest.raises(SystemExit):
            parser.parse_args(["--help"])
        lines = capsys.readouterr().out.splitlines()
        assert "".join(lines).startswith(f"{say('usage: ')}traindeck{''.join(f' {word}' for word in words)}"), words
        assert not [line for line in lines if width(line) > columns], words
        assert not [line for line in lines if line != line.rstrip()], words
        shown = " ".join(line.strip() for line in lines)
        for entry in parser.entries:
            if entry.action.help != SUPPRESS:
                assert all(name in shown for name in entry.action.option_strings), (words, entry)


def test_the_usage_after_a_mistake_names_optional_arguments_too() -> None:
    for typed in (["job", "ls", "--limit", "x"], ["obs", "cp", "a", "b", "--links", "cut"]):
        with pytest.raises(UsageError) as caught:
            read(typed)
        assert "WORD ...]" in caught.value.usage or "SRC [SRC ...] DST" in " ".join(caught.value.usage.split())
