"""What the desktop is told of the program is true: its command, its kinds of files and links, its picture."""

import configparser
import tomllib
from pathlib import Path
from xml.etree import ElementTree

from traindeck.domain.openings import SCHEME

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging" / "desktop"
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"


def test_the_entry_starts_the_window_with_what_was_clicked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    entries = configparser.RawConfigParser()
    entries.optionxform = str
    entries.read(FOLDER / "traindeck.desktop", encoding="utf-8")
    entry = entries["Desktop Entry"]
    command, given = entry["Exec"].split()
    assert command in project["project"]["gui-scripts"]
    assert given == "%U"
    kinds = entry["MimeType"].rstrip(";").split(";")
    known = ElementTree.parse(FOLDER / "traindeck.xml").findall(f"{MIME}mime-type")
    assert kinds == [*(kind.get("type") for kind in known), f"x-scheme-handler/{SCHEME}"]
    assert [glob.get("pattern") for glob in known[0].findall(f"{MIME}glob")] == ["job.toml", "*.job.toml"]
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert {Path(name).name for name in shipped} == {path.name for path in FOLDER.iterdir()}
    assert (FOLDER / f"{entry['Icon']}.svg").read_text(encoding="utf-8").startswith("<svg")
