"""The library that draws charts, loaded in steps: at once it would hold the window up for a fifth of a second.

It touches every class of Qt as it is imported, and PySide makes each of them when it is touched first. In a worker that
is not safe for classes of Qt's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from types import ModuleType

from PySide6 import QtCore, QtGui, QtWidgets

_STEP_S = 0.008
_LEANS_ON = (
    "numpy", "numpy.typing", "importlib.resources", "decimal", "cProfile", "sysconfig", "pydoc", "colorama",
    "xml.etree.ElementTree", "multiprocessing.connection",
    "PySide6.QtTest", "PySide6.QtOpenGL", "PySide6.QtOpenGLWidgets",
)  # fmt: skip
"""What the library imports of others: where one is not there, it goes without, or says so itself."""


def chart_loading() -> Iterator[None]:
    """Between two steps the window answers; after the last all is there."""
    for name in _LEANS_ON:
        with suppress(ImportError):
            import_module(name)
        yield
    for module in (QtCore, QtGui, QtWidgets):
        yield from _touched(module)
    import pyqtgraph  # noqa: F401

    yield
    import traindeck.ui.readings.curves_view  # noqa: F401


def _touched(module: ModuleType) -> Iterator[None]:
    until = time.perf_counter() + _STEP_S
    for name in dir(module):
        getattr(module, name)
        if time.perf_counter() > until:
            yield
            until = time.perf_counter() + _STEP_S
