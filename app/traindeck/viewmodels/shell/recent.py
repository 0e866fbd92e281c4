"""What was used lately, kept from one start to the next."""

from __future__ import annotations

from collections.abc import Callable

MOST_RECENT = 20


class Recent:
    """The ids of what was used, the latest first."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._keep: Callable[[list[str]], object] = _forgotten

    def keep_with(self, kept: object, keep: Callable[[list[str]], object]) -> None:
        """Take up those of the last start; `keep` is told of those for the next one."""
        self.ids = [str(one) for one in kept][:MOST_RECENT] if isinstance(kept, list) else []
        self._keep = keep

    def use(self, entry_id: str) -> None:
        self.ids = [entry_id, *(other for other in self.ids if other != entry_id)][:MOST_RECENT]
        self._keep(self.ids)


def _forgotten(_: list[str]) -> None:
    pass
