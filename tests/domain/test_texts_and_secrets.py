"""Sentences in two languages, and values that never show themselves."""

import copy
import io
import os
import pickle
import re
import shutil
from gettext import GNUTranslations
from pathlib import Path

import catalogues
import pytest

from traindeck.domain import texts
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.errors import NotFound, words_from_json, words_to_json
from traindeck.runtime import language

FIELD = re.compile(r"(?<!\{)\{([a-z_]+)[^{}]*\}(?!\})|%\(([a-z_]+)\)|(%[sr])")
CATALOGUES = sorted(catalogues.FOLDER.glob("*.po"))


def names(sentence: str) -> list[tuple[str, ...]]:
    return sorted(FIELD.findall(sentence))


@pytest.mark.parametrize("path", CATALOGUES, ids=[path.stem for path in CATALOGUES])
def test_a_catalogue_has_what_is_said_and_nothing_else_and_is_as_its_tool_writes_it(path: Path, tmp_path: Path) -> None:
    anew = tmp_path / path.name
    shutil.copy(path, anew)
    catalogues.update(anew)
    assert path.read_text(encoding="utf-8") == anew.read_text(encoding="utf-8"), "run packaging/catalogues.py"


@pytest.mark.parametrize("path", CATALOGUES, ids=[path.stem for path in CATALOGUES])
def test_an_entry_is_translated_in_all_its_forms_with_the_fields_of_its_sentence(path: Path) -> None:
    catalogue = catalogues.read(path)
    wrong = []
    for message in catalogue:
        forms = [message.string] if isinstance(message.string, str) else [*message.string]
        many = message.id if isinstance(message.id, str) else message.id[-1]
        wanted = catalogue.num_plurals if message.pluralizable else 1
        is_whole = len(forms) == wanted and all(form.strip() and names(form) == names(many) for form in forms)
        if message.id and (message.fuzzy or not is_whole):
            wrong.append(message)
    assert wrong == []


def test_a_sentence_counts_the_same_wherever_it_is_said() -> None:
    """The form for one says nothing of which the form for many does not know, and is not another sentence's as well."""
    others: dict[tuple[str, str], tuple[str, ...]] = {}
    for forms, context, place in catalogues.said():
        assert others.setdefault((forms[0], context), forms) == forms, place
        assert {*names(forms[0])} <= {*names(forms[-1])}, place


def test_one_is_counted_as_the_language_counts() -> None:
    def folders(count: int) -> str:
        return texts.say_count("{count} folder", "{count} folders", count)

    assert [folders(count) for count in (0, 1, 2, 1204)] == ["0 folders", "1 folder", "2 folders", "1,204 folders"]
    language.speak(texts.CHINESE)
    assert [folders(count) for count in (1, 2)] == ["1 个文件夹", "2 个文件夹"]
    assert texts.count_text("{count} folder", "{count} folders", 1).in_english() == "1 folder"


PLURALS = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)"
";\\n"

msgid "{count} file"
msgid_plural "{count} files"
msgstr[0] "{count} файл"
msgstr[1] "{count} файла"
msgstr[2] "{count} файлов"

msgctxt "versioning"
msgid "{count} file"
msgid_plural "{count} files"
msgstr[0] "в{count}"
msgstr[1] "в{count}-а"
msgstr[2] "в{count}-ов"

msgid "Open"
msgstr "Открыть"

msgctxt "state"
msgid "Open"
msgstr "Открыто"
"""


def test_a_language_has_as_many_forms_as_it_needs_and_a_word_its_meaning(tmp_path: Path) -> None:
    """Read from what the library wrote, in a language that counts in three forms."""
    path = tmp_path / "ru.po"
    path.write_text(PLURALS, encoding="utf-8")
    texts.speak("ru", language.Catalogue(io.BytesIO(catalogues.compiled(path))))
    counted = [texts.say_count("{count} file", "{count} files", count) for count in (1, 3, 5, 11, 21, 1002)]
    assert counted == ["1 файл", "3 файла", "5 файлов", "11 файлов", "21 файл", "1,002 файла"]
    assert texts.say_count("{count} file", "{count} files", 3, "versioning") == "в3-а"
    assert texts.say("Open") == "Открыть"
    assert texts.say("Open", "state") == "Открыто"
    # What it does not know stays English, also where it would count.
    assert texts.say("Close", "state") == "Close"
    assert texts.say_count("{count} day", "{count} days", 1) == "1 day"
    assert texts.say_count("{count} day", "{count} days", 2, "state") == "2 days"
    assert texts.say(texts.Text("")) == ""
    with pytest.raises(ValueError, match="compiled"):
        language.Catalogue(io.BytesIO(PLURALS.encode()))
    # The standard library's own reader finds the same.
    known, ours = GNUTranslations(io.BytesIO(catalogues.compiled(path))), texts.text("Open", "state")
    assert known.pgettext("state", "Open") == str(ours)
    assert known.ngettext("{count} file", "{count} files", 3) == "{count} файла"


def test_an_edited_catalogue_is_compiled_anew_and_only_then(tmp_path: Path) -> None:
    path = tmp_path / "ru.po"
    path.write_text(PLURALS, encoding="utf-8")
    catalogues.compile_edited(tmp_path)
    made = path.with_suffix(".mo")
    first = made.stat()
    catalogues.compile_edited(tmp_path)
    assert made.stat().st_ino == first.st_ino
    path.write_text(PLURALS.replace("Открыто", "Открыт"), encoding="utf-8")
    os.utime(path, (1, 1))  # an older one that was put back counts as edited too
    assert not catalogues.all_current(tmp_path)
    catalogues.compile_edited(tmp_path)
    assert catalogues.all_current(tmp_path)
    assert language.Catalogue(io.BytesIO(made.read_bytes())).pgettext("state", "Open") == "Открыт"


def test_the_catalogue_follows_the_sources(tmp_path: Path) -> None:
    source, path = tmp_path / "app" / "room.py", tmp_path / "ru.po"
    source.parent.mkdir()
    source.write_text(
        'say("Open", "state")\nself.text("Close")\n'
        'say_count("{count} file", "{count} files", 2)\nsay_count("{count} day", "{count} days", 2, "age")\n',
        encoding="utf-8",
    )
    path.write_text(PLURALS.lstrip(), encoding="utf-8")
    catalogues.update(path, source.parent)
    entries = {(entry.context, entry.id): entry.string for entry in catalogues.read(path) if entry.id}
    assert entries == {
        (None, "Close"): "",
        (None, ("{count} file", "{count} files")): ("{count} файл", "{count} файла", "{count} файлов"),
        ("age", ("{count} day", "{count} days")): ("", "", ""),
        ("state", "Open"): "Открыто",
    }


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ('{"english": "{count} folders", "one": "{count} folder", "fields": {"count": "1"}}', "1 个文件夹"),
        ('{"english": "{count} folders", "fields": {"count": "2"}}', "2 个文件夹"),
        (words_to_json(texts.count_text("{count} folder", "{count} folders", 2)), "2 个文件夹"),
    ],
    ids=["0.1, one", "0.1, many", "now"],
)
def test_a_number_that_was_kept_is_told_in_the_language_in_use(kept: str, shown: str) -> None:
    words = words_from_json(kept)
    english = str(words)
    assert english == ("1 folder" if "1" in kept else "2 folders")
    language.speak(texts.CHINESE)
    assert str(words) == shown


def test_a_meaning_that_was_kept_is_told_again() -> None:
    words = words_from_json(words_to_json(texts.text("Failed", "event")))
    assert str(words) == "Failed"
    language.speak(texts.CHINESE)
    assert str(words) == "失败" != texts.say("Failed")


def test_a_list_has_the_marks_of_its_language() -> None:
    parts: list[texts.Text | str] = ["train.py", texts.text("Name"), "a"]
    assert texts.say_list(parts) == "train.py, Name, a"
    assert texts.say_list([]) == "" and texts.say_list(parts[:1]) == "train.py"
    language.speak(texts.CHINESE)
    assert texts.say_list(parts) == "train.py、名称、a"


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
