"""Job files as commands read and write them."""

from __future__ import annotations

from pathlib import Path

from traindeck.domain.errors import NotFound
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import text
from traindeck.runtime.files import local_errors, text_in

JOB_FILE = "job.toml"


def read_form(path: Path) -> tuple[Path, JobSpec]:
    """The form in a job file, or in that of a folder, and where it stands."""
    with local_errors(path):
        file = path
        if path.is_dir():
            file = path / JOB_FILE
            if not file.exists():
                raise NotFound(
                    text("The folder “{folder}” has no {name}.", folder=str(path), name=JOB_FILE),
                    text("Create one with: traindeck job init {folder}", folder=str(path)),
                )
    return file, job_file.parse(text_in(file))
