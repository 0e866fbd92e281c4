"""What benchmarks of one table have in common, and the page of results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import bench_checks, bench_datasets, bench_records, bench_scripts
from bench.results import PAGE, TableBench

BENCHES = [bench_checks.BENCH, bench_datasets.BENCH, bench_records.BENCH, bench_scripts.BENCH]


def _rows(given: list[int], number: int) -> list[str]:
    given.append(number)
    return ["| one row |"]


def _written(bench: TableBench, page: Path, *options: str) -> str:
    given: list[int] = []
    few = TableBench(
        bench.name, bench.heading, bench.head, bench.option, bench.usual,
        lambda _, number: _rows(given, number),
        bench.times, bench.about,
    )  # fmt: skip
    few.main("what it does", [*options, "--write"], page)
    assert given == [int(options[1]) if options else bench.usual]
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("bench", BENCHES, ids=lambda bench: bench.name)
def test_a_section_is_written_in_its_place_and_the_others_stay(bench: TableBench, tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    page.write_bytes(PAGE.read_bytes())
    _written(bench, page)
    words = _written(bench, page, f"--{bench.option}", "7")
    headings = re.findall(r"(?m)^## (.+)$", words)
    assert headings == sorted({*re.findall(r"(?m)^## (.+)$", PAGE.read_text(encoding="utf-8")), bench.heading})
    section = words.partition(f"## {bench.heading}\n")[2].partition("\n## ")[0]
    assert f"python -m bench.{bench.name} --{bench.option} 7 --write" in section
    assert section.rstrip().endswith(f"{bench.head}\n| one row |")
    assert "load before: " in section and bench.about in section
