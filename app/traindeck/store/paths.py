"""Where everything of TrainDeck is on this computer."""

from __future__ import annotations

import os
from pathlib import Path

from traindeck.domain.errors import AppError, DiskFull, LocalTrouble, Unwritable
from traindeck.domain.texts import text
from traindeck.runtime.files import local_errors, our_folder


class Paths:
    """One folder; a test or TRAINDECK_HOME names another, and everything moves with it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = home / "records.db"
        self.runs = home / "runs"
        self.transfers = home / "transfers.db"
        self.transfer_locks = home / "transfers"
        self.events = home / "events.db"
        self.settings = home / "settings.json"
        self.home_mark = self.runs / ".home-id"  # runs that were sent from here are known by it, also without records
        self.prices = home / "prices.toml"
        self.rules = home / "rules.toml"
        self.notices = home / "notices"  # that a webhook did not take yet; those that it took, for a while
        self.tracked_numbers = home / "tracked-numbers.json"
        self.lab = home / "lab"
        self.bundles = home / "bundles"
        self.adopted = home / "adopted"  # code on its way from OBS; what is left in it may be deleted
        self.index = home / "index"  # what is known of buckets; may be deleted at any time
        self.templates = home / "templates"
        self.script_fixes = home / "script-fixes"  # what scripts were before they were fixed, for Undo
        self.offers = home / "offers"  # what accounts offered last; may be deleted at any time
        self.dragged = home / "dragged"  # files on their way to another program; may be deleted a while after
        self.app_log = home / "log" / "traindeck.log"
        self.sample = home / "sample" / "digits"

    @classmethod
    def for_user(cls) -> Paths:
        if named := os.environ.get("TRAINDECK_HOME"):
            return cls(Path(named).expanduser().absolute())
        import platformdirs  # not for those who name a folder

        return cls(Path(platformdirs.user_data_dir("TrainDeck", appauthor=False)))

    def run(self, run_id: str) -> Path:
        return self.runs / run_id

    def run_log(self, run_id: str, task: str) -> Path:
        return self.run(run_id) / "log" / f"{task}.log"

    def run_rules(self, run_id: str) -> Path:
        """What rules have done about its log."""
        return self.run(run_id) / "log" / "rules.json"

    def run_phases(self, run_id: str) -> Path:
        """Where the time of it went."""
        return self.run(run_id) / "phases.json"

    def run_curve(self, run_id: str) -> Path:
        """Its loss in a few numbers."""
        return self.run(run_id) / "curve.json"

    def run_waits(self, run_id: str) -> Path:
        """Until when nothing is wanted to be heard of it."""
        return self.run(run_id) / "log" / "waits.json"

    def make(self) -> AppError | None:
        """Create the folder for the owner alone; the answer is why nothing can be written in one that is there.

        What is live must be seen and stopped even then, so only a home that is of no use at all fails here.
        """
        repair = text("Repair it, or specify another folder with TRAINDECK_HOME.")
        with local_errors(self.home, repair):
            our_folder(self.home)
            _close(self.home)
        try:
            with local_errors(self.home, repair):
                probe = self.home / f".probe-{os.getpid()}"
                try:
                    probe.write_bytes(b"?")
                finally:
                    probe.unlink(missing_ok=True)
        except (DiskFull, Unwritable) as trouble:
            if not self.database.exists():
                raise
            return trouble
        return None


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
