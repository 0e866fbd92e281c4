"""Names that a server chose: whatever a command prints, no terminal is steered and no line forged by them."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from support.cli_commands import Answer, Traindeck, s3

STEERING = ("\x1b[2J\x1b]0;owned\x07", "\x9b2J", "\u202etxt.exe", "\r✓ all is well", "\n✓ all is well", "\x7f\x08\x08")
KEYS = [f"in/{number}{steering}end" for number, steering in enumerate(STEERING)]
FOLDER = "in/folder\x1b[31m/"
PLACE = "obs://cli-bucket/in"

COMMANDS: dict[str, tuple[str, ...]] = {
    "ls": ("ls", PLACE),
    "ls of all": ("ls", "-r", PLACE),
    "du": ("du", "-d", "3", PLACE),
    "find": ("find", PLACE, "--larger", "0"),
    "stat": ("stat", f"obs://cli-bucket/{KEYS[0]}"),
    "stat of nothing": ("stat", f"obs://cli-bucket/{KEYS[0]}nothing"),
    "stat of a folder": ("stat", f"obs://cli-bucket/{FOLDER}"),
    "stat of versions": ("stat", "--versions", f"obs://cli-bucket/{KEYS[1]}"),
    "url": ("url", f"obs://cli-bucket/{KEYS[1]}"),
    "cat of nothing": ("cat", f"obs://cli-bucket/{KEYS[2]}nothing"),
    "cp of nothing": ("cp", f"obs://cli-bucket/{KEYS[3]}nothing", "here/"),
    "cp": ("cp", PLACE, "down"),
    "cp over": ("cp", PLACE, "down"),
    "cp there": ("cp", PLACE, f"obs://cli-bucket/{FOLDER}copy/"),
    "cp to no bucket": ("cp", PLACE, f"obs://no-such-bucket/{FOLDER}"),
    "sync, planned": ("sync", PLACE, "synced", "-n"),
    "sync": ("sync", PLACE, "synced", "-y"),
    "sync to no bucket": ("sync", PLACE, f"obs://no-such-bucket/{FOLDER}", "-y"),
    "pack": ("pack", PLACE, "obs://cli-bucket/packed/", "-y"),
    "pack, listed": ("pack", "--list", "obs://cli-bucket/packed/"),
    "unpack": ("pack", "--unpack", "obs://cli-bucket/packed/", "unpacked", "-y"),
    "fragments": ("fragments", "cli-bucket"),
    "fragments of nothing": ("fragments", f"obs://cli-bucket/{FOLDER}"),
    "mv of nothing": ("mv", f"obs://cli-bucket/{KEYS[4]}nothing", f"obs://cli-bucket/{KEYS[5]}there"),
    "mv": ("mv", f"obs://cli-bucket/{KEYS[4]}", f"obs://cli-bucket/{KEYS[5]}there"),
    "rm, planned": ("rm", "-r", "--dry-run", PLACE),
    "rm of nothing": ("rm", f"obs://cli-bucket/{KEYS[3]}nothing", "-y"),
    "rm": ("rm", "-r", PLACE, "-y"),
}


def check_harmless(said: Answer) -> None:
    words = said.out + said.said
    steering = {character for character in words if unicodedata.category(character)[0] == "C" and character != "\n"}
    assert not steering, f"{said.arguments} printed {steering!r}: {words!r}"
    assert "\n✓ all is well" not in words, f"{said.arguments}: a name made a line of its own"


@pytest.mark.parametrize("form", [(), ("--json",), ("-v", "--language", "zh_CN")], ids=["words", "json", "chinese"])
def test_no_command_prints_what_steers(
    traindeck: Traindeck, tmp_path: Path, lab: dict[str, str], form: tuple[str, ...]
) -> None:
    client = s3(lab)
    client.create_bucket(Bucket="cli-bucket")
    client.put_bucket_versioning(Bucket="cli-bucket", VersioningConfiguration={"Status": "Enabled"})
    for key in (*KEYS, FOLDER, f"{FOLDER}inside\x1b[0m"):
        client.put_object(Bucket="cli-bucket", Key=key, Body=b"x")
    for key in KEYS[1:3]:
        client.create_multipart_upload(Bucket="cli-bucket", Key=key)
    codes = {}
    for name, words in COMMANDS.items():
        said = traindeck("obs", *words, *form)
        check_harmless(said)
        codes[name] = said.code
        if form == ("--json",) and said.code == 0 and said.out:
            assert [json.loads(line) for line in said.out.splitlines()]
    ended_well = {name for name, code in codes.items() if code == 0}
    assert {"ls", "ls of all", "du", "find", "stat", "stat of versions", "url", "fragments", "rm"} <= ended_well, codes
    assert all(codes[name] for name in codes if name.endswith(("of nothing", "to no bucket")) and name[:4] != "frag"), (
        codes
    )
