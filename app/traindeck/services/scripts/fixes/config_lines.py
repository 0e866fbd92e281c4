"""Lines of configuration files that name a device: they are shown, since nobody knows what else reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from traindeck.domain.scripts.fixes import NotFixed
from traindeck.domain.texts import text
from traindeck.services.scripts.script_tree import ScriptTree

_CONFIGS = (".yaml", ".yml", ".json")
_MOST = 20


def device_lines(tree: ScriptTree, wanted: re.Pattern[str]) -> Iterator[NotFixed]:
    """At most as many as somebody reads."""
    count = 0
    for path, file in tree.files.items():
        if not path.endswith(_CONFIGS):
            continue
        for number, line in enumerate(file.lines, 1):
            value = line.partition("#")[0].partition(":")[2]
            if wanted.search(value) and count < _MOST:
                count += 1
                yield NotFixed(
                    path, number, text("A setting names a device of NVIDIA: change it, if the script reads it.")
                )
