"""Names and values of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication, QLabel

from support.frame_bench import ICONS
from traindeck.ui.kit.cards import Facts
from traindeck.ui.kit.theme import Theme

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def foot_of_last_sign(label: QLabel) -> int:
    """How far down it reaches in the window, to the pixel."""
    image: QImage = label.grab().toImage()
    ground = QColor(image.pixel(image.width() - 1, 0)).lightness()
    for x in range(image.width() - 1, -1, -1):
        inked = [y for y in range(image.height()) if abs(QColor(image.pixel(x, y)).lightness() - ground) > 90]
        if inked:
            return label.mapTo(label.window(), label.rect().topLeft()).y() + inked[-1]
    raise AssertionError("nothing is written there")


@pytest.mark.parametrize(("name", "value"), [("时间 I", "I"), ("I", "值 I"), ("I", "I")])
def test_a_name_and_its_value_stand_on_one_line(qapp: QApplication, qtbot: QtBot, name: str, value: str) -> None:
    """Signs of another font make a line higher."""
    theme, facts = Theme(qapp, ICONS, "light"), Facts()
    qtbot.addWidget(facts)
    facts.show_facts([(name, value), (name, value)])
    facts.resize(400, 120)
    facts.show()
    qapp.processEvents()
    written = [label for label in facts.findChildren(QLabel) if label.text()]
    for left, right in zip(written[::2], written[1::2], strict=True):
        assert foot_of_last_sign(left) == foot_of_last_sign(right)
    theme.close()
