"""Pages of help say the same in both languages, and name commands that there are."""

from __future__ import annotations

import re

import pytest

from support.cli_commands import typed_commands
from traindeck.domain import texts
from traindeck.runtime.language import speak
from traindeck.viewmodels.shell.help_pages import FROM_SCRIPT_TO_JOB, help_page

COMMANDS = re.compile(r"traindeck ([a-z][a-z ]*[a-z])")


def _page(language: str) -> str:
    speak(language)
    try:
        return help_page(FROM_SCRIPT_TO_JOB)
    finally:
        speak(texts.ENGLISH)


def test_both_languages_have_the_same_parts_and_the_same_code() -> None:
    english, chinese = _page(texts.ENGLISH), _page(texts.CHINESE)
    for pattern in (r"(?m)^#+ ", r"(?m)^\|", r"(?m)^- ", r"(?m)^\d\. "):
        assert len(re.findall(pattern, english)) == len(re.findall(pattern, chinese)), pattern
    blocks = [re.findall(r"(?m)^    (traindeck .*)$", page) for page in (english, chinese)]
    assert blocks[0] == blocks[1] and len(blocks[0]) >= 8


@pytest.mark.parametrize("language", [texts.ENGLISH, texts.CHINESE])
def test_its_commands_can_be_typed(language: str) -> None:
    known = {" ".join(words) for words in typed_commands()}
    said = {found.strip() for found in COMMANDS.findall(_page(language))}
    wrong = {words for words in said if not any(words == one or words.startswith(f"{one} ") for one in known)}
    assert len(said) >= 5 and not wrong
