"""Every setting as it is declared: bounds, what is typed, the file it is carried in."""

import json
import tomllib

import pytest

from traindeck.domain.errors import InvalidInput
from traindeck.domain.settings import (
    BY_KEY,
    LAB_IDLE,
    LINKS,
    PART_BYTES,
    RATE,
    SETTINGS,
    Number,
    SettingSection,
    SettingValue,
    from_toml,
    matching_settings,
    to_toml,
    value_of,
)
from traindeck.runtime.language import speak


def test_each_default_is_a_value_of_its_setting_and_each_name_stands_once() -> None:
    assert len(BY_KEY) == len(SETTINGS)
    for setting in SETTINGS:
        assert setting.checked(setting.default) == setting.default
        assert isinstance(setting.section, SettingSection)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_what_is_no_value_is_refused_with_a_hint(setting: Number) -> None:
    wrong: object
    for wrong in (None, [], {"a": 1}, 1.5, -1, "no such choice\n", 10**30):
        with pytest.raises(InvalidInput) as refused:
            setting.checked(wrong)
        assert refused.value.sentence().endswith(".")
    if setting.default is not True and setting.default is not False:
        with pytest.raises(InvalidInput):
            setting.checked(True)


def test_a_number_is_typed_in_its_unit_and_comes_back_as_it_was_typed() -> None:
    assert [RATE.parsed(typed) for typed in ("", "0", " 12.5 ", "1,000")] == [0, 0, 12_500_000, 1_000_000_000]
    assert RATE.words(12_500_000) == "12.5"
    assert PART_BYTES.words(PART_BYTES.parsed("32")) == "32"
    for wrong in ("-3", "fast", "nan", "inf", "1e999", "0.001"):
        with pytest.raises(InvalidInput, match=wrong) as refused:
            RATE.parsed(wrong)
        assert "from 0.01 to 100,000" in refused.value.sentence()
    with pytest.raises(InvalidInput):
        LAB_IDLE.parsed("")  # there is no idle time of none


def test_a_file_holds_what_was_chosen_and_shows_the_rest_as_comments() -> None:
    chosen: dict[str, SettingValue] = {
        "theme": "dark",
        "bytes_per_s": 5_000_000,
        "store_md5": True,
        "lab_python": 'C:\\a "b"中',
    }
    content = to_toml(chosen)
    assert tomllib.loads(content) == chosen == from_toml(content)
    for setting in SETTINGS:
        line = next(line for line in content.splitlines() if line.lstrip("# ").startswith(f"{setting.key} = "))
        assert line.startswith("# ") is (setting.key not in chosen)
    assert value_of(from_toml(content), RATE) == 5_000_000
    assert value_of({}, LINKS) == "skip"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("theme = ", "not valid TOML"),
        ("them = 'dark'", "Did you mean “theme”"),
        ("theme = 'dark'\nbytes_per_s = 'much'", "Rate limit"),
        ("profiles = []", "no setting “profiles”"),
        ("[theme]\na = 1", "Theme"),
    ],
)
def test_a_file_is_taken_as_a_whole_or_not_at_all(source: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_toml(source)
    assert said in refused.value.sentence()


def test_settings_are_found_by_title_help_choice_key_and_in_both_languages() -> None:
    def found(typed: str) -> list[str]:
        return [setting.key for setting in matching_settings(typed)]

    assert found("") == [setting.key for setting in SETTINGS]
    assert found("RATE limit") == ["bytes_per_s"]
    assert found("dark") == ["theme"]
    assert found("store_md5") == ["store_md5"]
    assert found("no such thing") == []
    speak("zh_CN")
    assert found("主题") == found("theme") == ["theme"]


def test_values_are_those_of_json() -> None:
    for setting in SETTINGS:
        assert json.loads(json.dumps(setting.default)) == setting.default
