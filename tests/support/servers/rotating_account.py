"""An account of a running Lab whose keys become others."""

from __future__ import annotations

import json
from pathlib import Path

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.lab.accounts import Accounts

NAME = "rotating"


class RotatingAccount:
    """The Lab looks at its file of accounts with every request."""

    def __init__(self, root: Path) -> None:
        self._file = root / "accounts.json"
        accounts = Accounts(root)
        if NAME not in [account.name for account in accounts.all()]:
            accounts.add(NAME)

    @property
    def keys(self) -> Credentials:
        row = self._row(json.loads(self._file.read_text("utf-8")))
        return Credentials(row["access_key"], Secret(row["secret_key"]))

    def rotate(self) -> None:
        """Both keys backwards; doing it twice brings the first ones back."""
        content = json.loads(self._file.read_text("utf-8"))
        row = self._row(content)
        row["access_key"] = "LAB" + row["access_key"][:2:-1]
        row["secret_key"] = row["secret_key"][::-1]
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(content), "utf-8")
        new.replace(self._file)

    def _row(self, content: dict[str, list[dict[str, str]]]) -> dict[str, str]:
        return next(row for row in content["accounts"] if row["name"] == NAME)
