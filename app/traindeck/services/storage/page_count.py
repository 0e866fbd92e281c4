"""The pages of one list as they come: a service that always says there is another is not followed for ever."""

from __future__ import annotations

from dataclasses import dataclass

from traindeck.domain.errors import NotUnderstood
from traindeck.domain.texts import text
from traindeck.services.http import bounds


@dataclass(slots=True)
class PageCount:
    """Of one list, whoever asks for its pages; `most` where all of it is kept in memory."""

    most: int | None = None
    pages: int = 0
    empty: int = 0

    def came(self, names: int) -> None:
        """A page with so many names, and another behind it."""
        self.pages += 1
        self.empty = 0 if names else self.empty + 1
        if self.pages > (self.most or bounds.PAGES) or self.empty > bounds.EMPTY_PAGES:
            raise NotUnderstood(
                text("The list returned by the service does not end."),
                text("Check whether this service supports OBS listings. The details say how much was received."),
                f"{self.pages} pages, the last {self.empty} without a name",
            )
