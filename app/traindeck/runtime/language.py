"""Which language to speak, and where its sentences come from."""

from __future__ import annotations

import json
import os

from traindeck.domain import texts
from traindeck.runtime.resources import resource

LANGUAGES = (texts.ENGLISH, texts.CHINESE)


def system_language() -> str:
    """The user's, as the environment or the system tells it."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(variable):
            return texts.CHINESE if value.lower().startswith("zh") else texts.ENGLISH
    import locale  # where the environment says nothing, as on Windows

    name = locale.getlocale()[0] or ""
    return texts.CHINESE if name.lower().startswith(("zh", "chinese")) else texts.ENGLISH


def speak(language: str) -> None:
    """Say everything in `language` from now on; what has no translation stays English."""
    texts.speak(language, catalogue(language))


def catalogue(language: str) -> dict[str, str]:
    """Its sentences; reads a file, so call it in a worker where somebody waits."""
    if language == texts.ENGLISH:
        return {}
    sentences: dict[str, str] = json.loads(resource("translations", f"{language}.json").read_text(encoding="utf-8"))
    return sentences
