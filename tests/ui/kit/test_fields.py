"""Fields as they open."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from support.panel_bench import light_theme
from support.waiting import until
from traindeck.ui.kit.fields import ChoiceBox


async def test_the_list_of_a_box_shows_each_choice_whole(qapp: QApplication) -> None:
    with light_theme(qapp):
        window, box = QWidget(), ChoiceBox()
        QVBoxLayout(window).addWidget(box)
        box.offer([(word, word) for word in ("As the system", "Light", "Dark")], "Light")
        window.resize(300, 200)
        window.show()
        box.showPopup()
        view = box.view()
        await until(view.isVisible)
        last = view.visualRect(view.model().index(2, 0))
        assert view.viewport().rect().contains(last) and view.verticalScrollBar().maximum() == 0
        box.hidePopup()
        window.deleteLater()
