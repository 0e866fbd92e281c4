"""The page of results, a section for each benchmark."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).with_name("RESULTS.md")
_TITLE = "# Measured beside others\n"


def write(section: str) -> None:
    """Put a section, which begins with its `## ` heading, in the place of the former one."""
    heading = section.partition("\n")[0]
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else _TITLE
    sections = re.split(r"(?m)^(?=## )", before)
    kept = [one.strip() for one in sections if one.partition("\n")[0] != heading]
    PAGE.write_text("\n\n".join([kept[0], *sorted([*kept[1:], section.strip()])]) + "\n", encoding="utf-8")
