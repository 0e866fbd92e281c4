"""Everything that can go wrong in a way the user can understand.

AppError
├── InvalidInput         what the user gave cannot be used as it is
├── AccessRefused        keys or rights
│   ├── ClockOff         signed at a time the service does not believe
│   ├── KeysRefused      the service does not take these keys, whatever is asked
│   ├── NoRight          it knows the keys, and this is not theirs to do
│   └── KeyringMissing   the system has no place for a secret
├── NotFound
├── Conflict             it exists already, or its state does not allow this
│   └── NameTaken        a job of the very name we gave
├── NotOffered           the service does not have this
├── ServiceTrouble       the service or the network; worth another try
│   ├── Unreachable      nothing was sent
│   └── AnswerLost       something was sent, nobody knows what became of it
├── LocalTrouble         this computer: disk, folder, file
│   └── DiskFull
└── Unexpected           a mistake of ours

Each says what happened (title), what to do (hint), and keeps the technical part apart (detail).
"""

from __future__ import annotations

from typing import ClassVar

from traindeck.domain.texts import Text, say, text


class AppError(Exception):
    """A failure that is shown to the user, not a crash."""

    retryable: ClassVar[bool] = False
    kind: ClassVar[str] = "failed"

    def __init__(self, title: Text, hint: Text, detail: str = "") -> None:
        super().__init__(title.in_english())
        self.title = title
        self.hint = hint
        self.detail = detail

    def sentence(self) -> str:
        """Title and hint as one paragraph in the user's language."""
        return f"{say(self.title)} {say(self.hint)}".strip()


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


class Conflict(AppError):
    kind = "conflict"


class NameTaken(Conflict):
    pass


class Occupied(Conflict):
    """What is there would be replaced; it may be, when whoever asked says so."""


class NotOffered(AppError):
    kind = "service"


class ServiceTrouble(AppError):
    retryable = True
    kind = "service"
    retry_after_s: float | None = None

    def __init__(self, title: Text, hint: Text, detail: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(title, hint, detail)
        self.retry_after_s = retry_after_s


class Unreachable(ServiceTrouble):
    pass


class AnswerLost(ServiceTrouble):
    pass


class LocalTrouble(AppError):
    kind = "local"


class DiskFull(LocalTrouble):
    pass


class Unexpected(AppError):
    kind = "unexpected"

    def __init__(self, detail: str) -> None:
        super().__init__(
            text("Something went wrong inside TrainDeck."),
            text("Nothing you made was changed. Copy the report and send it to us."),
            detail,
        )
