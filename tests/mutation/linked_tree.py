"""A copy of the project made of hard links: quick to make, and faults stay out of the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def _link(source: Path | str, target: Path | str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


class LinkedTree:
    def __init__(self, project: Path, folder: Path) -> None:
        self.project, self.folder = project, folder
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(listed, cwd=project, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")
        for name in filter(None, names):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            _link(project / name, folder / name)
        for path in (project / "resources" / "translations").glob("*.mo"):
            _link(path, folder / path.relative_to(project))
        # The sources are named there by a relative path: the copy of the environment runs the copy of the sources.
        shutil.copytree(project / ".venv", folder / ".venv", symlinks=True, copy_function=_link)
        self.python = folder / ".venv" / "bin" / "python"

    def write(self, name: Path, content: bytes) -> None:
        """Replace a file of the copy alone: a link that is written to would change the sources."""
        (self.folder / name).unlink(missing_ok=True)
        (self.folder / name).write_bytes(content)

    def restore(self, name: Path) -> None:
        (self.folder / name).unlink(missing_ok=True)
        _link(self.project / name, self.folder / name)

    def run(self, arguments: list[str], limit_s: float) -> int | None:
        """Run pytest there; None if it did not end in time."""
        command = [str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        with (self.folder / "said.txt").open("wb") as said:
            process = subprocess.Popen(
                command, cwd=self.folder, env=variables, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
            try:
                return process.wait(limit_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, 9)
                    process.wait()
