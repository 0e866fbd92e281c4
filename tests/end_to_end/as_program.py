"""Imported before all else: what the program does before it loads its window, and where `support` is."""

from __future__ import annotations

import sys
from pathlib import Path

from traindeck.ui.qt.light_imports import keep_imports_light

keep_imports_light()
sys.path.append(str(Path(__file__).parents[1]))  # where `support` is
