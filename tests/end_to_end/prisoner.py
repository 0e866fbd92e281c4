"""A job that tries to get out of the Lab; it says what it got hold of."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

WANTED = json.loads(Path(__file__).with_name("wanted.json").read_text("utf-8"))
# Folders that are there because something of the job's lies below them.
ON_THE_WAY = ("lab", "jobs", "moxing")
PTRACE_SEIZE = 0x4206
NEW_USER_AND_MOUNTS = 0x10020000
TAKE_OFF = 2
REMOUNT_WRITABLE = 0x1020
libc = ctypes.CDLL(None, use_errno=True)
got: dict[str, str] = {}


def attempt(name: str, work: Callable[[], object]) -> None:
    try:
        found = work()
    except (OSError, subprocess.SubprocessError) as error:
        print("no", name, repr(error))
    else:
        if found:
            got[name] = str(found)


def read(path: Path) -> bytes:
    return path.read_bytes()[:20]


def append(path: Path) -> bool:
    with path.open("r+b"):
        return True


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name not in ON_THE_WAY]


def marked() -> Iterator[str]:
    for top, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if f"{top}{name}" not in ("/proc", "/sys", "/usr")]
        yield from (f"{top}/{name}" for name in files if name == WANTED["mark"])


def variables() -> list[str]:
    return [name for name, value in os.environ.items() if name in WANTED["variables"] or WANTED["mark"] in value]


def connect(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address.replace("@", "\0", 1))
        return True


def secrets() -> bytes:
    """The collections of the keyring, by the bus's own program."""
    service = "org.freedesktop.secrets"
    ask = ["dbus-send", f"--bus={WANTED['bus']}", "--print-reply", f"--dest={service}", "/org/freedesktop/secrets"]
    ask += ["org.freedesktop.DBus.Properties.Get", "string:org.freedesktop.Secret.Service", "string:Collections"]
    return subprocess.run(ask, capture_output=True, check=True, timeout=60).stdout


def environments() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            content = (process / "environ").read_bytes()
        except OSError:
            continue
        yield from (process.name for text in WANTED["spoken"] if text.encode() in content)


def traced(pid: int) -> bool:
    return bool(libc.ptrace(PTRACE_SEIZE, pid, None, None) == 0)


def is_lab(pid: int) -> bool:
    return b"traindeck" in Path(f"/proc/{pid}/cmdline").read_bytes()


def written(folder: str) -> bool:
    return bool(Path(folder, WANTED["mark"]).write_bytes(b"was here"))


def uncovered() -> bool:
    """Take off what lies over the rest, as the one one is and as root of a namespace made inside."""
    places = [row.split()[4] for row in Path("/proc/self/mountinfo").read_text("utf-8").splitlines()]
    child = os.fork()
    if child == 0:
        libc.unshare(NEW_USER_AND_MOUNTS)
    for place in reversed(places):
        if place not in ("/", "/proc"):
            libc.umount2(place.encode(), TAKE_OFF)
            libc.mount(None, place.encode(), None, ctypes.c_ulong(REMOUNT_WRITABLE), None)
    found = any(Path(path).exists() for path in WANTED["files"])
    if child == 0:
        os._exit(found)
    return found or os.waitpid(child, 0)[1] != 0


def link(target: str, output: str, name: str) -> None:
    Path(output, name).symlink_to(target)


def main() -> None:
    for path in map(Path, WANTED["files"]):
        attempt(f"read {path}", lambda path=path: read(path))
        attempt(f"write {path}", lambda path=path: append(path))
    for path in map(Path, WANTED["folders"]):
        attempt(f"list {path}", lambda path=path: names(path))
    attempt("find the marked file", lambda: list(marked()))
    attempt("variables", variables)
    for address in WANTED["sockets"]:
        attempt(f"connect to {address}", lambda address=address: connect(address))
    attempt("ask the keyring", secrets)
    attempt("variables of other programs", lambda: list(environments()))
    for pid in WANTED["processes"]:
        attempt(f"signal {pid}", lambda pid=pid: os.kill(pid, signal.SIGCONT) or pid)
        attempt(f"trace {pid}", lambda pid=pid: traced(pid))
        attempt(f"root of {pid}", lambda pid=pid: names(Path(f"/proc/{pid}/root")))
        attempt(f"command of {pid}", lambda pid=pid: is_lab(pid))
    for folder in WANTED["outside"]:
        attempt(f"write into {folder}", lambda folder=folder: written(folder))
    if WANTED["uncovers"]:
        attempt("take the covers off", uncovered)
    # Last, for whoever reads it is outside: the Lab, when it takes the outputs home.
    (output,) = (argument.partition("=")[2] for argument in sys.argv if argument.startswith("--train_url="))
    for number, path in enumerate(WANTED["files"]):
        link(path, output, f"link-{number}")
    Path(output, "mine.txt").write_text("mine", encoding="utf-8")
    link("mine.txt", output, "latest.txt")
    link(f"{output}/mine.txt", output, "absolute.txt")
    print("GOT", json.dumps(got))
    print("HOME", os.environ["HOME"], Path.home(), flush=True)


main()
