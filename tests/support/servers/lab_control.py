"""The control port of a Lab, where faults are asked for."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any


class Control:
    """The control port, asked as its documentation says."""

    def __init__(self, root: Path) -> None:
        facts = json.loads((root / "control.json").read_text("utf-8"))
        self.url = facts["url"]
        self.token = facts["token"]

    def call(self, method: str, content: object = None, **headers: str) -> tuple[int, Any]:
        given = {"Authorization": f"Bearer {self.token}", **headers}
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(f"{self.url}/faults", data=body, method=method, headers=given)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def rules(self, *faults: dict[str, Any]) -> None:
        status, answer = self.call("PUT", {"faults": list(faults)})
        assert status == 200, answer
