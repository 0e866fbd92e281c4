"""How old the newest answer is, as people say it."""

from traindeck.domain.texts import CHINESE
from traindeck.runtime import language
from traindeck.viewmodels.shell.status import age_words


def test_from_a_minute_on_an_age_is_coarse() -> None:
    ages = (5, 65, 119, 3600 * 5 + 61, 86400, 86400 * 3)
    assert [age_words(age) for age in ages] == [
        "5 s ago", "1 min ago", "1 min ago", "5 h ago", "1 day ago", "3 days ago",
    ]  # fmt: skip
    language.speak(CHINESE)
    assert [age_words(age) for age in (65, 86400)] == ["1 分钟前", "1 天前"]
