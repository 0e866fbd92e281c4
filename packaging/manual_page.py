"""The manual pages, written from the parser when a wheel is built: what they say is what can be typed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from gettext import NullTranslations
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "app"))

from traindeck import __version__  # noqa: E402 - from these sources, not from what may be installed
from traindeck.cli.parser import build  # noqa: E402
from traindeck.cli.parser_parts import Parser  # noqa: E402
from traindeck.domain.texts import AS_WRITTEN, CHINESE, ENGLISH, speak  # noqa: E402

# The same for all commands, so told once.
_COMMON = {"--profile", "--json", "--language", "--verbose", "--help"}
_HOME, _KEYS = "TRAINDECK_HOME", "HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK"
_ENGLISH = {
    **{name: name for name in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT")},
    "purpose": "train on Huawei ModelArts, or first on this computer",
    "0": "done",
    "1": "failed; also: the awaited job failed",
    "2": "wrong usage",
    "3": "credentials or rights",
    "4": "not found",
    "5": "network or service, worth another try",
    "130": "interrupted",
    _HOME: "the folder of everything TrainDeck keeps, instead of the usual place of the system",
    _KEYS: "the keys of the account “environment”",
}
_CHINESE = {
    "NAME": "名称",
    "SYNOPSIS": "用法",
    "DESCRIPTION": "说明",
    "OPTIONS": "选项",
    "COMMANDS": "命令",
    "EXIT STATUS": "退出码",
    "ENVIRONMENT": "环境变量",
    "purpose": "在华为 ModelArts 上训练，或先在本机试跑",
    "0": "完成",
    "1": "失败；也包括所等待的作业失败",
    "2": "用法错误",
    "3": "凭证或权限问题",
    "4": "未找到",
    "5": "网络或服务端问题，可重试",
    "130": "已中断",
    _HOME: "存放 TrainDeck 全部内容的文件夹，代替系统的默认位置",
    _KEYS: "账号“environment”的密钥",
}
_WORDS = {ENGLISH: _ENGLISH, CHINESE: _CHINESE}
FOLDERS = {ENGLISH: "man1", CHINESE: "zh_CN/man1"}


def page_in(language: str, catalogue: NullTranslations = AS_WRITTEN) -> str:
    speak(language, catalogue)
    try:
        return "\n".join(_page(_WORDS[language])) + "\n"
    finally:
        speak(ENGLISH, AS_WRITTEN)


def _page(words: Mapping[str, str]) -> Iterator[str]:
    parser = build()
    parser.complete()
    yield f'.TH TRAINDECK 1 "" "TrainDeck {__version__}"'
    yield ".ad l"  # wide characters leave lines that cannot be stretched
    yield f".SH {words['NAME']}"
    yield rf"traindeck \- {words['purpose']}"
    yield f".SH {words['SYNOPSIS']}"
    yield r"\fBtraindeck\fR [\-h] [\-\-version] [COMMAND ...]"
    yield f".SH {words['DESCRIPTION']}"
    yield _plain(parser.description or "")
    yield f".SH {words['OPTIONS']}"
    yield from _options(parser, set())
    yield f".SH {words['COMMANDS']}"
    for command in _commands(parser):
        yield from _section(command)
    yield f".SH {words['EXIT STATUS']}"
    yield from _terms(*((code, words[code]) for code in ("0", "1", "2", "3", "4", "5", "130")))
    yield f".SH {words['ENVIRONMENT']}"
    yield from _terms(*((name, words[name]) for name in (_HOME, _KEYS)))


def _commands(parser: Parser) -> Iterator[Parser]:
    """Those that do something, each behind the one it is named after."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                inner.complete()
                below = [*_commands(inner)]
                yield from below or [inner]


def _section(parser: Parser) -> Iterator[str]:
    own = [action for action in parser._actions if not _COMMON & {*action.option_strings}]
    formatter = parser._get_formatter()
    formatter.add_usage(None, own, parser._mutually_exclusive_groups, prefix="")
    yield f".SS {_plain(parser.prog)}"
    yield _plain(formatter.format_help())
    yield ".PP"
    yield _plain(parser.description or "")
    yield from _options(parser, _COMMON)
    if parser.epilog:
        yield ".PP"
        yield _plain(parser.epilog)


def _options(parser: Parser, left_out: set[str]) -> Iterator[str]:
    formatter = parser._get_formatter()
    for action in parser._actions:
        is_hidden = action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction)
        if is_hidden or left_out & {*action.option_strings}:
            continue
        names = formatter._format_action_invocation(action)
        means = formatter._expand_help(action) if action.help else ""
        if action.option_strings or means:
            yield from _terms((names, means))


def _terms(*pairs: tuple[str, str]) -> Iterator[str]:
    for term, means in pairs:
        yield ".TP"
        yield rf"\fB{_plain(term)}\fR"
        yield _plain(means) if means else r"\&"


def _plain(words: str) -> str:
    """Nothing in it is a request, and a hyphen of an option can be copied."""
    words = " ".join(words.split()).replace("\\", r"\e")
    words = re.sub(r"-", r"\-", words)
    return rf"\&{words}" if words[:1] in (".", "'") else words
