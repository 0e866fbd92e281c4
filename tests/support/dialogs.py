"""Dialogs as a person finds them: those that are visible."""

from __future__ import annotations

from typing import Any, TypeVar

from PySide6.QtWidgets import QWidget

from support.waiting import until

Kind = TypeVar("Kind", bound=QWidget)


def visible_dialogs(inside: QWidget, kind: type[Kind]) -> list[Kind]:
    """A dialog that was made but never opened is not among them."""
    found: list[Any] = inside.findChildren(kind)
    return [one for one in found if one.isVisible()]


async def visible_dialog(inside: QWidget, kind: type[Kind]) -> Kind:
    """Wait for it; the newest, where there are several."""
    await until(lambda: visible_dialogs(inside, kind))
    return visible_dialogs(inside, kind)[-1]
