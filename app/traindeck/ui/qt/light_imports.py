"""Imports that read what is to be run, and nothing else.

From the moment PySide is loaded it reads the source of each module that is imported, whether that speaks of PySide,
for a syntax of its own (`from __feature__ import …`) that is not used here. Python keeps what was read so: some 20 MB
for the window.
"""

from __future__ import annotations

import sys

_FEATURES, _READS = "shibokensupport.feature", "_mod_uses_pyside"


def keep_imports_light() -> None:
    """Before the window is loaded. A PySide that has no such part any more is left as it is."""
    import shiboken6  # noqa: F401  (brings that part along)

    features = sys.modules.get(_FEATURES)
    if callable(getattr(features, _READS, None)):
        setattr(features, _READS, _never)


def _never(_module: object) -> bool:
    return False
