"""The page of results, a section for each benchmark, and what benchmarks of one table have in common."""

from __future__ import annotations

import argparse
import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).with_name("RESULTS.md")
_TITLE = "# Measured beside others\n"


@dataclass(frozen=True, slots=True)
class TableBench:
    """One table, measured with one number: how often, or how much."""

    name: str
    """The module below `bench`."""
    heading: str
    head: str
    """The first two lines of the table."""
    option: str
    usual: int
    rows: Callable[[Path, int], Iterable[str]]
    """Measures in a folder of its own."""
    times: str = "best of {number}"
    about: str = ""
    """What else one has to know to understand the figures."""

    def main(self, description: str | None, arguments: Sequence[str] | None = None, page: Path = PAGE) -> None:
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument(f"--{self.option}", dest="number", type=int, default=self.usual)
        parser.add_argument("--write", action="store_true")
        options = parser.parse_args(arguments)
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder:
            rows = list(self.rows(Path(folder), options.number))
        section = self.section(options.number, load, rows)
        print(section)
        if options.write:
            write(section, page)

    def section(self, number: int, load: float, rows: Iterable[str]) -> str:
        command = f"PYTHONPATH=tests python -m bench.{self.name} --{self.option} {number} --write"
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
        known = f"load before: {load:.1f}. {self.about}".strip()
        how = f"With `{command}`: {self.times.format(number=number)} on {machine};\n{known}"
        return "\n".join([f"## {self.heading}", "", how, "", self.head, *rows, ""])


def write(section: str, page: Path = PAGE) -> None:
    """Put a section, which begins with its `## ` heading, in the place of the former one."""
    heading = section.partition("\n")[0]
    before = page.read_text(encoding="utf-8") if page.exists() else _TITLE
    sections = re.split(r"(?m)^(?=## )", before)
    kept = [one.strip() for one in sections if one.partition("\n")[0] != heading]
    page.write_text("\n\n".join([kept[0], *sorted([*kept[1:], section.strip()])]) + "\n", encoding="utf-8")
