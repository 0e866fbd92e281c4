"""Options are in users' scripts: none is renamed or lost, and each does what it says."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from support.cli_commands import Traindeck, parsers, tree

OPTIONS = {
    "ls": "--bytes --exclude --human-readable --include --recursive -b -r",
    "du": "--bytes --depth --exclude --human-readable --include --summarize --total -b -c -d -s",
    "find": "--contents --exclude --include --larger --name --names --report --smaller",
    "tree": "--folders -L -d",
    "mb": "--access --class --yes -y",
    "rb": "--force --yes -y",
    "policy": "--acl --file --yes -y",
    "lifecycle": "--file --yes -y",
    "cors": "--file --yes -y",
    "cp": "--class --content-type --dry-run --exclude --include --limit --links --metadata --no-clobber --parallel "
    "--part-size --store-md5 --verify -n",
    "mv": "--dry-run --exclude --include --limit --links --no-clobber --parallel --part-size --store-md5 -n",
    "sync": "--compare --delete --dry-run --empty-folders --exclude --ignore --include --keep-modes --keep-times "
    "--limit --links --max-delete --parallel --part-size --store-md5 --verify --yes -n -y",
    "pack": "--dry-run --empty-folders --exclude --files-per-shard --ignore --include --limit --links --list "
    "--loader --only --shard-size --skip-unreadable --unpack --yes -n -y",
    "mini": "--class-column --dry-run --file-column --folders --index --per-class --seed --share -n",
    "cat": "--head --range",
    "fragments": "--abort --older-than --yes -y",
    "rm": "--all-versions --dry-run --exclude --include --recursive --undo --version --yes -n -r -y",
    "stat": "--versions",
    "url": "--expires --method --version",
}


def test_no_option_of_a_script_is_lost() -> None:
    there = {" ".join(words[1:]): parser for words, parser in parsers() if words[:1] == ("obs",)}
    for name, options in OPTIONS.items():
        found = {option for action in there[name]._actions for option in action.option_strings}
        missing = set(options.split()) - found
        assert not missing, f"obs {name}: {missing}"


@pytest.mark.parametrize(
    "words",
    [
        ("cp", "data", "obs://options/in/"),
        ("sync", "data", "obs://options/in/"),
        ("mv", "data", "obs://options/in/"),
        ("pack", "data", "obs://options/in/"),
    ],
    ids=lambda words: words[0],
)
def test_what_moves_goes_no_faster_than_asked(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], words: tuple[str, ...]
) -> None:
    traindeck("obs", "mb", "options").must_be(0)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a").write_bytes(bytes(20_000))
    begun = time.monotonic()
    traindeck("obs", *words, "--limit", "10kB").must_be(0)
    assert time.monotonic() - begun >= 1.9


def test_sync_keeps_what_its_options_say(traindeck: Traindeck, tmp_path: Path, lab: dict[str, str]) -> None:
    traindeck("obs", "mb", "options").must_be(0)
    there = "obs://options/in/"
    source = tmp_path / "data"
    (source / "hollow").mkdir(parents=True)
    (source / "a").write_bytes(b"a")
    (source / "a").chmod(0o640)
    traindeck("obs", "sync", "data", there, "--empty-folders", "--keep-modes", "--ignore", "*.tmp").must_be(0)
    traindeck("obs", "sync", there, "back", "--empty-folders", "--keep-modes", "--keep-times").must_be(0)
    assert tree(tmp_path / "back") == {"a": b"a"} and (tmp_path / "back/hollow").is_dir()
    here, back = (source / "a").stat(), (tmp_path / "back/a").stat()
    assert (here.st_mtime_ns, here.st_mode) == (back.st_mtime_ns, back.st_mode)
    (source / "b.tmp").write_bytes(b"b")
    (source / "a").write_bytes(b"b")
    by_size = ("sync", "data", there, "--ignore", "*.tmp", "--compare", "size", "--json")
    assert traindeck("obs", *by_size).must_be(0).rows[-1]["moved"] == 0
