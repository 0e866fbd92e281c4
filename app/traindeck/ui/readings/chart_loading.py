"""The library that draws charts, loaded in steps: at once it would hold the window up for a fifth of a second.

It touches every class of Qt as it is imported, and PySide makes each of them when it is touched first. In a worker that
is not safe for classes of Qt's.
"""

from __future__ import annotations

import ast
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec
from types import ModuleType

from PySide6 import QtCore, QtGui, QtWidgets

_LIBRARY = "pyqtgraph"
_SHORT_S = 0.001
_STEP_S = 0.008
_LEANS_ON = (
    "numpy.typing", "importlib.resources", "decimal", "cProfile", "sysconfig", "pydoc", "colorama",
    "xml.etree.ElementTree", "multiprocessing.connection",
    "PySide6.QtTest", "PySide6.QtOpenGL", "PySide6.QtOpenGLWidgets",
)  # fmt: skip
"""What the library imports of others: where one is not there, it goes without, or says so itself."""


def chart_loading() -> Iterator[None]:
    """Between two steps the window answers; after the last all is there, whoever else waits for it as well."""
    for _ in _Once.steps:  # which goes on when one of them is closed
        yield


def _loading() -> Iterator[None]:
    # Large, and without classes of Qt's.
    numbers = threading.Thread(target=_import_numpy, name="numpy")
    numbers.start()
    while numbers.is_alive():
        numbers.join(_STEP_S)
        yield
    for name in _LEANS_ON:
        with suppress(ImportError):
            import_module(name)
        yield
    for module in (QtCore, QtGui, QtWidgets):
        yield from _touched(module)
    yield from _imported()
    import traindeck.ui.readings.curves_view  # noqa: F401


def _import_numpy() -> None:
    import numpy  # noqa: F401


def _imported() -> Iterator[None]:
    """The library imports a hundred modules as it is imported itself: statement by statement."""
    spec = None if _LIBRARY in sys.modules else find_spec(_LIBRARY)
    loader = spec.loader if spec is not None else None
    if spec is None or not isinstance(loader, SourceFileLoader):
        import_module(_LIBRARY)  # there already, or packed so that its source is not to be had
        return
    source = loader.get_source(_LIBRARY)
    module = sys.modules[_LIBRARY] = module_from_spec(spec)
    try:
        for statement in ast.parse(source or "").body:
            begun = time.perf_counter()
            exec(compile(ast.Module([statement], []), str(spec.origin), "exec"), module.__dict__)
            if time.perf_counter() - begun > _SHORT_S:
                yield
    except BaseException:
        del sys.modules[_LIBRARY]
        raise


def _touched(module: ModuleType) -> Iterator[None]:
    until = time.perf_counter() + _STEP_S
    for name in dir(module):
        getattr(module, name)
        if time.perf_counter() > until:
            yield
            until = time.perf_counter() + _STEP_S


class _Once:
    """Two charts that are opened together wait for the same."""

    steps = _loading()
