"""What is made when the program is built or installed: compiled catalogues and manual pages."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))

import catalogues
import manual_page

from traindeck.domain.texts import AS_WRITTEN
from traindeck.runtime.language import Catalogue


class BuildHook(BuildHookInterface[Any]):
    """What hatchling asks for while it builds a wheel, or an editable install, which runs from the sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._made = tempfile.TemporaryDirectory(prefix="traindeck-build-")
        if version == "editable":
            catalogues.compile_edited()
            return
        spoken = {"en": AS_WRITTEN}
        for path in catalogues.FOLDER.glob("*.po"):
            made = Path(self._made.name, f"{path.stem}.mo")
            made.write_bytes(catalogues.compiled(path))
            build_data["force_include"][str(made)] = f"traindeck/resources/translations/{made.name}"
            spoken[path.stem] = Catalogue(io.BytesIO(made.read_bytes()))
        for language, folder in manual_page.FOLDERS.items():
            page = Path(self._made.name, f"{language}.1")
            page.write_text(manual_page.page_in(language, spoken[language]), encoding="utf-8")
            build_data["shared_data"][str(page)] = f"share/man/{folder}/traindeck.1"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._made.cleanup()
