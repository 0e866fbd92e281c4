"""News from the services to whoever shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

News = TypeVar("News")


class Listeners(Generic[News]):
    """Callbacks told about one kind of news, on the loop, in the order they came."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[News], None]] = []

    def add(self, callback: Callable[[News], None]) -> Callable[[], None]:
        """Listen from now on; calling the answer ends it."""
        self._callbacks.append(callback)

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return remove

    def tell(self, news: News) -> None:
        for callback in tuple(self._callbacks):
            callback(news)
