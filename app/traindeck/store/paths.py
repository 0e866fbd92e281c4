"""Where everything of TrainDeck is on this computer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Paths:
    """One folder; a test or TRAINDECK_HOME names another, and everything moves with it."""

    home: Path

    @classmethod
    def for_user(cls) -> Paths:
        if named := os.environ.get("TRAINDECK_HOME"):
            return cls(Path(named).expanduser().absolute())
        import platformdirs  # not for those who name a folder

        return cls(Path(platformdirs.user_data_dir("TrainDeck", appauthor=False)))

    @property
    def database(self) -> Path:
        return self.home / "records.db"

    @property
    def transfers(self) -> Path:
        return self.home / "transfers.db"

    @property
    def transfer_locks(self) -> Path:
        return self.home / "transfers"

    @property
    def settings(self) -> Path:
        return self.home / "settings.json"

    @property
    def lab(self) -> Path:
        return self.home / "lab"

    @property
    def bundles(self) -> Path:
        return self.home / "bundles"

    @property
    def index(self) -> Path:
        """What is known of buckets; may be deleted at any time."""
        return self.home / "index"

    @property
    def dragged(self) -> Path:
        """Files on their way to another program; may be deleted a while after."""
        return self.home / "dragged"

    @property
    def app_log(self) -> Path:
        return self.home / "log" / "traindeck.log"

    @property
    def sample(self) -> Path:
        return self.home / "sample" / "digits"

    def run(self, run_id: str) -> Path:
        return self.home / "runs" / run_id

    def run_log(self, run_id: str, task: str) -> Path:
        return self.run(run_id) / "log" / f"{task}.log"

    def make(self) -> None:
        """Create the folder for the owner alone; a home that cannot be written to fails here, not later."""
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = self.home / f".probe-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
