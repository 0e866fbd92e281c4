"""What can be typed, and what is said when it cannot."""

from __future__ import annotations

from argparse import _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

import pytest

from traindeck.cli import parser
from traindeck.cli.job import catalogue as commands_catalogue
from traindeck.cli.job import commands as commands_job
from traindeck.cli.lab import account as commands_lab_account
from traindeck.cli.lab import commands as commands_lab
from traindeck.cli.obs import commands as commands_obs
from traindeck.cli.parser import read
from traindeck.cli.parser_parts import Parser, UsageError
from traindeck.cli.profile import commands as commands_profile


def leaves(of: Parser, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    of.complete()
    below = [action for action in of._actions if isinstance(action, _SubParsersAction)]
    if not below:
        yield words
    for action in below:
        for name, inner in action.choices.items():
            yield from leaves(inner, (*words, name))


def test_every_command_that_can_be_typed_exists_and_none_is_hidden() -> None:
    built = {
        *(("profile", name) for name in commands_profile.COMMANDS),
        *(("obs", name) for name in commands_obs.COMMANDS),
        *(("job", name) for name in commands_job.COMMANDS),
        *((name,) for name in commands_catalogue.COMMANDS),
        *(("lab", name) for name in commands_lab.COMMANDS),
        *(("lab", "account", name) for name in commands_lab_account.COMMANDS),
    }
    assert set(leaves(parser.build())) == built
    for name in commands_obs.NAMES:  # loaded only when they are typed
        assert callable(commands_obs.command(name))


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


def test_no_command_means_the_window() -> None:
    assert read([]).group is None
    options = read(["--first-minute", "--theme", "dark", "--language", "zh_CN"])
    assert (options.group, options.first_minute, options.theme, options.language) == (None, True, "dark", "zh_CN")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--json"], "--json needs a command."),
        (["--theme", "dark", "engines"], "--theme is for the window"),
        (["--self-check", "obs", "ls"], "--self-check is for the window"),
        (["obs"], "required: COMMAND"),
        (["obs", "cp", "a"], "required: DST"),
        (["obs", "ls", "--rec"], "unrecognized arguments: --rec"),
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
