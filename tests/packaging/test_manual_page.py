"""The manual pages say what can be typed, are sound, and come with the wheel."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import zipfile
from argparse import SUPPRESS
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.waiting import PATIENT_S
from traindeck.cli.parser import build
from traindeck.cli.parser_parts import Parser
from traindeck.runtime.language import Catalogue

ROOT = Path(__file__).resolve().parents[2]
WRITE = """
import sys
sys.path.insert(0, "packaging")
import manual_page
from traindeck.runtime.language import catalogue
sys.stdout.buffer.write(manual_page.page_in(sys.argv[1], catalogue(sys.argv[1])).encode())
"""
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"


def python(code: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code, *words], cwd=ROOT, capture_output=True, timeout=PATIENT_S
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module", params=["en", "zh_CN"])
def page(request: pytest.FixtureRequest) -> str:
    return python(WRITE, request.param)


def parsers(parser: Parser) -> Iterator[Parser]:
    parser.complete()
    if parser.commands is None:
        yield parser
        return
    for inner in parser.commands.parsers.values():
        yield from parsers(inner)


def test_every_command_and_every_option_is_in_it(page: str) -> None:
    shown = page.replace("\\-", "-")
    for parser in parsers(build()):
        assert f".SS {parser.prog}\n" in shown
        section = shown.partition(f".SS {parser.prog}\n")[2].partition("\n.SS ")[0]
        for action in (entry.action for entry in parser.entries):
            common = {"--profile", "--json", "--language", "--verbose", "--help"} & {*action.option_strings}
            if not common and action.help != SUPPRESS:
                assert all(name in section for name in action.option_strings), (parser.prog, action)
    assert "--profile NAME" in shown and "TRAINDECK_HOME" in shown and "130" in shown


@pytest.mark.parametrize(
    "words",
    [("mandoc", "-T", "lint", "-W", "error"), ("groff", "-man", "-ww", "-K", "utf8", "-T", "utf8", "-z")],
    ids=["mandoc", "groff"],
)
def test_formatters_find_nothing_wrong_in_it(page: str, words: tuple[str, ...], tmp_path: Path) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    file = tmp_path / "traindeck.1"
    file.write_text(page, encoding="utf-8")
    done = subprocess.run([*words, str(file)], capture_output=True, timeout=PATIENT_S, encoding="utf-8")
    # A line of wide characters has nowhere to be broken, which is no fault of the page.
    said = [line for line in (done.stdout + done.stderr).splitlines() if "break line" not in line]
    assert done.returncode == 0 and not said


def test_the_wheel_brings_both_pages_and_the_catalogue_compiled(tmp_path: Path) -> None:
    python(BUILD, str(tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        found = {name.partition(".data/data/")[2]: name for name in content.namelist() if "share/man" in name}
        assert set(found) == {"share/man/man1/traindeck.1", "share/man/zh_CN/man1/traindeck.1"}
        assert content.read(found["share/man/man1/traindeck.1"]).startswith(b".TH TRAINDECK 1")
        assert "退出码" in content.read(found["share/man/zh_CN/man1/traindeck.1"]).decode()
        inside = {name.split("/")[2] for name in content.namelist() if name.startswith("traindeck/resources/")}
        assert inside == {folder.name for folder in (ROOT / "resources").iterdir()} - {"pictures"}
        (brought,) = (name for name in content.namelist() if "/translations/" in name)
        assert brought == "traindeck/resources/translations/zh_CN.mo"
        catalogue = Catalogue(io.BytesIO(content.read(brought)))
        assert catalogue.gettext("No runs yet.") == "暂无运行记录。"
