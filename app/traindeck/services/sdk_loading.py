"""Loading the SDKs in a worker, one at a time."""

from __future__ import annotations

import importlib
import threading

_one_at_a_time = threading.Lock()


def load(*modules: str) -> None:
    """Import these completely.

    Two workers that import packages which import each other may see one of them half done: Python then prefers an
    ImportError to a deadlock.
    """
    with _one_at_a_time:
        for module in modules:
            importlib.import_module(module)
