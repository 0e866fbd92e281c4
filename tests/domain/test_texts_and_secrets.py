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
    """Every literal given to say() or text(), with where it stands."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if name in ("say", "text") and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, f"{path.relative_to(PACKAGE)}:{node.lineno}"


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
