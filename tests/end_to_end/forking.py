"""Loads all that a window loads, and becomes a journey for each request."""

from __future__ import annotations

import sys
from importlib import import_module

import as_program  # noqa: F401
import journey

from support.servers import forking
from traindeck import loading
from traindeck.services.accounts.connections import ADAPTERS


def load() -> None:
    names = ("assembly.core", "left_open", "ui.kit.dialogs", "ui.qt.watchdog")
    for name in (*names, *loading._FOR_RUNS, *loading._SERVICES, *loading._ROOMS):
        import_module(f"traindeck.{name}")
    for name in (*ADAPTERS, *journey.JOURNEYS):
        import_module(name)


if __name__ == "__main__":
    load()
    journey.main(forking.requested(int(sys.argv[1])))
