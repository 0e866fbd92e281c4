"""The price table as a file that the user edits; comments stay."""

from __future__ import annotations

from pathlib import Path

from traindeck.domain.jobs.prices import STARTER, PriceTable, price_table
from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with, local_errors, text_in, write_whole

_PATIENCE_S = 10


class PriceFile:
    """Read anew each time: it is small, and edited by hand while we run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> PriceTable:
        """As it came where there is none yet."""
        return price_table(text_in(self.path) if self.path.exists() else STARTER, str(self.path))

    def make(self) -> None:
        """For whoever wants to edit it."""
        if not self.path.exists():
            with local_errors(self.path):
                write_whole(self.path, STARTER.encode())

    def change(self, *, flavors: dict[str, float | None], currency: str | None, limit: float | None) -> PriceTable:
        """None takes a price away."""
        import tomlkit  # slow to load, and seldom needed

        busy = text("Another TrainDeck is using the price table.")
        hint = text("Close the one not responding, then try again. Nothing was changed.")
        with local_errors(self.path), alone_with(self.path, _PATIENCE_S, busy, hint):
            self.read()  # a broken one is told of, not written over
            content = tomlkit.parse(text_in(self.path) if self.path.exists() else STARTER)
            if currency is not None:
                content["currency"] = currency
            if limit is not None:
                content["monthly_limit"] = limit
            table = content.setdefault("flavors", tomlkit.table())
            for name, price in flavors.items():
                if price is None:
                    table.pop(name, None)
                else:
                    table[name] = price
            written = tomlkit.dumps(content)
            changed = price_table(written, str(self.path))
            write_whole(self.path, written.encode())
        return changed
