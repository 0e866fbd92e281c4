"""Start TrainDeck from its sources, or test it, with nothing installed but Python.

    python3 packaging/start.py [--install-system] [program arguments...]
    python3 packaging/start.py test [--all] [--install-system] [paths and other pytest arguments...]

`test` runs the checks of the sources beside the tests, and the tests on all cores; paths run only the tests below them.
With --all the long proofs run as well, and what is judged by how long it takes runs at the end, alone on the machine.

Both make `.venv` beside pyproject.toml from packaging/lock, or refresh it when the lock has changed. On Linux they also
look for the system libraries Qt needs: on Debian and Ubuntu root gets them installed, as does --install-system through
sudo; otherwise the line to type is printed. Catalogues in resources/translations that were edited are compiled anew.

A Python that is too old must be able to read this file, to be told so: it keeps to the syntax of Python 3.6.
"""

import collections
import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

OLDEST, NEWEST = (3, 11), (3, 13)


def unsupported(version: "tuple[int, int]") -> str:
    """Why this Python cannot run TrainDeck; empty when it can."""
    if OLDEST <= version <= NEWEST:
        return ""
    fault = "too old" if version < OLDEST else "too new"
    sentence = f"Python {version[0]}.{version[1]} is {fault} for TrainDeck, which needs Python 3.11, 3.12 or 3.13."
    for name in ("python3.13", "python3.12", "python3.11"):
        path = shutil.which(name)
        # Version switchers put names on the path that only say which version is not chosen.
        if path and subprocess.call([path, "-c", ""], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            return f"{sentence} One is here: {name} packaging/start.py"
    return f"{sentence} Install one, then start again with it."


# Before the functions below: their annotations are beyond an old Python.
if unsupported(sys.version_info[:2]):
    print(unsupported(sys.version_info[:2]), file=sys.stderr)
    sys.exit(1)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import catalogues  # noqa: E402 - neither could an old Python read this one

# What the stamp's content means; raised when an environment made by an older start.py must be made again.
STAMP_FORMAT = 2

INSTALL_LINES = {"apt-get": "apt-get install -y", "dnf": "dnf install -y", "pacman": "pacman -S --needed"}
# What the tests start beside Python.
TEST_PROGRAMS = ("Xvfb", "xdotool", "dbus-daemon", "gnome-keyring-daemon")
# What is drawn on -> the plugins Qt loads for it.
QT_PLUGINS = {
    "headless": ["libqoffscreen.so"],
    "x11": ["libqxcb.so"],
    "wayland": ["libqwayland.so"],
    "test": ["libqoffscreen.so", "libqxcb.so"],
}
# What pytest says when it has found no test.
NO_TESTS = 5
INTERRUPTED = 2

PIP_HINTS = (
    ("No space left|Errno 28|not enough space", "The disk is full: make room, then start again."),
    (
        "DO NOT MATCH THE HASHES",
        "A package is not the one of the lock: cut short or changed on its way. Start again, or use another mirror.",
    ),
    (
        "Access is denied|WinError 5|WinError 32|Permission denied|Errno 13",
        "A file is in use or protected: close every running TrainDeck, check who owns this folder, then start again.",
    ),
    (
        "Connection|Retrying|timed out|resolve|No matching distribution|SSLError|ProxyError",
        "The package index could not be reached, or does not hold the package. Check network and proxy, or choose a "
        "mirror with: pip config set global.index-url ADDRESS. Then start again; what was fetched is kept.",
    ),
)


class Problem(Exception):
    """Something the user can put right; the message says what and how."""


def say(text: str = "") -> None:
    # Standard output belongs to the program that is started.
    print(text, file=sys.stderr, flush=True)


class Progress:
    """What pip is doing: one changing line on a terminal, a line every few seconds elsewhere."""

    def __init__(self) -> None:
        self.on_terminal = sys.stderr.isatty()
        self.shown_at = time.monotonic()

    def show(self, pip_line: str) -> None:
        found = re.match(r"(Collecting|Downloading|Processing|Building wheel for|Installing)\s+(.+)", pip_line.strip())
        if not found:
            return
        verb, rest = found.groups()
        if verb == "Installing":
            text = "installing " + (f"{rest.count(',') + 1} packages" if "," in rest else rest.split()[-1])
        elif verb.startswith("Building"):
            text = "building " + rest.split()[0]
        else:
            size = re.search(r"\([\d.]+ ?[kMG]?B\)", rest)
            name = re.split(r"[\\/]", rest.split(" (")[0])[-1].replace("==", " ")
            text = "fetching " + re.sub(r"-(cp|py)\d.*", "", name) + (f" {size.group()}" if size else "")
        if self.on_terminal:
            width = shutil.get_terminal_size().columns - 5
            sys.stderr.write("\r    " + text[:width].ljust(width))
            sys.stderr.flush()
        elif time.monotonic() - self.shown_at > 5 or verb == "Installing":
            self.shown_at = time.monotonic()
            say("    " + text)

    def end(self) -> None:
        if self.on_terminal:
            sys.stderr.write("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")
            sys.stderr.flush()


class Environment:
    """The virtual environment beside the sources, and the stamp that tells what it holds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        self.stamp = self.folder / "traindeck-stamp.json"
        # There while packages are being written: found again, the last set-up was cut off and nothing can be trusted.
        self.unfinished = self.folder / "traindeck-unfinished"
        self.lock_file = self.folder / "traindeck-setup.lock"

    def fingerprint(self) -> str:
        """Changes with the lock, the project's own description, the place of the folder and the Python below it."""
        config = self.folder / "pyvenv.cfg"
        if not (self.python.exists() and config.is_file() and Path(self.setting("home")).is_dir()):
            return ""
        digest = hashlib.sha256(f"{STAMP_FORMAT}\n{self.root}\n{os.path.realpath(self.python)}\n".encode())
        for path in (config, self.root / "pyproject.toml", *sorted((self.root / "packaging" / "lock").glob("*.txt"))):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()

    def setting(self, name: str) -> str:
        """A line of pyvenv.cfg."""
        text = (self.folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
        found = re.search(rf"^{name}\s*=\s*(.+?)\s*$", text, re.M)
        return found.group(1) if found else ""

    def recorded(self) -> "dict[str, Any]":
        try:
            stamp = json.loads(self.stamp.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return stamp if isinstance(stamp, dict) else {}

    def state(self) -> "dict[str, list[str]]":
        """The locks installed and the system needs met, as far as the stamp still fits."""
        stamp = self.recorded()
        fits = stamp.get("fingerprint") and stamp["fingerprint"] == self.fingerprint()
        return {key: stamp.get(key, []) if fits else [] for key in ("locks", "system")}

    def write_state(self, state: "dict[str, list[str]]") -> None:
        fresh = self.stamp.with_suffix(".new")
        stamp = {"fingerprint": self.fingerprint(), "root": str(self.root), **state}
        fresh.write_text(json.dumps(stamp), encoding="utf-8")
        fresh.replace(self.stamp)

    @contextlib.contextmanager
    def held(self) -> Iterator[int]:
        """Only one set-up at a time. The system frees the lock when its holder dies."""
        self.folder.mkdir(exist_ok=True)
        with self.lock_file.open("a+b") as file:
            told = False
            while not take(file.fileno()):
                if not told:
                    say("Another start is setting up this folder; waiting for it.")
                    told = True
                time.sleep(0.2)
            yield file.fileno()

    def works(self) -> bool:
        """Whether it has a Python of a fitting version that belongs to this place and can install."""
        # In a moved folder the console scripts would go on starting the Python of the old place.
        moved = self.recorded().get("root", str(self.root)) != str(self.root)
        if moved or self.unfinished.exists() or not self.fingerprint():
            return False
        script = f"import sys, pip; sys.exit(not {OLDEST} <= sys.version_info[:2] <= {NEWEST})"
        asked = [str(self.python), "-I", "-c", script]
        return subprocess.call(asked, stderr=subprocess.DEVNULL) == 0

    def make(self) -> None:
        """Make it anew, in place of whatever is left of an older one."""
        marks = (self.folder / "pyvenv.cfg", self.stamp, self.unfinished)
        content = [path for path in self.folder.iterdir() if path != self.lock_file]
        if content and not any(mark.exists() for mark in marks):
            raise Problem(f"{self.folder} is in the way: not a virtual environment. Move it, then start again.")
        self.unfinished.touch()
        for path in content:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path != self.unfinished:
                path.unlink()
        made = subprocess.run(
            [sys.executable, "-I", "-X", "utf8", "-m", "venv", str(self.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        if made.returncode:
            output = made.stdout.decode("utf-8", "replace").strip()
            raise Problem(f"{output}\n\nThe virtual environment could not be made (see above).")

    def pip(self, lock: int, *arguments: str) -> None:
        command = [str(self.python), "-I", "-X", "utf8", "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
        variables = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_USER": "0"}
        last = collections.deque[str](maxlen=25)
        progress = Progress()
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=self.root,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            # Should this process be killed, pip goes on for a while: the lock stays taken as long as it does.
            pass_fds=() if sys.platform == "win32" else (lock,),
        )
        try:
            for line in process.stdout or ():
                last.append(line.rstrip())
                progress.show(line)
            status = process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
        finally:
            progress.end()
            if process.stdout:
                process.stdout.close()
        if status:
            # pip ended in good order and takes back what it had begun.
            self.unfinished.unlink(missing_ok=True)
            text = "\n".join(line for line in last if not line.startswith("WARNING: Location"))
            hint = next(
                (hint for pattern, hint in PIP_HINTS if re.search(pattern, text)), "Start again to try once more."
            )
            raise Problem(f"{text}\n\nThe packages could not be installed (the last lines of pip are above). {hint}")

    def install(self, lock: int, name: str) -> None:
        """Bring it to a lock: `run`, or `test` which holds all of `run`."""
        began = time.monotonic()
        say(f"Setting up {self.folder} (the first time takes a minute or two)")
        if not self.works():
            say("  making the environment")
            self.make()
        self.stamp.unlink(missing_ok=True)
        self.unfinished.touch()
        folder = self.root / "packaging" / "lock"
        say("  installing the packages of the lock")
        self.pip(lock, "--require-hashes", "-r", str(folder / "build.txt"))
        # Some packages come as source: built by what the lock names, not by what is newest today.
        built = ("--no-build-isolation", "--use-pep517")
        self.pip(lock, "--require-hashes", *built, "-r", str(folder / f"{name}.txt"))
        self.pip(lock, "--no-deps", *built, "-e", str(self.root))
        self.link_sources()
        self.unfinished.unlink()
        say(f"  done in {time.monotonic() - began:.0f} s")

    def link_sources(self) -> None:
        """Name the sources by a relative path, which is ASCII wherever the project is.

        Python reads the file in the encoding of the locale; pip wrote the absolute path in UTF-8.
        """
        for packages in (*self.folder.glob("lib/python3.*/site-packages"), self.folder / "Lib" / "site-packages"):
            for path in packages.glob("*traindeck*.pth"):
                path.write_text(os.path.relpath(str(self.root / "app"), str(packages)) + "\n", encoding="ascii")


def take(file_number: int) -> bool:
    """Take the lock on an open file, unless another process has it."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(file_number, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file_number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def missing_libraries(python: Path, mode: str) -> "set[str]":
    """The system libraries that the installed Qt asks for and that are not here."""
    names = ["QtWidgets.abi3.so", "QtDBus.abi3.so", *("Qt/plugins/platforms/" + name for name in QT_PLUGINS[mode])]
    folders = python.parent.parent.glob("lib/python3.*/site-packages/PySide6")
    files = [str(folder / name) for folder in folders for name in names if (folder / name).exists()]
    if not files:
        return set()
    variables = {**os.environ, "LC_ALL": "C"}
    if shutil.which("ldd"):
        output = subprocess.run(
            ["ldd", *files], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables
        ).stdout
        found = re.findall(r"^\s*(\S+) => not found", output.decode("utf-8", "replace"), re.M)
    else:
        loading = "import ctypes, sys\nfor name in sys.argv[1:]:\n try: ctypes.CDLL(name)\n"
        loading += " except OSError as error: print(error)"
        output = subprocess.run([python, "-c", loading, *files], stdout=subprocess.PIPE, env=variables).stdout
        found = re.findall(r"^(\S+?): cannot open shared object", output.decode("utf-8", "replace"), re.M)
    return {name for name in found if not name.startswith(("libQt6", "libpyside", "libshiboken"))}


def missing_programs() -> "set[str]":
    """The programs that the tests start."""
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/bin", "/usr/bin", "/usr/sbin", "/sbin"])
    return {name for name in TEST_PROGRAMS if not shutil.which(name, path=places)}


def has_chinese_font() -> bool:
    if shutil.which("fc-list"):
        return bool(subprocess.run(["fc-list", ":lang=zh-cn", "file"], stdout=subprocess.PIPE).stdout.strip())
    names = re.compile(r"cjk|wqy|uming|ukai|droidsansfallback|sourcehan|simsun|msyh", re.I)
    places = ("/usr/share/fonts", "/usr/local/share/fonts", str(Path.home() / ".local/share/fonts"))
    return any(names.search(name) for place in places for _, _, files in os.walk(place) for name in files)


def packages_for(needs: Iterable[str], manager: str) -> "tuple[list[str], list[str]]":
    """The packages of this package manager that meet the needs, and the needs nobody knows a package for."""
    import tomllib  # not there in a Python that is too old

    known = tomllib.loads((HERE / "linux-packages.toml").read_text(encoding="utf-8"))
    packages = {known[need][manager] for need in needs if manager and need in known}
    return sorted(packages), sorted(need for need in needs if not manager or need not in known)


def apt_names(packages: "list[str]") -> "list[str]":
    """The names this release knows: Debian 13 and Ubuntu 24.04 write some of them with t64 at the end."""
    asked = ["apt-cache", "policy", *packages, *(name + "t64" for name in packages)]
    variables = {**os.environ, "LC_ALL": "C"}
    output = subprocess.run(asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables).stdout
    blocks = re.findall(r"^(\S+):\n(?:  .*\n)*?  Candidate: (?!\(none\))", output.decode("utf-8", "replace"), re.M)
    return [name + "t64" if name not in blocks and name + "t64" in blocks else name for name in packages]


def is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def install_line(packages: "list[str]", manager: str, as_root: "bool | None" = None) -> str:
    root = is_root() if as_root is None else as_root
    return " ".join([*([] if root else ["sudo"]), INSTALL_LINES[manager], *packages])


def found_manager() -> str:
    return next((name for name in INSTALL_LINES if shutil.which(name)), "")


def apt_install(packages: "list[str]") -> None:
    """Install with apt-get; packages named by the table, so that a t64 name can be found after the update."""
    command = [*([] if is_root() else ["sudo"]), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    say("  fetching the package lists of the system")
    updated = subprocess.run([*command, "update", "-qq"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    names = apt_names(packages)
    say("  installing for the system: " + " ".join(names))
    command += ["install", "-y", "--no-install-recommends", *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        text = (updated.stdout if updated.returncode else b"") + done.stdout
        lines = text.decode("utf-8", "replace").strip().splitlines()[-25:]
        line = install_line(names, "apt-get")
        raise Problem("\n".join(lines) + f"\n\nThe system packages could not be installed. To try by hand:\n  {line}")


def require(needs: "set[str]", wishes: "set[str]", install_system: bool) -> bool:
    """Get what is missing; True when something was installed. Without the right to install: the line to type."""
    if not needs and not wishes:
        return False
    manager = found_manager()
    packages, unknown = packages_for(needs | wishes, manager)
    if packages and manager == "apt-get" and (is_root() or install_system):
        apt_install(packages)
        return True
    told = "Missing on this computer: " + ", ".join(sorted(needs or wishes)) + "."
    if packages:
        names = apt_names(packages) if manager == "apt-get" else packages
        told += f" This line installs it:\n  {install_line(names, manager)}"
    if unknown:
        told += "\nInstall with your system's package manager: " + ", ".join(unknown)
    if needs:
        raise Problem(told)
    say(told)
    return False


def check_system(python: Path, mode: str, install_system: bool) -> None:
    def needs() -> "set[str]":
        return missing_libraries(python, mode) | (missing_programs() if mode == "test" else set())

    fonts = set() if mode in ("x11", "wayland") or has_chinese_font() else {"a Chinese font"}
    needed, wished = needs(), fonts
    if mode == "test":
        needed, wished = needed | fonts, set()
    # Once more each time: a library that was missing itself hid what it needs in turn.
    for _ in range(3):
        if not require(needed, wished, install_system):
            return
        needed, wished = needs(), set()
    if needed:
        raise Problem("Still missing on this computer after the installation: " + ", ".join(sorted(needed)))


def check_venv_module(install_system: bool) -> None:
    """Debian and Ubuntu keep a part of Python in a package of its own."""
    found = subprocess.call([sys.executable, "-I", "-c", "import venv, ensurepip"], stderr=subprocess.DEVNULL) == 0
    if found or found_manager() != "apt-get":
        return
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    if not (is_root() or install_system):
        line = install_line([package], "apt-get")
        raise Problem(f"This Python cannot make virtual environments yet. This line installs what it lacks:\n  {line}")
    apt_install([package])


def prepare(environment: Environment, lock_name: str, mode: str, install_system: bool) -> None:
    """Make everything ready; returns at once when it is."""

    def missing() -> "tuple[bool, bool]":
        state = environment.state()
        installed = lock_name in state["locks"] or "test" in state["locks"]
        return not installed, bool(mode) and mode not in state["system"]

    if not any(missing()):
        return
    with environment.held() as lock:
        # Asked again: the start that was waited for may have done it all.
        packages, system = missing()
        if packages:
            check_venv_module(install_system)
            environment.install(lock, lock_name)
            environment.write_state({"locks": [lock_name], "system": []})
        if system or packages:
            state = environment.state()
            if mode:
                check_system(environment.python, mode, install_system)
                state["system"].append(mode)
            environment.write_state(state)


def system_mode(arguments: "list[str]", variables: Mapping[str, str], platform: str) -> str:
    """What Qt will draw on, which tells the libraries it needs; empty where there is nothing to look for."""
    # A word is a command of the command line, which draws nothing.
    if not platform.startswith("linux") or (arguments and not arguments[0].startswith("-")):
        return ""
    if variables.get("DISPLAY"):
        return "x11"
    return "wayland" if variables.get("WAYLAND_DISPLAY") else "headless"


def program_arguments(arguments: "list[str]", mode: str) -> "list[str]":
    return ["--first-minute"] if mode == "headless" and not arguments else arguments


def test_command(python: str, everything: bool, arguments: "list[str]") -> "list[str]":
    chosen = ["-m", "not timed" if everything else "not long"]
    # More than there are cores: half of the time a test waits, for a process to start or a server to answer.
    workers = str((os.cpu_count() or 1) + 2)
    # Arguments come last, so that `-n0` or another `--dist` of the caller's wins.
    return [python, "-m", "pytest", "-n", workers, "--dist", "worksteal", *chosen, *arguments]


def timed_command(python: str, arguments: "list[str]") -> "list[str]":
    """The tests that are judged by how long something takes: one after the other, with the machine for themselves."""
    return [python, "-m", "pytest", *arguments, "-n0", "-m", "timed"]


def check_commands(python: str, arguments: "list[str]") -> "list[list[str]]":
    """What looks at the sources as a whole; nothing when only a part of the tests is asked for."""
    if any(Path(argument.partition("::")[0]).exists() for argument in arguments):
        return []
    return [[python, "-m", "ruff", "check", "."], [python, "-m", "mypy"]]


def become(command: "list[str]") -> int:
    """Run the command in place of this process, as far as the system has such a thing."""
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform != "win32":
        os.execv(command[0], command)
    process = subprocess.Popen(command)
    while True:
        # The console sends Ctrl-C to the program as well: what to do about it is the program's choice.
        with contextlib.suppress(KeyboardInterrupt):
            return process.wait()


def compile_sentences(environment: Environment) -> None:
    """A translation that was edited is seen at the next start."""
    if catalogues.all_current(environment.root / "resources" / "translations"):
        return
    command = [str(environment.python), "-P", str(environment.root / "packaging" / "catalogues.py"), "compile"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        output = done.stdout.decode("utf-8", "replace").strip()
        raise Problem(f"{output}\n\nThe catalogues in resources/translations could not be compiled (see above).")


def start(environment: Environment, arguments: "list[str]", install_system: bool) -> int:
    mode = system_mode(arguments, os.environ, sys.platform)
    prepare(environment, "run", mode, install_system)
    compile_sentences(environment)
    chosen = program_arguments(arguments, mode)
    if chosen != arguments:
        say("No display here (neither DISPLAY nor WAYLAND_DISPLAY is set): running the first minute without a window.")
    # -P: a file in the user's folder named like one of our libraries must not take its place.
    return become([str(environment.python), "-P", "-m", "traindeck", *chosen])


def test(environment: Environment, arguments: "list[str]", install_system: bool) -> int:
    everything = "--all" in arguments
    prepare(environment, "test", "test" if sys.platform.startswith("linux") else "", install_system)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    # The tests start some thousand programs: each would compile all it needs.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.chdir(environment.root)
    rest = [argument for argument in arguments if argument != "--all"]
    python = str(environment.python)
    status = run_beside(test_command(python, everything, rest), check_commands(python, rest))
    if not everything or "-m" in rest:
        return status
    if status == INTERRUPTED:
        return status
    # A part of the tests may have none of one kind. A process that a signal ended has a negative status.
    both = [status, run_beside(timed_command(python, rest), [])]
    return next((one for one in both if one not in (0, NO_TESTS)), min(both))


def run_beside(tests: "list[str]", checks: "list[list[str]]") -> int:
    """The tests before one's eyes, the checks meanwhile; theirs is shown at the end. Red when one of them is."""

    def title(command: "list[str]") -> str:
        return "== " + " ".join(command[2:])

    # Told to end, what runs below ends as well.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with contextlib.ExitStack() as stack:
        running = []
        for command in checks:
            output = stack.enter_context(tempfile.TemporaryFile())
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            stack.callback(end, process)
            running.append((command, process, output))
        say(title(tests))
        process = subprocess.Popen(tests)
        stack.callback(end, process)
        try:
            status = process.wait()
        except KeyboardInterrupt:
            # The terminal has told pytest as well, which says what it has seen so far.
            return process.wait()
        red = ["pytest"] if status else []
        for command, process, output in running:
            ended = process.wait()
            say("\n" + title(command))
            output.seek(0)
            say(output.read().decode("utf-8", "replace").rstrip())
            if ended:
                red.append(command[2])
                status = status or ended
        if red:
            say("\nRed: " + ", ".join(red))
        return status


def end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.terminate()
    process.wait()


def main(arguments: "list[str]") -> int:
    # For every Python started from here: without it, one on a Chinese Windows misreads the path of this folder.
    os.environ["PYTHONUTF8"] = "1"
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if arguments[:1] in (["-h"], ["--help"]):
        print(str(__doc__).strip())
        return 0
    install_system = "--install-system" in arguments
    arguments = [argument for argument in arguments if argument != "--install-system"]
    run = test if arguments[:1] == ["test"] else start
    if arguments[:1] in (["start"], ["test"]):
        arguments = arguments[1:]
    try:
        return run(Environment(ROOT), arguments, install_system)
    except Problem as problem:
        say(str(problem))
        return 1
    except OSError as error:
        say(f"{error}\n\nThe set-up of {ROOT} failed. Check the disk and the rights on this folder, then start again.")
        return 1
    except KeyboardInterrupt:
        say("\nInterrupted. Start again to go on; what was fetched is kept.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
