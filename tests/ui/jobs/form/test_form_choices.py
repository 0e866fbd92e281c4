"""What an account offers, to be chosen from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from support.folder_cloud import (
    CPU,
    GPU,
    NPU,
    TORCH,
    TORCH_OLD,
    digits_spec,
    offline,
)
from support.form_window import bench
from support.waiting import until
from traindeck.store.price_file import PriceFile
from traindeck.ui.jobs.form.choice_picker import facts_words
from traindeck.ui.kit.theme import Theme

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


async def test_what_is_not_offered_is_marked_and_replaced_by_a_click(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    old = TORCH_OLD.version.replace("1.8.0", "1.7.0")
    async with bench(tmp_path, theme, qtbot, digits_spec(engine_version=old)) as on:
        assert on.page.version.currentText() == f"{old} (not available)"
        remedy = on.view.fields["engine_version"].remedy
        assert TORCH_OLD.version in remedy.text()
        qtbot.mouseClick(remedy, Qt.MouseButton.LeftButton)
        assert on.form.state.spec.engine_version == TORCH_OLD.version
        assert on.page.version.currentText() == TORCH_OLD.version
        assert remedy.isHidden()


async def test_trouble_with_the_offer_has_its_try_again(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.cloud.choices._kept.clear()
        on.cloud.jobs.trouble = offline()
        on.form.load_offer()
        await until(lambda: on.page.offer_again.isVisible())
        assert "cannot be reached" in on.page.offer.text()
        assert on.page.version.currentText() == TORCH.version, "what was chosen stays"
        on.cloud.jobs.trouble = None
        qtbot.mouseClick(on.page.offer_again, Qt.MouseButton.LeftButton)
        await until(lambda: not on.page.offer_again.isVisible())


async def test_the_list_of_specifications_filters_and_greys_what_does_not_fit(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.page.flavor.showPopup()
        popup = on.page.flavor.popup
        assert popup is not None
        npu = next(row for row in popup.model.rows if row.value == NPU.id)
        assert "not built for Ascend" in facts_words(npu)
        assert not popup.model.flags(popup.model.index(list(popup.model.rows).index(npu))) & Qt.ItemFlag.ItemIsEnabled
        assert "As of 20" in popup.age.text()
        qtbot.keyClicks(popup.filter, "v100 never")
        before = popup.filter.height() + popup.list.height()
        await until(lambda: popup.none.isVisible() and not popup.list.isVisible())
        assert popup.none.geometry().top() < before / 2, "what is said stands where the entries were"
        popup.filter.clear()
        qtbot.keyClicks(popup.filter, "v100 gpu")
        assert [row.value for row in popup.model.rows] == [GPU.id]
        qtbot.keyClick(popup.filter, Qt.Key.Key_Return)
        assert on.form.state.spec.flavor == GPU.id and not popup.isVisible()


async def test_prices_are_on_the_button_and_in_the_list_of_specifications(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, replace(digits_spec(), stop_after="3h")) as on:
        await on.cloud.add_cloud_profile("work")
        on.form.refresh_profiles()
        on.form.choose_profile("work")
        await until(lambda: on.form.state.offer and not on.form.state.offer_is_old)
        assert on.bar.submit.text() == "Submit · cost unknown"
        PriceFile(on.cloud.paths.prices).change(flavors={CPU.id: 2.0}, currency=None, limit=None)
        on.form.refresh_offer()
        await until(lambda: on.bar.submit.text() == "Submit · at most 6.00 CNY")
        on.page.flavor.showPopup()
        popup = on.page.flavor.popup
        assert popup is not None
        cpu = next(row for row in popup.model.rows if row.value == CPU.id)
        assert "per hour: 2.00 CNY" in facts_words(cpu) and "Prices are not known" not in popup.age.text()
        popup.close()


async def test_what_was_offered_the_last_time_is_there_without_a_line(
    tmp_path: Path, theme: Theme, qtbot: QtBot
) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.cloud.jobs.trouble = offline()
        on.form.refresh_offer()
        await until(lambda: on.form.state.offer_trouble is not None)
        assert on.form.state.offer is not None and on.form.state.offer_is_old
        assert "The lists are those of 20" in on.page.offer.text()
        on.form.set_field("flavor", "modelarts.new")
        assert not [error for error in on.form.state.all_errors if error.field == "flavor"], (
            "an old list refuses nothing"
        )


async def test_what_is_chosen_is_read_whole_in_a_narrow_form(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    async with bench(tmp_path, theme, qtbot, digits_spec()) as on:
        on.view.resize(280, 700)
        for box, whole in ((on.page.version, TORCH.version), (on.page.flavor, f"{CPU.id} · CPU · 2 cores · 8 GB")):
            room = 150
            assert "…" not in box.words_in(room) and box.fontMetrics().horizontalAdvance(box.words_in(room)) <= room
            assert box.words_in(2000) == whole and box.toolTip() == whole
        assert on.parts.choices.version_forms("pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64")[1:] == [
            "2.1.0 · cuda 12.1 · py 3.10.6 · ubuntu 22.04 · x86_64",
            "2.1.0 · cuda 12.1 · py 3.10.6 · ubuntu 22.04",
            "2.1.0 · cuda 12.1 · py 3.10.6",
            "2.1.0 · cuda 12.1",
            "2.1.0",
        ]
        assert on.parts.choices.version_forms("anything else") == ["anything else"]
        assert on.parts.choices.flavor_forms(GPU.id)[2].startswith("V100"), "the card counts most"


async def test_a_version_that_is_gone_says_so_in_every_width(tmp_path: Path, theme: Theme, qtbot: QtBot) -> None:
    old = TORCH_OLD.version.replace("1.8.0", "1.7.0")
    async with bench(tmp_path, theme, qtbot, digits_spec(engine_version=old)) as on:
        assert on.page.version.words_in(150).endswith("ilable)")
