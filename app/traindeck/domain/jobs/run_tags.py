"""Tags of runs as the service takes them: a key, with a value or without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import text

MOST_TAGS = 20
MOST_DESCRIPTION = 256
_MOST_KEY, _MOST_VALUE = 128, 255
_SIGNS = " _.:+-@"  # the service takes “=” too; here it stands before the value


def tag_of(written: str) -> tuple[str, str]:
    """`team=cv` or `baseline`; InvalidInput: the service would not take it."""
    key, _, value = (part.strip() for part in written.partition("="))
    is_key = 0 < len(key) <= _MOST_KEY and all(sign.isalnum() or sign in _SIGNS for sign in key)
    is_value = len(value) <= _MOST_VALUE and all(sign.isalnum() or sign in _SIGNS + "=/" for sign in value)
    if not is_key or not is_value or key.startswith("_sys_"):
        raise InvalidInput(
            text("“{tag}” is not a tag.", tag=written),
            text("Enter a word or KEY=VALUE of letters, digits, spaces and _ . : + - @. _sys_ is the service's own."),
        )
    return key, value


def tags_in(written: str) -> list[str]:
    """Of one line: between commas, or between spaces where there are none, for a key may hold some."""
    parts = written.replace("，", ",").split(",") if "," in written or "，" in written else written.split()
    return [part.strip() for part in parts if part.strip()]


def check_tags(written: str) -> None:
    """InvalidInput: one of them is none, or there are too many."""
    with_tags((), [tag_of(tag) for tag in tags_in(written)])


def with_tags(tags: Sequence[str], new: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The last value given for a key counts."""
    pairs = dict(tag_of(tag) for tag in tags) | dict(new)
    if len(pairs) > MOST_TAGS:
        raise InvalidInput(
            text("A run can have at most {most} tags.", most=MOST_TAGS), text("Remove a tag before you add another.")
        )
    return tuple(f"{key}={value}" if value else key for key, value in pairs.items())


def without_tags(tags: Sequence[str], keys: Iterable[str]) -> tuple[str, ...]:
    gone = set(keys)
    return tuple(tag for tag in tags if tag.partition("=")[0] not in gone)


def description_of(words: str) -> str:
    """InvalidInput: longer than the service takes."""
    words = words.strip()
    if len(words) > MOST_DESCRIPTION:
        raise InvalidInput(
            text("The description can have at most {most} characters.", most=MOST_DESCRIPTION), text("Shorten it.")
        )
    return words
