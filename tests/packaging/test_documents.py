"""What the documents say of this repository holds: links lead somewhere, both languages name the same commands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    "README.md",
    "README.zh-CN.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "packaging/lock/README.md",
    "tests/old_homes/README.md",
]
PYTHONS = ["3.11", "3.12", "3.13"]
_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.M | re.S)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.M)
# What follows a command to explain it.
_REMARK = re.compile(r"\s+#.*|\s{2,}\S.*|\s+…?\s*[（(].*|\s+….*")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(text: str) -> set[str]:
    """As the places that show Markdown make them of headings."""
    headings = _HEADING.findall(_BLOCK.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(text: str) -> list[str]:
    lines = "\n".join(_BLOCK.findall(text)).splitlines()
    return [_REMARK.sub("", line) for line in lines if line.startswith(("python3 ", "traindeck "))]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    text = read(name)
    broken = []
    for link in _LINK.findall(_BLOCK.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (ROOT / name).parent / place if place else ROOT / name
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_a_reader_finds_the_other_documents(name: str) -> None:
    assert {"ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"} <= set(_LINK.findall(read(name)))


def test_both_languages_name_the_same_commands() -> None:
    english = commands(read("README.md"))
    assert len(english) > 15
    assert commands(read("README.zh-CN.md")) == english


def test_both_languages_name_the_same_options_and_variables() -> None:
    named = re.compile(r"(?<![\w-])(?:--[a-z][a-z0-9-]+|[A-Z]+_[A-Z_]*[A-Z])(?!\w)")
    assert set(named.findall(read("README.zh-CN.md"))) == set(named.findall(read("README.md")))


def test_the_check_runs_both_commands_where_the_program_is_promised() -> None:
    check = read(".github/workflows/check.yml")
    lines = re.findall(r"run: python (packaging/start\.py.*)", check)
    assert [line.split()[1] == "test" for line in lines] == [False, True]
    for python in PYTHONS:
        assert f'"{python}"' in check
    assert all(f"{system}-latest" in check for system in ("ubuntu", "macos", "windows"))
    assert "secrets." not in check
    # A major version, so that fixes come by themselves and changes do not.
    assert re.findall(r"uses: (\S+)", check)
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", used) for used in re.findall(r"uses: (\S+)", check))


def test_the_package_says_what_it_is() -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert {"description", "readme", "license", "authors", "keywords", "classifiers"} <= set(project)
    promised = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert promised == PYTHONS
