"""The start script: run as a process on a small project of its own, asked directly where a system would be needed."""

import ast
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from gettext import GNUTranslations
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import babel
import psutil
import pytest

from support.waiting import PATIENT_S

if sys.platform != "win32":
    import fcntl

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "packaging" / "start.py"

BACKEND = '''\
"""A build backend as small as they come: an editable install is a wheel with one .pth file."""
import pathlib, time, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    root = pathlib.Path.cwd()
    if (root / "hold").exists():
        (root / "held").touch()
        while (root / "hold").exists():
            time.sleep(0.02)
    name = "traindeck-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        wheel.writestr("traindeck.pth", str(root / "app") + "\\n")
        info = "traindeck-1.dist-info/"
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: traindeck\\nVersion: 1\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "".join(name + ",,\\n" for name in wheel.namelist() + [info + "RECORD"]))
    return name
'''
PROGRAM = """\
import json, os, sys
import brick
print(json.dumps({"arguments": sys.argv[1:], "brick": brick.SIZE, "folder": os.getcwd(), "python": sys.prefix}))
sys.exit(7 if "fail" in sys.argv else 0)
"""
CATALOGUE = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'


@pytest.fixture(scope="module")
def start() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("start_script", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module


class Project:
    """A project with one locked package, in a folder with a blank and Chinese characters in its name."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "训练 deck"
        self.wheels = folder / "wheels"
        self.elsewhere = folder / "other place"
        for path in (self.root / "packaging" / "lock", self.root / "app" / "traindeck", self.wheels, self.elsewhere):
            path.mkdir(parents=True)
        for name in ("start.py", "catalogues.py", "linux-packages.toml"):
            shutil.copy(ROOT / "packaging" / name, self.root / "packaging")
        (self.root / "backend.py").write_text(BACKEND, encoding="utf-8")
        (self.root / "pyproject.toml").write_text(
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
            '[project]\nname = "traindeck"\nversion = "1"\n',
            encoding="utf-8",
        )
        (self.root / "app" / "traindeck" / "__main__.py").write_text(PROGRAM, encoding="utf-8")
        self.lock("build", "")
        self.lock("run", self.brick(1))

    def brick(self, size: int) -> str:
        """A wheel on the shelf; returns its line of the lock."""
        path = self.wheels / f"brick-{size}-py3-none-any.whl"
        info = f"brick-{size}.dist-info/"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("brick.py", f"SIZE = {size}\n")
            wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\nName: brick\nVersion: {size}\n")
            wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(info + "RECORD", "".join(f"{name},,\n" for name in [*wheel.namelist(), info + "RECORD"]))
        return f"brick=={size} --hash=sha256:{sha256(path.read_bytes()).hexdigest()}\n"

    def lock(self, name: str, text: str) -> None:
        (self.root / "packaging" / "lock" / f"{name}.txt").write_text(text, encoding="utf-8")

    def popen(self, *arguments: str, **locale: str) -> "subprocess.Popen[str]":
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
        # A console of an older Windows; and packages come from the shelf alone.
        variables |= {"PYTHONIOENCODING": "cp1252", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self.wheels.as_uri()}
        variables |= {"PIP_CONFIG_FILE": os.devnull, **locale}
        return subprocess.Popen(
            [sys.executable, str(self.root / "packaging" / "start.py"), *arguments],
            cwd=self.elsewhere,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(self, *arguments: str, **locale: str) -> "subprocess.CompletedProcess[str]":
        process = self.popen(*arguments, **locale)
        output, errors = process.communicate(timeout=PATIENT_S)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def wait_for(self, path: Path, process: "subprocess.Popen[str]") -> None:
        """Until the path is there; a process that ends first is a failure, not a wait."""
        while not path.exists():
            try:
                process.wait(timeout=0.02)
            except subprocess.TimeoutExpired:
                continue
            raise AssertionError(process.communicate())

    @property
    def environment(self) -> Path:
        return self.root / ".venv"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Set up once; its tests leave it able to start."""
    project = Project(tmp_path_factory.mktemp("start"))
    first = project.run("word", "--and", "more words")
    assert first.returncode == 0, first.stderr
    assert "Setting up" in first.stderr
    return project


def answer(done: "subprocess.CompletedProcess[str]") -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    decoded = json.loads(done.stdout)
    assert isinstance(decoded, dict)
    return decoded


def test_the_program_gets_its_arguments_folder_and_exit_status(finished: Project) -> None:
    told = answer(finished.run("start", "word", "--and", "more words", "值"))
    assert told["arguments"] == ["word", "--and", "more words", "值"]
    assert told["folder"] == str(finished.elsewhere)
    assert told["python"] == str(finished.environment)
    assert finished.run("fail").returncode == 7


@pytest.mark.parametrize("locale", ["C", "POSIX", "xx_XX.UTF-8"])
def test_a_folder_with_chinese_letters_starts_under_any_locale(finished: Project, locale: str) -> None:
    (linked,) = finished.environment.glob("**/site-packages/*traindeck*.pth")
    assert linked.read_bytes().isascii()
    python = str(finished.environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    variables = {**os.environ, "LC_ALL": locale}
    asked = [python, "-P", "-c", "import traindeck.__main__ as found; raise SystemExit(found.__file__)"]
    direct = subprocess.run([*asked], env=variables, cwd=finished.elsewhere, capture_output=True, timeout=PATIENT_S)
    assert b"site-packages" not in direct.stderr and b"import_site" not in direct.stderr, direct.stderr
    assert answer(finished.run("word", LC_ALL=locale))["folder"] == str(finished.elsewhere)


def test_a_second_start_asks_pip_for_nothing(finished: Project) -> None:
    pip = next(finished.environment.glob("**/site-packages/pip"))
    away = pip.rename(pip.with_name("pip-away"))
    try:
        again = finished.run("word")
    finally:
        away.rename(pip)
    assert answer(again)["brick"] == 1
    assert again.stderr == ""


def test_a_changed_lock_is_installed(finished: Project) -> None:
    finished.lock("run", finished.brick(2))
    changed = finished.run("word")
    assert answer(changed)["brick"] == 2
    assert "making the environment" not in changed.stderr


def test_a_package_unlike_the_lock_is_refused_and_then_put_right(finished: Project) -> None:
    right = finished.brick(3)
    finished.lock("run", right.replace("sha256:", "sha256:0")[:-2] + "\n")
    refused = finished.run("word")
    assert refused.returncode == 1
    assert "A package is not the one of the lock" in refused.stderr
    assert "Traceback" not in refused.stderr.rsplit("\n\n", 1)[-1]
    finished.lock("run", right)
    assert answer(finished.run("word"))["brick"] == 3


def test_an_edited_catalogue_is_compiled_before_the_program_starts(finished: Project) -> None:
    packages = next(finished.environment.glob("**/site-packages"))
    unneeded = shutil.ignore_patterns("[!erz]*.dat")
    shutil.copytree(Path(babel.__file__).parent, packages / "babel", ignore=unneeded, dirs_exist_ok=True)
    shutil.copy(Path(babel.__file__).with_name("global.dat"), packages / "babel")
    catalogue = finished.root / "resources" / "translations" / "zh_CN.po"
    catalogue.parent.mkdir(parents=True)
    try:
        for chinese in ("打开", "开启"):
            catalogue.write_text(f'{CATALOGUE}msgid "Open"\nmsgstr "{chinese}"\n', encoding="utf-8")
            answer(finished.run("word"))
            made = GNUTranslations(io.BytesIO(catalogue.with_suffix(".mo").read_bytes()))
            assert made.gettext("Open") == chinese
        catalogue.write_text(f"{CATALOGUE}<<<<<<< ours\n", encoding="utf-8")
        refused = finished.run("word")
        assert refused.returncode == 1
        assert "could not be compiled" in refused.stderr and "Traceback" not in refused.stderr
    finally:
        shutil.rmtree(catalogue.parent)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no symbolic link to the Python below")
def test_a_broken_environment_is_made_again(finished: Project) -> None:
    python = finished.environment / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python3")
    repaired = finished.run("word")
    assert "making the environment" in repaired.stderr
    assert answer(repaired)["brick"]


@pytest.mark.long
def test_a_moved_project_is_set_up_for_its_new_place(finished: Project) -> None:
    finished.root = finished.root.rename(finished.root.with_name("搬家 moved"))
    moved = finished.run("word")
    assert "making the environment" in moved.stderr
    assert answer(moved)["python"] == str(finished.environment)


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    project = Project(tmp_path)
    precious = project.environment / "thesis.tex"
    precious.parent.mkdir()
    precious.write_text("the only copy", encoding="utf-8")
    refused = project.run("word")
    assert refused.returncode == 1
    assert "Move it" in refused.stderr
    assert precious.read_text(encoding="utf-8") == "the only copy"


def held_up(folder: Path, word: str) -> "tuple[Project, Path, Path, subprocess.Popen[str]]":
    """A start in the middle of its set-up, for as long as `hold` is there; `held` says that it is."""
    project = Project(folder)
    hold, held = project.root / "hold", project.root / "held"
    hold.touch()
    first = project.popen(word)
    project.wait_for(held, first)
    return project, hold, held, first


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
@pytest.mark.long
@pytest.mark.parametrize("is_killed_too", [False, True])
def test_an_interrupted_or_killed_set_up_is_done_again(tmp_path: Path, is_killed_too: bool) -> None:
    project, hold, held, first = held_up(tmp_path, "word")
    os.killpg(first.pid, signal.SIGINT)
    _, errors = first.communicate(timeout=PATIENT_S)
    assert first.returncode == 130
    assert "Interrupted. Start again" in errors
    assert "Traceback" not in errors

    if is_killed_too:
        held.unlink()
        second = project.popen("word")
        project.wait_for(held, second)
        os.killpg(second.pid, signal.SIGKILL)
        second.communicate(timeout=PATIENT_S)

    hold.unlink()
    third = project.run("word")
    assert "making the environment" in third.stderr
    assert answer(third)["brick"] == 1
    assert project.run("word").stderr == ""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_a_start_waits_for_the_set_up_of_another_even_when_that_one_was_killed(tmp_path: Path) -> None:
    project, hold, _, first = held_up(tmp_path, "first")
    second = project.popen("second")
    assert second.stderr
    assert "waiting for it" in second.stderr.readline()
    first.kill()
    first.wait(timeout=PATIENT_S)
    # Its pip lives on and may be writing, so the lock must still be taken.
    with (project.environment / "traindeck-setup.lock").open("rb") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    hold.unlink()
    output, errors = second.communicate(timeout=PATIENT_S)
    assert json.loads(output)["arguments"] == ["second"], errors
    first.communicate(timeout=PATIENT_S)


def test_an_unfit_python_gets_a_sentence(start: ModuleType) -> None:
    assert start.unsupported((3, 11)) == start.unsupported((3, 13)) == ""
    assert "Python 3.8 is too old" in start.unsupported((3, 8))
    assert "Python 3.14 is too new" in start.unsupported((3, 14))
    assert all("3.11, 3.12 or 3.13" in start.unsupported(version) for version in ((3, 6), (3, 14)))


def test_an_old_python_can_read_the_script_as_far_as_the_sentence() -> None:
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 6))
    checked = next(
        place for place, node in enumerate(tree.body) if isinstance(node, ast.If) and "exit" in ast.dump(node)
    )
    before = tree.body[:checked]
    imported = {alias.name for node in before for alias in getattr(node, "names", []) if isinstance(node, ast.Import)}
    assert "tomllib" not in imported
    # Annotations before the check are strings or plain names: `list[str]` would be an error on 3.8.
    for function in (node for node in before if isinstance(node, ast.FunctionDef)):
        annotations = [argument.annotation for argument in function.args.args] + [function.returns]
        assert all(isinstance(annotation, (ast.Constant, ast.Name)) for annotation in annotations)


@pytest.mark.parametrize(
    ("manager", "line"),
    [
        ("apt-get", "sudo apt-get install -y fonts-noto-cjk libegl1 libxcb-cursor0 libxcb-icccm4 xvfb"),
        (
            "dnf",
            "sudo dnf install -y google-noto-sans-cjk-fonts mesa-libEGL "
            "xcb-util-cursor xcb-util-wm xorg-x11-server-Xvfb",
        ),
        ("pacman", "sudo pacman -S --needed libglvnd noto-fonts-cjk xcb-util-cursor xcb-util-wm xorg-server-xvfb"),
    ],
)
def test_what_is_missing_becomes_the_one_line_to_type(start: ModuleType, manager: str, line: str) -> None:
    needs = {"libEGL.so.1", "libxcb-cursor.so.0", "libxcb-icccm.so.4", "Xvfb", "a Chinese font", "libnew.so.9"}
    packages, unknown = start.packages_for(needs, manager)
    assert start.install_line(packages, manager, as_root=False) == line
    assert start.install_line(packages, manager, as_root=True) == line.removeprefix("sudo ")
    assert unknown == ["libnew.so.9"]


@pytest.mark.parametrize("manager", ["apt-get", "dnf", "pacman"])
def test_every_program_the_tests_start_has_a_package(start: ModuleType, manager: str) -> None:
    packages, unknown = start.packages_for(start.TEST_PROGRAMS, manager)
    assert unknown == []
    assert len(packages) == len(start.TEST_PROGRAMS)
    assert "xdotool" in packages


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks the loader of Linux")
def test_a_missing_library_is_found_and_named(start: ModuleType, tmp_path: Path) -> None:
    """A Qt plugin of our own making asks for a library that no computer has."""
    folder = tmp_path / "lib" / "python3.11" / "site-packages" / "PySide6"
    plugins = folder / "Qt" / "plugins" / "platforms"
    plugins.mkdir(parents=True)
    python = tmp_path / "bin" / "python"
    assert start.missing_libraries(python, "x11") == set()
    real = Path(sys.prefix) / "lib"
    plugin = next(real.glob("python3.*/site-packages/PySide6/Qt/plugins/platforms/libqxcb.so"))
    wanted, invented = b"libxcb-cursor.so.0\0", b"libxcb-cursor.so.7\0"
    content = plugin.read_bytes()
    assert wanted in content
    (plugins / "libqxcb.so").write_bytes(content.replace(wanted, invented))
    assert "libxcb-cursor.so.7" in start.missing_libraries(python, "x11")
    assert start.missing_libraries(python, "headless") == set()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the libraries are those of Linux")
def test_every_library_this_qt_asks_for_has_a_package_everywhere(start: ModuleType) -> None:
    qt = next((Path(sys.prefix) / "lib").glob("python3.*/site-packages/PySide6/Qt"))
    files = [
        qt / "lib" / f"libQt6{name}.so.6" for name in ("Core", "DBus", "Gui", "Widgets", "XcbQpa", "WaylandClient")
    ]
    files += [qt / "plugins" / "platforms" / f"libq{name}.so" for name in ("xcb", "offscreen", "wayland")]
    names = {
        name.decode() for file in files for name in re.findall(rb"\0(lib[\w+.-]+\.so\.\d+)(?=\0)", file.read_bytes())
    }
    shipped_or_everywhere = ("libQt6", "libicu", "libc.", "libm.", "libstdc++", "libgcc")
    asked = {name for name in names if not name.startswith(shipped_or_everywhere)}
    assert {"libEGL.so.1", "libxcb-cursor.so.0", "libwayland-client.so.0"} <= asked
    for manager in ("apt-get", "dnf", "pacman"):
        assert start.packages_for(asked, manager)[1] == []


def test_without_a_display_the_first_minute_is_chosen(start: ModuleType) -> None:
    def chosen(arguments: list[str], variables: dict[str, str], platform: str = "linux") -> tuple[str, list[str]]:
        mode = start.system_mode(arguments, variables, platform)
        return mode, start.program_arguments(arguments, mode)

    assert chosen([], {}) == ("headless", ["--first-minute"])
    assert chosen([], {"DISPLAY": ":0"}) == ("x11", [])
    assert chosen([], {"WAYLAND_DISPLAY": "wayland-0"}) == ("wayland", [])
    assert chosen(["--self-check"], {}) == ("headless", ["--self-check"])
    assert chosen(["obs", "ls"], {}) == ("", ["obs", "ls"])
    assert chosen([], {}, "darwin") == chosen([], {}, "win32") == ("", [])


def test_long_tests_only_when_asked_for_and_the_checks_only_with_the_whole(start: ModuleType) -> None:
    usual = start.test_command("python", False, ["-x"])
    assert usual[2:5] == ["pytest", "-n", str((os.cpu_count() or 1) + 2)]
    assert usual[-3:] == ["-m", "not long", "-x"]
    assert start.test_command("python", True, [])[-2:] == ["-m", "not timed"]
    assert start.timed_command("python", ["-x"])[-4:] == ["-x", "-n0", "-m", "timed"]
    assert [command[2] for command in start.check_commands("python", ["-x", "-k", "some"])] == ["ruff", "mypy"]
    part = str(Path(__file__))
    assert start.check_commands("python", [part]) == start.check_commands("python", [part + "::test"]) == []


def python(script: str) -> "list[str]":
    return [sys.executable, "-c", script]


BESIDE = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import start; "


def beside(tests: "list[str]", *checks: "list[str]") -> "subprocess.CompletedProcess[str]":
    script = BESIDE + f"sys.exit(start.run_beside({tests!r}, {list(checks)!r}))"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(python(script), capture_output=True, text=True, encoding="utf-8", env=environment)


def test_all_checks_are_shown_after_the_tests_and_one_red_is_red() -> None:
    good, bad = python("print('all', 'well')"), python("print('line', 5); raise SystemExit(3)")
    green = beside(good, good)
    assert (green.returncode, "Red" in green.stderr) == (0, False)
    for tests, checks in ((good, [bad, good]), (bad, [good, good])):
        red = beside(tests, *checks)
        assert red.returncode == 3
        assert (red.stderr + red.stdout).count("all well") == 2
        assert "line 5" in red.stderr + red.stdout
        assert "Red: " in red.stderr


def test_the_checks_run_while_the_tests_do(tmp_path: Path) -> None:
    """Each waits until the other is there."""
    meet = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); other = pathlib.Path(sys.argv[2])\n"
    meet += "while not other.exists(): time.sleep(0.02)"
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    assert beside([*python(meet), one, other], [*python(meet), other, one]).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")
def test_told_to_end_it_ends_the_tests_and_the_checks() -> None:
    waits = python("import os, time; print(os.getpid(), flush=True); time.sleep(600)")
    script = BESIDE + f"sys.exit(start.run_beside({waits!r}, [{python('import time; time.sleep(600)')!r}]))"
    with subprocess.Popen(python(script), stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout
        process.stdout.readline()
        below = psutil.Process(process.pid).children()
        assert len(below) == 2
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM
        assert psutil.wait_procs(below, timeout=PATIENT_S)[1] == []


def test_the_lock_names_exact_versions_with_hashes_and_no_address() -> None:
    versions: dict[str, str] = {}
    for name in ("build", "test", "run"):
        text = (ROOT / "packaging" / "lock" / f"{name}.txt").read_text(encoding="utf-8")
        assert "://" not in text
        assert "--index" not in text
        for block in text.replace("\\\n", " ").splitlines():
            if block and not block.startswith("#"):
                package, _, rest = block.partition("==")
                assert "--hash=sha256:" in rest, block
                assert versions.setdefault(package, rest.split()[0]) == rest.split()[0], package
    assert versions["pyside6-essentials"].startswith("6.11.")


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
