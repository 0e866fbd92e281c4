"""Sentences in two languages, and values that never show themselves."""

import ast
import copy
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import traindeck
from traindeck.domain import texts
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.errors import NotFound
from traindeck.runtime import language
from traindeck.runtime.resources import resource

FIELD = re.compile(r"(?<!\{)\{([a-z_]+)[^{}]*\}(?!\})")
PACKAGE = Path(traindeck.__file__).parent


def sentences() -> Iterator[tuple[str, str]]:
    """Every literal given to say() or text(), and of those that count the form for many, with where it stands."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = {"say": 0, "text": 0, "say_count": 1, "count_text": 1}.get(name)
            words = None if place is None else node.args[place]
            if isinstance(words, ast.Constant) and isinstance(words.value, str):
                yield words.value, f"{path.relative_to(PACKAGE)}:{node.lineno}"


def chinese() -> dict[str, str]:
    words: dict[str, str] = json.loads(resource("translations", "zh_CN.json").read_text(encoding="utf-8"))
    return words


def test_every_sentence_has_its_chinese_and_none_is_left_over() -> None:
    catalogue, said = chinese(), dict(sentences())
    assert {sentence: place for sentence, place in said.items() if sentence not in catalogue} == {}
    assert [sentence for sentence in catalogue if sentence not in said] == []


def test_a_translation_has_the_fields_of_its_sentence() -> None:
    wrong = {en: zh for en, zh in chinese().items() if sorted(FIELD.findall(en)) != sorted(FIELD.findall(zh))}
    assert wrong == {}


def test_one_is_counted_as_the_language_counts() -> None:
    def folders(count: int) -> str:
        return texts.say_count("{count} folder", "{count} folders", count)

    assert [folders(count) for count in (0, 1, 2, 1204)] == ["0 folders", "1 folder", "2 folders", "1,204 folders"]
    language.speak(texts.CHINESE)
    assert [folders(count) for count in (1, 2)] == ["1 个文件夹", "2 个文件夹"]
    assert texts.count_text("{count} folder", "{count} folders", 1).in_english() == "1 folder"


def test_an_error_speaks_the_language_in_use_and_logs_in_english() -> None:
    error = NotFound(texts.text("“{place}” does not exist.", place="x.py"), texts.text("Refresh the list."))
    assert error.sentence() == "“x.py” does not exist. Refresh the list."
    language.speak(texts.CHINESE)
    assert "x.py" in error.sentence()
    assert "does not exist" not in error.sentence()
    assert str(error) == "“x.py” does not exist."


@pytest.mark.parametrize(
    ("variable", "value", "spoken"),
    [("LANG", "zh_CN.UTF-8", "zh_CN"), ("LC_ALL", "zh_TW.UTF-8", "zh_CN"), ("LANG", "de_DE.UTF-8", "en")],
)
def test_the_system_says_which_language(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, spoken: str
) -> None:
    monkeypatch.setenv(variable, value)
    assert language.system_language() == spoken


def test_a_secret_shows_itself_to_nobody_who_does_not_ask() -> None:
    marked = "SECRET-marked-value"
    keys = Credentials("AKEXAMPLE0001", Secret(marked))
    shown = [repr(keys), str(keys), f"{keys.secret_key}", repr(copy.copy(keys)), keys.hint, str(vars(Secret).keys())]
    assert not any(marked in text for text in shown)
    assert keys.secret_key.reveal() == marked
    with pytest.raises(TypeError):
        pickle.dumps(keys.secret_key)
