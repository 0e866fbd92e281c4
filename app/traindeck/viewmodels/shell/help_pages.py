"""Pages of help that come with the program, in the language in use."""

from __future__ import annotations

from traindeck.domain.texts import spoken
from traindeck.runtime.resources import resource

FROM_SCRIPT_TO_JOB = "from-script-to-job"


def help_page(name: str) -> str:
    """Markdown."""
    return resource("help", f"{name}.{spoken()}.md").read_text(encoding="utf-8")
