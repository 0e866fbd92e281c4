"""Every command against every kind of bad server: it ends within its bounds, with one sentence and the right code."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli_commands import Answer, typed_commands
from support.hostile_commands import (
    COMMANDS,
    QUIET,
    TOLD_BESIDE,
    Stage,
    run_against,
    short_bounds,
    standing,
)
from support.servers.hostile import (
    CONTENT,
    HOSTILE,
    LISTING,
    Around,
    garbage,
    hostile,
    redirect,
    secure_context,
    without_tls,
)
from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S

SERVERS = {**HOSTILE, **LISTING, **CONTENT}
# What the services answer is an answer: no right, or a request they do not take.
CODES = {
    # A gateway that knows the keys answers in JSON.
    "a page with 403": {3, 5},
    "entities in an error": {1, 5},
    "deep XML in an error": {1, 5},
}
# Whether a job was taken that nobody confirmed is looked up later: no error, but not done either.
UNCONFIRMED = "could not be looked up"
# Each file is told with what is wrong with it.
TOLD_OF_EACH = {"obs pack, unpack"}
# Who writes is told by the status and the ETag what became of it; what is in an object may be anything.
TAKES_ANYTHING = {"obs mb", "job submit", "job rerun", "obs cp, one", "obs cp, out", "obs cat", "obs cat, a part"}
# What is in an object decides whether it is an index, and whether what was asked of it makes sense.
ASKS_OF_CONTENT = {"obs pack, listed", "obs pack, unpack", "obs cat, a part"}
# Where a service does not know the question it answers with the object, whatever that is: then it is not offered there.
GETS_THE_OBJECT = {"obs tagging, an object"}
MOST_STEPS = 12
# One of each kind, for the steps behind the first.
LATER = {
    *("sent away with 307", "sent in a circle", "a body without end", "a dripping body", "garbage", "closed at once"),
    *("a huge length", "a page with 200", "a page with 503", "entities in an error", "deep XML", "deep JSON"),
    *("JSON of odd values", "pressed", *LISTING, *CONTENT),
}
MEMORY_MB = 150


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("hostile")
    with LabProcess(folder / "lab") as lab:
        stage = Stage(lab, folder / "stage")
        stage.prepare()
        yield stage


def first_words(command: str) -> str:
    """As the parser knows it: no more than there are in its tree."""
    words = [word for word in COMMANDS[command] if word[0] not in "-."]
    return " ".join(words[: 1 if words[0] in ("engines", "explain", "flavors") else 2])


def test_no_command_is_forgotten() -> None:
    typed = {" ".join(words) for words in typed_commands()}
    covered = {first_words(command) for command in COMMANDS}
    assert covered <= typed and not covered & QUIET
    assert typed == covered | QUIET, "say of a new command how it is run against bad servers, or that it asks nobody"


def check(said: Answer, around: Around, stage: Stage, command: str, server: str) -> None:
    """What holds whatever the server did, as soon as it was not honest."""
    words = f"{command} against “{server}” after {around.budget.asked}: {said.code}\n{said.said}\n{said.raw[:500]!r}"
    assert not around.stranger.connections, words
    assert stage.lab.secret_key not in said.raw.decode(errors="replace") + said.said, words
    assert "inside TrainDeck" not in said.said, words
    errors = said.said.count("Error: ")
    if said.code == 0 or command in TOLD_BESIDE or command == "obs cp, verify":
        assert errors <= 1, words
        return
    is_told = UNCONFIRMED in said.said or (command in TOLD_OF_EACH and "× " in said.said)
    assert errors == (0 if is_told else 1), words
    codes = CODES.get(server, {1, 3, 4, 5}) | ({2} if command == "obs cat, a part" else set())
    # What a check was refused is a finding of it.
    assert said.code in (codes | {1} if "so nothing was submitted" in said.said else codes), words


# Whose content comes from there, and can be compared with what the service says of it.
COMPARES = {
    *("obs cp, down", "obs cp, one", "obs cp, out", "obs sync, down", "obs cat"),
    *("obs pack", "obs pack, unpack", "job fetch"),
}


def check_first(said: Answer, around: Around, command: str, server: str) -> None:
    """Bad from the first request on, nothing good can come of it, except where no more than a status is asked for."""
    words = f"{command} against “{server}”: {said.code}\n{said.said}\n{said.raw[:500]!r}"
    if command in TOLD_BESIDE:
        assert said.said or said.code == 5 or server not in HOSTILE, words
    elif server == "another content" and command in COMPARES:
        assert said.code != 0, words
    elif server in HOSTILE and command not in TAKES_ANYTHING | ASKS_OF_CONTENT and UNCONFIRMED not in said.said:
        assert said.code in CODES.get(server, {5}) | ({1} if command in GETS_THE_OBJECT else set()), words


def run_checked(
    stage: Stage, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str, server: str, honest: int
) -> bool:
    """Whether the server had its turn."""
    if honest or server not in HOSTILE:
        stage.fill()
    with standing(stage, folder, monkeypatch):
        said, around = run_against(stage, command, SERVERS[server], honest)
    stage.calm()
    if len(around.budget.asked) <= honest:
        return False
    check(said, around, stage, command, server)
    if not honest:
        check_first(said, around, command, server)
    assert not (folder.parent / "climbed").exists()
    return True


def short_cut() -> list[tuple[str, str]]:
    """Every server once and every command once."""
    commands, servers = [one for one in COMMANDS if one != "job wait"], list(SERVERS)
    # A server of lists is one only for those who list.
    listing = itertools.cycle(["obs ls, a folder", "obs du", "obs sync, down", "obs find", "obs pack", "obs cp, down"])
    content = itertools.cycle(["obs cp, down", "obs pack", "obs sync, down", "obs pack, unpack"])
    found = [(next(listing), server) for server in LISTING] + [(next(content), server) for server in CONTENT]
    left = [one for one in commands if one not in dict(found)]
    quick = [one for one in HOSTILE if one not in ("silence", "a dripping head", "100-continue without end")]
    found += [("obs cat", "another content"), ("obs pack", "another content")]
    found += [
        ("obs versioning", "deep XML"),
        ("obs stat, a bucket", "a negative length"),
        ("obs lifecycle", "two lengths"),
    ]
    found += [("obs lifecycle", "fewer bytes than announced"), ("obs tagging, an object", "fewer bytes than announced")]
    found += list(zip(itertools.cycle(left), HOSTILE, strict=False))
    done = dict(found)
    found += list(zip((one for one in left if one not in done), itertools.cycle(quick), strict=False))
    assert {server for _, server in found} == set(servers)
    return found


@pytest.mark.parametrize(("command", "server"), short_cut())
def test_one_of_each(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, server: str) -> None:
    short_bounds(monkeypatch)
    assert run_checked(stage, tmp_path / "work", monkeypatch, command, server, 0)


# Whole answers without sense: nothing spoilt them on the way, so the next would be no better.
SENSELESS = [
    ("engines", "JSON of odd values"),
    ("engines", "deep JSON"),
    ("engines", "a body without end"),
    ("engines, with its project", "pressed JSON"),
    ("obs ls, a folder", "deep XML"),
    ("obs ls, a folder", "a body without end"),
    ("obs ls, a folder", "headers without end"),
    ("obs ls, a folder", "a header without end"),
    ("obs ls, a folder", "names outside"),
    ("obs ls, all", "the same page again"),
    ("obs cp, down", "goes on without a marker"),
    ("obs du", "markers that go back"),
    ("obs find", "empty pages without end"),
    ("obs policy", "entities"),
    ("obs fragments", "JSON of odd values"),
    ("obs cp, up", "pressed"),
]


@pytest.mark.parametrize(("command", "server"), SENSELESS)
def test_what_came_whole_and_makes_no_sense_is_asked_for_once(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, server: str
) -> None:
    short_bounds(monkeypatch, answer_s=60)
    stage.fill()
    with standing(stage, tmp_path / "work", monkeypatch):
        said, around = run_against(stage, command, SERVERS[server], 0)
    assert said.code == 5, said.said
    assert max(Counter(around.budget.asked).values()) == 1, around.budget.asked


# Each by another way: our own wire, the SDK of the storage, the gateway of the jobs.
@pytest.mark.parametrize("command", ["obs ls, a folder", "obs lifecycle", "engines", "obs cp, up"])
def test_what_took_all_the_time_there_was_is_not_asked_for_again_at_once(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    short_bounds(monkeypatch)
    with standing(stage, tmp_path / "work", monkeypatch):
        said, around = run_against(stage, command, SERVERS["a dripping body"], 0)
    assert said.code == 5, said.said
    assert max(Counter(around.budget.asked).values()) == 1, around.budget.asked


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_at_every_step(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    short_bounds(monkeypatch)
    for server in SERVERS:
        for honest in range(MOST_STEPS if server in LATER else 1):
            if not run_checked(stage, tmp_path / "work", monkeypatch, command, server, honest):
                break


BAD_TLS = ("its own signature", "another name", "ended", "no TLS at all", "led out of TLS")


def secure(stage: Stage, folder: Path, kind: str, command: str) -> tuple[Answer, Around]:
    if kind == "no TLS at all":
        return run_against(stage, command, garbage, 0, is_called_secure=True)
    name = "elsewhere.example" if kind == "another name" else "localhost"
    context, ca_file = secure_context(folder, name, ended=kind == "ended")
    trusted = {} if kind == "its own signature" else {"TRAINDECK_CA_FILE": str(ca_file)}
    return run_against(stage, command, redirect(307, without_tls), 0, tls=context, more=trusted)


def check_tls(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, command: str) -> None:
    with standing(stage, tmp_path / "work", monkeypatch):
        said, around = secure(stage, tmp_path / "certificates", kind, command)
    check(said, around, stage, command, kind)
    if kind != "led out of TLS":
        assert not around.budget.asked, "something was sent"
    if command not in TOLD_BESIDE and command != "job wait":
        assert said.code == 5, f"{command}, {kind}: {said.said}"


@pytest.mark.parametrize("kind", BAD_TLS)
@pytest.mark.parametrize("command", ["obs ls", "obs policy", "obs cp, down", "engines", "profile check"])
def test_tls_that_proves_nothing(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, command: str
) -> None:
    short_bounds(monkeypatch)
    check_tls(stage, tmp_path, monkeypatch, kind, command)


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_trusts_such_tls(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    short_bounds(monkeypatch)
    for kind in BAD_TLS:
        check_tls(stage, tmp_path, monkeypatch, kind, command)


# The bounds are the usual ones but for the waiting; what was held at most is told by the system.
MEASURED = """
import sys
from traindeck.assembly import data_core
from traindeck.services.http import bounds, calls
from traindeck.services.transfers import active
calls.FIRST_S, active.FIRST_WAIT_S, data_core.PATIENCE_S, bounds.PAGES = 0.001, 0.02, 0.3, 2_000
from traindeck.__main__ import main
code = main(sys.argv[1:])
held = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print("held", held, code, file=sys.stderr)
"""
HEAVY = [
    ("obs ls, a folder", "a body without end"),
    ("obs ls, a folder", "headers without end"),
    ("obs ls, a folder", "wide XML"),
    ("obs cp, down", "pages without end"),
    ("obs cp, down", "content without end"),
    ("obs cat", "content without end"),
    ("obs cat, a part", "content without end"),
    ("obs policy", "a body without end"),
    ("obs policy", "entities"),
    ("engines", "a body until the end"),
    ("engines", "pressed JSON"),
    ("engines", "deep JSON"),
]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the most a process ever held")
@pytest.mark.parametrize(("command", "server"), HEAVY)
def test_no_server_makes_us_hold_much(stage: Stage, tmp_path: Path, command: str, server: str) -> None:
    with hostile(stage.upstream, SERVERS[server], 0) as around:
        way = stage.account(around.obs, around.modelarts, around.iam) | {"TRAINDECK_HOME": str(tmp_path / "home")}
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *COMMANDS[command], "--profile", "environment"],
            capture_output=True,
            timeout=PATIENT_S,
            cwd=tmp_path,
            env=os.environ | way,
        )
    said = done.stderr.decode()
    _, held_kb, code = said.splitlines()[-1].split()
    assert code in ("1", "5"), said
    assert int(held_kb) < MEMORY_MB * 1024, f"{command} against {server}: {int(held_kb) // 1024} MB"
