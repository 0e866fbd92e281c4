"""All settings by section: searched, changed at once, put back one by one, carried to another computer as a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QFrame, QGridLayout, QLabel, QLineEdit, QWidget

from traindeck.domain.errors import InvalidInput
from traindeck.domain.settings import (
    SETTINGS,
    AnySetting,
    FilePath,
    Number,
    OneOf,
    SettingSection,
    SettingValue,
    Switch,
    WebAddress,
    matching_settings,
)
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import card, push_button, show_words, theme_tool_buttons, tool_button
from traindeck.ui.kit.dialogs import chosen_file, chosen_place
from traindeck.ui.kit.fields import guard_wheel
from traindeck.ui.kit.layouts import column_of, label, row_of, scrolling
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.ports import Tasks
from traindeck.viewmodels.shell.preferences import Preferences

_WIDTH = 780
_NARROW = 540
_EDITOR_WIDTH = 24 * SPACE
_FILE_NAME = "traindeck-settings.toml"


class SettingRow(QWidget):
    """One setting: its title and what it means, the value, and the way back to how it comes."""

    def __init__(self, setting: AnySetting, preferences: Preferences, tasks: Tasks) -> None:
        super().__init__()
        self.setting = setting
        self._tasks = tasks
        self._preferences = preferences
        self.editor = self._made()
        title = say(setting.title)
        self.editor.setAccessibleName(title)
        self.editor.setAccessibleDescription(say(setting.help))
        self.reset = tool_button("undo", say("Reset “{setting}”", setting=setting.title), self._reset)
        kept = self.reset.sizePolicy()
        kept.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(kept)
        self.trouble = sentence("", "error")
        name: QWidget = self.editor if isinstance(self.editor, QCheckBox) else QLabel(title)
        if isinstance(name, QLabel):
            name.setBuddy(self.editor)
        grid = self._grid = QGridLayout(self)
        grid.setContentsMargins(0, HALF, 0, HALF)
        grid.setHorizontalSpacing(2 * SPACE)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(0, 1)
        grid.addWidget(name, 0, 0)
        grid.addWidget(sentence(say(setting.help), "dim"), 1, 0)
        self._field = None if name is self.editor else self._with_unit()
        grid.addWidget(self.reset, 0, 2, 2, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self.trouble, 3, 0, 1, 3)
        self.fold(is_narrow=False)
        self.refresh()

    def fold(self, *, is_narrow: bool) -> None:
        """The field stands below its words where there is no room beside them."""
        if self._field is not None:
            place = (2, 0, 1, 3) if is_narrow else (0, 1, 2, 1)
            self._grid.addWidget(self._field, *place, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)

    def refresh(self) -> None:
        """As it stands now; what could not be used is not kept in the field."""
        setting, key = self.setting, self.setting.key
        if isinstance(setting, Switch) and isinstance(self.editor, QCheckBox):
            self.editor.setChecked(self._preferences.value(setting))
        elif isinstance(setting, OneOf) and isinstance(self.editor, QComboBox):
            self.editor.setCurrentIndex(self.editor.findData(self._preferences.value(setting)))
        elif isinstance(self.editor, QLineEdit):
            self.editor.setText(self._typed())
        is_damaged = self._preferences.is_damaged(key)
        damaged = say("The settings file contains a value that cannot be used. The default applies.")
        self._tell(damaged if is_damaged else "")
        self.reset.setVisible(self._preferences.is_chosen(key) or is_damaged)

    def _made(self) -> QWidget:
        setting = self.setting
        if isinstance(setting, Switch):
            box = QCheckBox(say(setting.title))
            box.clicked.connect(self._choose)
            return box
        if isinstance(setting, OneOf):
            choices = QComboBox()
            for name, words in setting.choices:
                choices.addItem(say(words), name)
            choices.activated.connect(lambda at: self._choose(choices.itemData(at)))
            guard_wheel(choices)
            return choices
        line = QLineEdit()
        if isinstance(setting, Number) and setting.zero is not None:
            line.setPlaceholderText(say(setting.zero))
        elif isinstance(setting, FilePath):
            line.setPlaceholderText(say("Detected"))
        elif isinstance(setting, WebAddress):
            line.setPlaceholderText(say("None"))
        line.editingFinished.connect(self._on_typed)
        return line

    def _with_unit(self) -> QWidget:
        box = QWidget()
        box.setFixedWidth(_EDITOR_WIDTH)
        setting = self.setting
        beside: list[QWidget] = []
        if isinstance(setting, Number) and setting.unit is not None:
            beside.append(label(say(setting.unit), "dim"))
        elif isinstance(setting, FilePath):
            beside.append(tool_button("folder", say("Browse…"), self._browse))
        row_of((self.editor, 1), *beside, inside=box, margins=0, spacing=SPACE)
        return box

    def _typed(self) -> str:
        setting = self.setting
        if isinstance(setting, Number):
            value = self._preferences.value(setting)
            return setting.words(value) if value or setting.zero is None else ""
        return self._preferences.value(setting) if isinstance(setting, FilePath | WebAddress) else ""

    def _on_typed(self) -> None:
        if not isinstance(self.editor, QLineEdit) or self.editor.text() == self._typed():
            self._tell("")
            return
        typed = self.editor.text()
        try:
            self._choose(self.setting.parsed(typed) if isinstance(self.setting, Number) else typed)
        except InvalidInput as error:
            self._tell(error.sentence())

    def _choose(self, value: SettingValue) -> None:
        self._preferences.choose(self.setting, value)
        self.refresh()

    def _browse(self) -> None:
        self._tasks.start("choose a file", self._take_file)

    async def _take_file(self) -> None:
        place = await chosen_file(self.window(), say(self.setting.title))
        if place is not None:
            self._choose(str(place))

    def _reset(self) -> None:
        self._preferences.reset(self.setting.key)
        self.refresh()
        self.editor.setFocus()

    def _tell(self, words: str) -> None:
        show_words(self.trouble, words)
        if isinstance(self.editor, QLineEdit):
            set_role(self.editor, "invalid" if words else "")


class SettingsPage(QWidget):
    """Typing in the search hides what does not match."""

    def __init__(
        self, preferences: Preferences, theme: Theme, tasks: Tasks, open_rules: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        self._preferences = preferences
        self._theme = theme
        self._tasks = tasks
        self.rules = push_button(say("Rules on lines…"), open_rules)
        self.rules.setVisible(open_rules is not None)
        self._is_narrow = False
        set_role(self, "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.search = QLineEdit()
        self.search.setPlaceholderText(say("Search settings"))
        self.search.setAccessibleName(self.search.placeholderText())
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.take = push_button(say("&Import…"), lambda: tasks.start("import settings", self._import))
        self.keep = push_button(say("&Export…"), lambda: tasks.start("export settings", self._export))
        self.outcome = sentence("", "small")
        self.none = sentence(say("No setting matches. Try another word, or clear the search."), "dim")
        self.rows = {setting.key: SettingRow(setting, preferences, tasks) for setting in SETTINGS}
        self._sections: list[tuple[SettingSection, QFrame]] = []
        page = QWidget()
        set_role(page, "page")
        self._area = scrolling(page)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        head = QWidget()
        head.setMaximumWidth(_WIDTH)  # as wide as what it searches
        row_of((self.search, 1), self.take, self.keep, inside=head, margins=0, spacing=SPACE)
        top = row_of((head, 200), 1, margins=(2 * SPACE, 2 * SPACE, 2 * SPACE, SPACE))
        column_of(top, (self._area, 1), inside=self, margins=0, spacing=0)
        self._fill(page)
        self.setFocusProxy(self.search)
        show_words(self.outcome, "")
        self._filter("")
        preferences.changed.connect(self._refresh)
        theme.changed.connect(self._paint)
        self._paint()

    def show_setting(self, key: str) -> None:
        self.search.clear()
        row = self.rows[key]
        row.editor.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._area.ensureWidgetVisible(row, 0, 4 * SPACE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = self.width() < _NARROW
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            for row in self.rows.values():
                row.fold(is_narrow=is_narrow)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        focused = self.focusWidget()
        if focused is not None and self._area.isAncestorOf(focused):
            self._area.ensureWidgetVisible(focused, 0, 4 * SPACE)

    def _fill(self, page: QWidget) -> None:
        """From the outside in: what is put into another parent later is styled once more, with all that is in it."""
        column = QWidget()
        column.setMaximumWidth(_WIDTH)
        row_of((column, 200), 1, inside=page, margins=(2 * SPACE, 0, 2 * SPACE, 2 * SPACE))
        for section in SettingSection:
            inside: list[QWidget] = [self.rows[one.key] for one in SETTINGS if one.section is section]
            if section is SettingSection.NOTICES:
                inside.append(self.rules)
            if inside:
                self._sections.append((section, card(say(section.value), inside)))
        cards = [frame for _, frame in self._sections]
        column_of(self.outcome, self.none, *cards, 1, inside=column, margins=0, spacing=2 * SPACE)

    def _filter(self, typed: str) -> None:
        found = {setting.key for setting in matching_settings(typed)}
        for key, row in self.rows.items():
            row.setVisible(key in found)
        for section, frame in self._sections:
            frame.setVisible(any(setting.section is section and setting.key in found for setting in SETTINGS))
        self.none.setVisible(not found)

    def _refresh(self, key: str) -> None:
        self.rows[key].refresh()

    def _paint(self) -> None:
        theme_tool_buttons(self, self._theme)

    async def _export(self) -> None:
        place = await chosen_place(self.window(), say("Export settings"), str(Path.home() / _FILE_NAME), "*.toml")
        if place is not None:
            await self._preferences.save_copy(place)
            show_words(self.outcome, say("The settings are in “{file}”.", file=str(place)))

    async def _import(self) -> None:
        place = await chosen_file(self.window(), say("Import settings"), "*.toml")
        if place is not None:
            show_words(self.outcome, "")
            count = await self._preferences.take_copy(place)
            show_words(self.outcome, say("Settings imported: {count}", count=count))
