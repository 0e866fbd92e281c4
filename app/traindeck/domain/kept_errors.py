"""Failures written down, so that they can be told later in any language."""

from __future__ import annotations

import json
from collections.abc import Iterator

from traindeck.domain.errors import AppError
from traindeck.domain.texts import Text


def to_json(error: AppError) -> str:
    content = {
        "kind": type(error).__name__,
        "title": _written(error.title),
        "hint": _written(error.hint),
        "detail": error.detail,
    }
    return json.dumps(content, ensure_ascii=False)


def from_json(content: str) -> AppError:
    values = json.loads(content)
    kinds = {kind.__name__: kind for kind in _kinds(AppError)}
    return _made(kinds.get(values["kind"], AppError), _read(values["title"]), _read(values["hint"]), values["detail"])


def told_as(error: AppError, title: Text) -> AppError:
    """The same kind of failure under another title."""
    return _made(type(error), title, error.hint, error.detail)


def _made(kind: type[AppError], title: Text, hint: Text, detail: str) -> AppError:
    error = kind.__new__(kind)
    # Some kinds have constructors of their own; what is kept is what all of them have.
    AppError.__init__(error, title, hint, detail)
    return error


def _kinds(kind: type[AppError]) -> Iterator[type[AppError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _kinds(below)


def _written(message: Text) -> dict[str, object]:
    return {"english": message.english, "fields": {name: _field(value) for name, value in message.fields.items()}}


def _field(value: object) -> object:
    if isinstance(value, Text):
        return _written(value)
    # What no file can hold is shown as it would be in a message.
    return value if isinstance(value, int | float) else str(value).encode(errors="backslashreplace").decode()


def _read(content: dict[str, object]) -> Text:
    found = content["fields"]
    assert isinstance(found, dict)
    return Text(
        str(content["english"]),
        {name: _read(value) if isinstance(value, dict) else value for name, value in found.items()},
    )
