"""What is meant by the path of a script, a folder or a job file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from traindeck.cli.job.form_files import JOB_FILE, read_form
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.jobs.job_spec import JobSpec, usual_boots
from traindeck.domain.texts import text
from traindeck.runtime.files import local_errors

_SCRIPTS = (".py", ".sh")
_MOST_OF_SHELL = 1 << 20


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """Some code on this computer, and the job it is for."""

    folder: Path
    boot: str
    """Below the folder; empty: nobody knows which file is started."""
    spec: JobSpec | None = None
    is_one_script: bool = False
    """A file was named: what lies around it is nothing of it."""

    @property
    def ignore(self) -> tuple[str, ...]:
        return self.spec.ignore if self.spec is not None else ()


def script_place(path: Path) -> ScriptPlace:
    """Blocks; NotFound, InvalidInput: it is nothing of the kind."""
    with local_errors(path):
        if path.suffix == ".toml" or (path / JOB_FILE).is_file():
            file, spec = read_form(path)
            boot = Path(spec.boot.replace("\\", "/")).as_posix() if spec.boot else ""
            return ScriptPlace((file.absolute().parent / spec.code_folder).absolute(), boot, spec)
        if path.is_dir():
            names = sorted(one.name for one in path.iterdir() if one.suffix == ".py" and one.is_file())
            boots = usual_boots(names) or (names if len(names) == 1 else [])
            return ScriptPlace(path.absolute(), boots[0] if boots else "")
        if not path.exists():
            raise NotFound(text("“{file}” does not exist.", file=str(path)), text("Check the path."))
        # Python looks for modules where a link leads, too.
        path = path.resolve() if path.is_symlink() else path
        is_script = path.is_file() and path.suffix in _SCRIPTS
    if not is_script:
        raise InvalidInput(
            text("“{file}” is not a script.", file=str(path)), text("Specify a .py file, a .sh file or a job file.")
        )
    folder = path.absolute().parent
    if path.suffix == ".sh" and _starts_what_lies_above(path, folder):
        return ScriptPlace(folder.parent, f"{folder.name}/{path.name}", is_one_script=True)
    return ScriptPlace(folder, path.name, is_one_script=True)


def _starts_what_lies_above(path: Path, folder: Path) -> bool:
    """`scripts/run.sh` mostly is for a script beside its folder, whatever it is started from."""
    from traindeck.services.scripts.started_files import started_by_shell

    with local_errors(path), path.open("rb") as file:
        words = file.read(_MOST_OF_SHELL).decode("utf-8", "replace")
    started = started_by_shell(words, f"{folder.name}/{path.name}")
    # What no name of a file can be is none, and no error.
    above = [place for place in started if os.path.isfile(folder.parent / place)]  # noqa: PTH113
    return bool(above) and not any(place.startswith(f"{folder.name}/") for place in above)
