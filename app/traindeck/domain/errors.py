"""Everything that can go wrong in a way the user can understand.

AppError
├── InvalidInput         what the user gave cannot be used as it is
├── AccessRefused        keys or rights
│   ├── ClockOff         signed at a time the service does not believe
│   ├── KeysRefused      the service does not take these keys, whatever is asked
│   ├── NoRight          it knows the keys, and this is not theirs to do
│   └── KeyringMissing   the system has no place for a secret
├── NotFound
│   └── Vanished         it was there when the list was made
├── Conflict             it exists already, or its state does not allow this
│   └── NameTaken        a job of the very name we gave
├── NotOffered           the service does not have this
├── LedAway              somebody on the way wants us to go elsewhere
├── ServiceTrouble       the service or the network; worth another try
│   ├── Unreachable      nothing was sent
│   │   └── NotTrusted   nobody proved to be the service
│   ├── NotTheService    what answers is somebody else, as a page to sign in
│   ├── NotUnderstood    an answer that came whole and makes no sense
│   ├── Throttled        it takes no more for now; nothing was done
│   ├── TooSlow          all the time there was for an answer went by while it came
│   └── AnswerLost       something was sent, nobody knows what became of it
├── LocalTrouble         this computer: disk, folder, file
│   ├── DiskFull
│   ├── Unwritable       no right to write, or a disk that fails
│   └── Damaged          a file of ours that can no longer be read
└── Unexpected           a mistake of ours

Each says what happened (title), what to do (hint), and keeps the technical part apart (detail).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar

from traindeck.domain.texts import Text, say, text


class AppError(Exception):
    """A failure that is shown to the user, not a crash."""

    retryable: ClassVar[bool] = False
    """Another try is worth it, perhaps after something was done about it."""
    passes: ClassVar[bool] = False
    """It may get better by itself, so a program tries again."""
    kind: ClassVar[str] = "failed"

    def __init__(self, title: Text, hint: Text, detail: str = "") -> None:
        super().__init__(title.in_english())
        self.title = title
        self.hint = hint
        self.detail = detail

    def sentence(self) -> str:
        """Title and hint as one paragraph in the user's language."""
        return say(self.paragraph()).strip()

    def paragraph(self) -> Text:
        """The same, to be kept and said in the language in use then."""
        return Text("{title} {hint}", {"title": self.title, "hint": self.hint})


class InvalidInput(AppError):
    kind = "usage"


class AccessRefused(AppError):
    kind = "credentials"


class ClockOff(AccessRefused):
    pass


class KeysRefused(AccessRefused):
    """Asking again with the same keys is of no use, and too much of it locks the account."""


class NoRight(AccessRefused):
    pass


class KeyringMissing(AccessRefused):
    pass


class NotFound(AppError):
    kind = "not_found"


class NoBucket(NotFound):
    pass


class LogGone(NotFound):
    """The service had the log, and has deleted it."""


class Vanished(NotFound):
    kind = "failed"


class Conflict(AppError):
    kind = "conflict"


class NameTaken(Conflict):
    pass


class Occupied(Conflict):
    """What is there would be replaced; it may be, when whoever asked says so."""


class NotOffered(AppError):
    kind = "not_offered"


class LedAway(AppError):
    """Somebody on the way wants our requests to go to another service."""

    kind = "service"


class ServiceTrouble(AppError):
    retryable = True
    passes = True
    kind = "service"
    retry_after_s: float | None = None

    def __init__(self, title: Text, hint: Text, detail: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(title, hint, detail)
        self.retry_after_s = retry_after_s


class Corrupted(ServiceTrouble):
    """What arrived is not what was sent."""


class Unreachable(ServiceTrouble):
    pass


class NotTrusted(Unreachable):
    passes = False


class NotTheService(ServiceTrouble):
    passes = False


class NotUnderstood(ServiceTrouble):
    passes = False


class TooSlow(ServiceTrouble):
    """Asked again at once it would take as long again."""


class Throttled(ServiceTrouble):
    pass


class AnswerLost(ServiceTrouble):
    pass


class LocalTrouble(AppError):
    kind = "local"


class DiskFull(LocalTrouble):
    pass


class Unwritable(LocalTrouble):
    pass


class Damaged(LocalTrouble):
    pass


class Unexpected(AppError):
    kind = "unexpected"

    def __init__(self, detail: str) -> None:
        super().__init__(
            text("Something went wrong inside TrainDeck."),
            text("Nothing was changed. Copy the report and attach it to an issue."),
            detail,
        )


def ends_all(error: AppError) -> bool:
    """Nothing that is asked of this service would fare better."""
    return isinstance(error, NotTrusted | NotTheService | LedAway | AccessRefused) and not isinstance(error, NoRight)


_BEGIN = '{"english": '


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


def words_to_json(words: Text | str) -> str:
    """A sentence as JSON; what is no sentence of ours stays as it is."""
    if isinstance(words, str) and not words.startswith(_BEGIN):
        return words
    message = words if isinstance(words, Text) else Text("{words}", {"words": words})
    return json.dumps(_written(message), ensure_ascii=False)


def words_from_json(content: str) -> Text | str:
    """What cannot be read as a sentence, as all that was written before there were any, is shown as it stands."""
    if not content.startswith(_BEGIN):
        return content
    try:
        words = _read(json.loads(content))
        words.in_english()
        str(words)
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError):
        return content
    return words


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
    words: dict[str, object] = {"english": message.english}
    if message.one:
        words |= {"one": message.one, "count": message.count}
    if message.context:
        words["context"] = message.context
    return words | {"fields": {name: _field(value) for name, value in message.fields.items()}}


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
        one := str(content.get("one", "")),
        # Version 0.1 kept a form for one only where the number was one.
        _count(content.get("count", 1 if one else 0)),
        str(content.get("context", "")),
    )


def _count(value: object) -> int:
    assert isinstance(value, int)
    return value
