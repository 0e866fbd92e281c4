"""The shipped files are found in the source tree, in an installed package and in a frozen program."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from traindeck.runtime import resources

ASK = "from traindeck.runtime.resources import resource; print(resource('lab', 'catalogue.toml'))"


def test_the_source_tree_holds_them_beside_the_package() -> None:
    assert resources.resource("lab", "catalogue.toml").is_file()


def test_an_installed_package_holds_them_inside(tmp_path: Path) -> None:
    package = tmp_path / "traindeck"
    (package / "runtime").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "runtime" / "__init__.py").touch()
    shutil.copy(resources.__file__, package / "runtime" / "resources.py")
    (package / "resources").mkdir()
    answer = subprocess.run(
        [sys.executable, "-c", ASK], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert Path(answer.stdout.strip()) == (package / "resources" / "lab" / "catalogue.toml").resolve()


def test_a_frozen_program_unpacks_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    assert resources.resource("lab") == tmp_path / "resources" / "lab"
