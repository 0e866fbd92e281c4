"""Where everything of TrainDeck is on this computer."""

from __future__ import annotations

import os
from pathlib import Path

from traindeck.domain.errors import LocalTrouble
from traindeck.domain.texts import text
from traindeck.runtime.files import local_errors, our_folder


class Paths:
    """One folder; a test or TRAINDECK_HOME names another, and everything moves with it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = home / "records.db"
        self.transfers = home / "transfers.db"
        self.transfer_locks = home / "transfers"
        self.events = home / "events.db"
        self.settings = home / "settings.json"
        self.lab = home / "lab"
        self.bundles = home / "bundles"
        self.index = home / "index"  # what is known of buckets; may be deleted at any time
        self.dragged = home / "dragged"  # files on their way to another program; may be deleted a while after
        self.app_log = home / "log" / "traindeck.log"
        self.sample = home / "sample" / "digits"
        self.choices = home / "choices"  # what accounts offered the last time; may be deleted at any time
        self.templates = home / "templates"

    @classmethod
    def for_user(cls) -> Paths:
        if named := os.environ.get("TRAINDECK_HOME"):
            return cls(Path(named).expanduser().absolute())
        import platformdirs  # not for those who name a folder

        return cls(Path(platformdirs.user_data_dir("TrainDeck", appauthor=False)))

    def run(self, run_id: str) -> Path:
        return self.home / "runs" / run_id

    def run_log(self, run_id: str, task: str) -> Path:
        return self.run(run_id) / "log" / f"{task}.log"

    def make(self) -> None:
        """Create the folder for the owner alone; a home that cannot be written to fails here, not later."""
        with local_errors(self.home, text("Repair it, or specify another folder with TRAINDECK_HOME.")):
            our_folder(self.home)
            _close(self.home)
            probe = self.home / f".probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()


def _close(home: Path) -> None:
    """Others could read records and logs in it, and change them."""
    if os.name == "nt":
        return
    found = home.stat()
    if found.st_uid != os.geteuid():
        raise LocalTrouble(
            text("The folder “{place}” belongs to another user of this computer.", place=str(home)),
            text("Specify your own folder with TRAINDECK_HOME. Nothing was written."),
        )
    if found.st_mode & 0o077:
        home.chmod(0o700)
