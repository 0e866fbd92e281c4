"""Names that users keep in files, scripts and fingers: options, keys of files, values of enumerations.

    PYTHONPATH=tests python -m support.kept_names

writes them into kept_names.json. A name that goes or changes there breaks somebody's file or script.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from enum import Enum
from pathlib import Path
from typing import Any

import traindeck.domain
import traindeck.store
from support.cli_commands import parsers
from traindeck.domain.jobs.form.form_fields import FIELDS
from traindeck.domain.settings import SETTINGS
from traindeck.services.scripts.rules.all_rules import RULE_NAMES

FILE = Path(__file__).with_name("kept_names.json")


def kept_names() -> dict[str, Any]:
    return {
        "options": {" ".join(words): _options(parser) for words, parser in parsers()},
        "job file": [f"{field.table}.{field.key} {'|'.join(field.limits.choices)}".strip() for field in FIELDS],
        "settings": {setting.key: setting.default for setting in SETTINGS},
        "rules of the doctor": sorted(RULE_NAMES),
        "values": dict(sorted(_enumerations())),
    }


def _options(parser: Any) -> list[str]:
    named = []
    for entry in parser.entries:
        choices = "=" + "|".join(map(str, entry.action.choices)) if entry.action.choices else ""
        named.append(",".join(entry.action.option_strings or [f"<{entry.action.dest}>"]) + choices)
    return named


def _enumerations() -> list[tuple[str, list[str]]]:
    found = []
    for package in (traindeck.domain, traindeck.store):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, kind in vars(importlib.import_module(module.name)).items():
                if isinstance(kind, type) and issubclass(kind, Enum) and kind.__module__ == module.name:
                    values = [one.value for one in kind if isinstance(one.value, str)]
                    if values:
                        found.append((name, values))
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(kept_names(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
