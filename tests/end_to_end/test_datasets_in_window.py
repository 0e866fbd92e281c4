"""A dataset in the real window, from the menu of its folder to a small copy beside it."""

from __future__ import annotations

from pathlib import Path

from support import dataset_files as made
from support.servers.window_process import WindowProcess


def test_a_folder_is_looked_at_and_made_smaller_by_its_commands(home: Path, tmp_path: Path) -> None:
    with WindowProcess(home, "look_and_make_smaller", str(made.with_csv(tmp_path / "pets")), "") as window:
        told = window.told("made")
        titles = {title.replace("&", "") for title in told["menu"]}
        assert {"Look at the dataset", "Make a small copy…"} <= titles
        assert told["by_names"] == "Only names and sizes were looked at." and told["findings"] > 3
        assert told["source"] == "obs://pets-bucket/pets/" == told["from_folder"]
        assert told["target"] == "obs://pets-bucket/pets_mini/"
        assert len(told["index"].splitlines()) == 7 and told["index"].startswith("filename,label\n")
        window.must_be_well()
