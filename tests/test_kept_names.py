"""Names that users keep in files, scripts and fingers do not change by accident."""

from __future__ import annotations

import json

from support.kept_names import FILE, kept_names


def test_names_of_options_files_and_values_stay() -> None:
    known, found = json.loads(FILE.read_text(encoding="utf-8")), kept_names()
    for group, names in found.items():
        assert names == known[group], f"{group}: if this is meant, run PYTHONPATH=tests python -m support.kept_names"
