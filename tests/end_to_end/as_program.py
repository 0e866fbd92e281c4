"""Imported before all else: what the program does before it loads its window."""

from __future__ import annotations

from traindeck.ui.qt.light_imports import keep_imports_light

keep_imports_light()
