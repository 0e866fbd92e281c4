"""The one style sheet; its colours and sizes come from the theme."""

from __future__ import annotations

from string import Template

STYLE_SHEET = Template(
    """
QMainWindow, QDialog { background: $window; }
QMainWindow::separator { background: $window; width: 6px; height: 6px; }
QMainWindow::separator:hover { background: $selection; }
QSplitter::handle { background: $border; }
QToolTip { background: $surface; color: $text; border: 1px solid $border_strong; padding: 4px; }

QLabel[role="title"] { font-size: ${title_pt}pt; font-weight: 600; }
QLabel[role="heading"] { font-size: ${heading_pt}pt; font-weight: 600; }
QLabel[role="verdict-good"] { font-size: ${heading_pt}pt; font-weight: 600; color: $good; }
QLabel[role="verdict-bad"] { font-size: ${heading_pt}pt; font-weight: 600; color: $bad; }
QLabel[role="strong"] { font-weight: 600; }
QLabel[role="dim"] { color: $dim; }
QLabel[role="small"] { color: $dim; font-size: ${small_pt}pt; }
QLabel[role="error"] { color: $bad; }
QLabel[role="good"] { color: $good; }
QLabel[role="warn"] { color: $warn; }
QLabel[role="key"] { color: $dim; font-weight: 600; }
QLabel[role="chip"] { background: $hover; color: $text; border-radius: 9px; padding: 2px 8px; }
QLabel[role="chip-good"] { background: $good_soft; color: $good; border-radius: 9px; padding: 2px 8px; }
QLabel[role="chip-warn"] { background: $warn_soft; color: $warn; border-radius: 9px; padding: 2px 8px; }
QLabel[role="chip-bad"] { background: $bad_soft; color: $bad; border-radius: 9px; padding: 2px 8px; }
QLabel[role="chip-info"] { background: $info_soft; color: $link; border-radius: 9px; padding: 2px 8px; }

QFrame[role="card"] { background: $surface; border: 1px solid $border; border-radius: 8px; }
QFrame[role="page"], QWidget[role="page"] { background: $surface; }
QFrame[role="line"] { background: $border; border: none; max-height: 1px; min-height: 1px; }
QFrame[role="line-upright"] { background: $border; border: none; max-width: 1px; min-width: 1px; }
QFrame[role="notice-bad"] { background: $bad_soft; border: none; border-radius: 6px; }
QFrame[role="strip"] { background: $warn_soft; border: 1px solid $warn; border-radius: 8px; }
QFrame[role="toast"] { background: $surface; border: 1px solid $border_strong; border-radius: 8px; }
QFrame[role="toast-bad"] { background: $surface; border: 1px solid $bad; border-radius: 8px; }
QFrame[role="notice-info"] { background: $info_soft; border: none; border-radius: 6px; }

QPushButton {
    background: $surface; color: $text; border: 1px solid $border_strong; border-radius: 5px;
    padding: 4px 12px; min-height: 18px;
}
QPushButton, QToolButton, QCheckBox, QRadioButton { outline: none; }
QPushButton:hover { background: $hover; }
QPushButton:pressed, QPushButton:checked { background: $selection; color: $on_selection; }
QPushButton:focus { border: 2px solid $link; padding: 3px 11px; }
QPushButton:disabled { color: $disabled; border-color: $border; background: transparent; }
QPushButton[role="primary"], QPushButton:default[role=""] {
    background: $accent; color: $on_accent; border: 1px solid $accent; font-weight: 600;
}
QPushButton[role="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[role="primary"]:focus { border: 2px solid $on_selection; padding: 3px 11px; }
QPushButton[role="primary"]:disabled { background: $hover; color: $disabled; border-color: $border; }
QPushButton[role="danger"] { color: $bad; }
QPushButton[role="danger"]:hover { background: $bad_soft; }
QPushButton[role="danger"]:disabled { color: $disabled; }
QPushButton[role="flat"], QToolButton {
    background: transparent; color: $text; border: 1px solid transparent; border-radius: 5px; padding: 3px 6px;
}
QPushButton[role="flat"]:hover, QToolButton:hover { background: $hover; }
QPushButton[role="flat"]:focus, QToolButton:focus { border: 2px solid $link; padding: 2px 5px; }
QPushButton[role="flat"]:disabled, QToolButton:disabled { color: $disabled; background: transparent; }
QToolButton:pressed, QToolButton:checked { background: $selection; color: $on_selection; }
QToolButton::menu-indicator { image: none; }
QToolButton[role="menu"] { border: 1px solid $border_strong; padding-right: 20px; }
QToolButton[role="menu"]:focus { padding-right: 19px; }
QToolButton[role="menu"]::menu-indicator {
    image: url(theme:chevron-down.svg); width: 10px; height: 10px;
    subcontrol-origin: padding; subcontrol-position: center right; right: 6px;
}
QPushButton[role="link"] {
    background: transparent; color: $link; border: 1px solid transparent; padding: 2px 4px; text-align: left;
}
QPushButton[role="link"]:hover { text-decoration: underline; }
QPushButton[role="link"]:focus { border: 2px solid $link; padding: 1px 3px; }
QPushButton[role="link-bad"] {
    background: transparent; color: $bad; border: 1px solid transparent; padding: 2px 4px; text-align: left;
}
QPushButton[role="link-bad"]:hover { text-decoration: underline; }
QPushButton[role="link-bad"]:focus { border: 2px solid $link; padding: 1px 3px; }
QPushButton[role="pill"] {
    background: $accent; color: $on_accent; border: none; border-radius: 13px; padding: 4px 14px;
}
QPushButton[role="pill"]:focus { border: 2px solid $on_selection; padding: 2px 12px; }
QLabel:focus { border: 2px solid $link; border-radius: 4px; }

QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QDoubleSpinBox, QComboBox {
    background: $surface; color: $text; border: 1px solid $border_strong; border-radius: 5px;
    selection-background-color: $selection; selection-color: $on_selection;
}
QLineEdit, QPlainTextEdit, QTextEdit, QComboBox { placeholder-text-color: $dim; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { padding: 3px 7px; min-height: 18px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus,
QComboBox:on { border: 2px solid $link; }
QLineEdit:focus, QSpinBox:focus, QDoubleSpinBox:focus, QComboBox:focus, QComboBox:on { padding: 2px 6px; }
QLineEdit:disabled, QSpinBox:disabled, QComboBox:disabled, QPlainTextEdit:disabled {
    color: $disabled; background: $window; border-color: $border;
}
QLineEdit[role="invalid"], QComboBox[role="invalid"], QSpinBox[role="invalid"] { border: 1px solid $bad; }
QLineEdit[role="invalid"]:focus, QComboBox[role="invalid"]:focus, QSpinBox[role="invalid"]:focus {
    border: 2px solid $bad;
}
QLineEdit[role="changed"], QComboBox[role="changed"], QSpinBox[role="changed"] { background: $warn_soft; }
QPlainTextEdit[role="log"] { background: $sunken; border: none; border-radius: 0; padding: 4px; }
QPlainTextEdit[role="log"]:focus { border: 2px solid $link; padding: 2px; }
QAbstractScrollArea[role="lines"] { background: $sunken; border: 2px solid transparent; border-radius: 0; }
QAbstractScrollArea[role="lines"]:focus { border: 2px solid $link; }
QPlainTextEdit[role="spoken"] { background: transparent; border: none; border-radius: 0; padding: 0; }
QListView[role="grid"] { background: $sunken; border: none; padding: 4px; }
QComboBox { padding-right: 22px; combobox-popup: 0; }
QComboBox:focus, QComboBox:on { padding-right: 21px; }
QComboBox::drop-down { border: none; width: 22px; subcontrol-origin: padding; subcontrol-position: center right; }
QComboBox::down-arrow { image: url(theme:chevron-down.svg); width: 12px; height: 12px; }
QComboBox QLineEdit, QComboBox QLineEdit:focus { border: none; padding: 0; background: transparent; }
QComboBox QAbstractItemView { background: $surface; border: 1px solid $border_strong; outline: none; padding: 2px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: none; background: transparent; width: 18px; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: $hover; }
QAbstractSpinBox::up-arrow { image: url(theme:chevron-up.svg); width: 10px; height: 10px; }
QAbstractSpinBox::down-arrow { image: url(theme:chevron-down.svg); width: 10px; height: 10px; }

QCheckBox, QRadioButton { spacing: 7px; border: 2px solid transparent; border-radius: 4px; }
QCheckBox:focus, QRadioButton:focus { border-color: $link; }
QCheckBox::indicator, QRadioButton::indicator, QAbstractItemView::indicator { width: 15px; height: 15px; }
QCheckBox::indicator, QAbstractItemView::indicator {
    border: 1px solid $border_strong; border-radius: 4px; background: $surface;
}
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked {
    background: $accent; border-color: $accent; image: url(theme:check.svg);
}
QRadioButton::indicator { border: 1px solid $border_strong; border-radius: 8px; background: $surface; }
QRadioButton::indicator:checked { width: 7px; height: 7px; border: 5px solid $accent; }
QCheckBox::indicator:disabled { background: $window; border-color: $border; }

QAbstractItemView {
    background: $surface; color: $text; border: none; outline: none;
    selection-background-color: $selection; selection-color: $on_selection;
}
QTreeView::item, QListView::item, QTableView::item { padding: 3px 4px; border: none; }
QTreeView::item:hover, QListView::item:hover { background: $hover; }
QTreeView::item:selected, QListView::item:selected, QTableView::item:selected {
    background: $selection; color: $on_selection;
}
QTreeView::item:selected:!active, QListView::item:selected:!active, QTableView::item:selected:!active {
    background: $selection_idle; color: $text;
}
QTreeView::item:focus, QListView::item:focus, QTableView::item:focus { border: 1px solid $link; padding: 2px 3px; }
QTreeView::branch:selected { background: $selection; }
QTreeView::branch:selected:!active { background: $selection_idle; }
QTreeView::branch:has-children:closed { image: url(theme:chevron-right.svg); }
QTreeView::branch:has-children:open { image: url(theme:chevron-down.svg); }
QHeaderView { background: $surface; border: none; }
QHeaderView::section {
    background: $surface; color: $dim; border: none; border-bottom: 1px solid $border; padding: 4px 6px;
}
QHeaderView::up-arrow { image: url(theme:chevron-up.svg); }
QHeaderView::down-arrow { image: url(theme:chevron-down.svg); }
QHeaderView::up-arrow, QHeaderView::down-arrow {
    width: 11px; height: 11px; subcontrol-origin: padding; subcontrol-position: center right; right: 4px;
}
QTableCornerButton::section { background: $surface; border: none; }
QScrollArea { border: none; background: transparent; }
QAbstractScrollArea::corner { background: transparent; }

QMenuBar { background: $window; color: $text; padding: 2px 4px; }
QMenuBar::item { padding: 4px 9px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $surface; color: $text; border: 1px solid $border_strong; padding: 4px; }
QMenu::item { padding: 2px 24px 2px 10px; border-radius: 4px; min-height: 16px; }
QMenu::item:selected { background: $selection; color: $on_selection; }
QMenu::item:disabled { color: $disabled; background: transparent; }
QMenu::separator { height: 1px; background: $border; margin: 3px 6px; }
QMenu::icon { padding-left: 6px; }

QToolBar { background: $window; border: none; padding: 2px 6px; spacing: 4px; }
QToolBar#notices { padding: 0 6px 2px 6px; spacing: 0; }
QToolBar::separator { background: $border; width: 1px; margin: 4px 6px; }
QStatusBar { background: $window; color: $dim; border-top: 1px solid $border; }
QStatusBar::item { border: none; }
QStatusBar QLabel { color: $dim; padding: 0 6px; }
QStatusBar QLabel[role="warn"] { color: $warn; }

QDockWidget {
    color: $text; titlebar-close-icon: url(theme:close.svg); titlebar-normal-icon: url(theme:float.svg);
}
QDockWidget::title { background: $window; text-align: left; padding: 6px 8px; }
QDockWidget::close-button, QDockWidget::float-button {
    background: transparent; border: none; border-radius: 4px; padding: 1px;
}
QDockWidget::close-button:hover, QDockWidget::float-button:hover { background: $hover; }
QTabWidget::pane { border: none; border-top: 1px solid $border; background: $surface; }
QTabBar { background: transparent; qproperty-drawBase: 0; }
QTabBar::tab {
    background: transparent; color: $dim; padding: 5px 12px; border: none; border-bottom: 2px solid transparent;
}
QTabBar::tab:hover { color: $text; background: $hover; }
QTabBar::tab:selected { color: $text; border-bottom: 2px solid $accent; }
QTabBar::tab:focus { color: $link; border: 2px solid $link; border-radius: 4px; padding: 3px 10px 5px 10px; }
QTabBar::close-button { image: url(theme:close.svg); subcontrol-position: right; margin: 2px; }
QTabBar::close-button:hover { background: $hover; border-radius: 4px; }


QTabBar::tear { image: none; width: 0; }
QTabBar::scroller { width: 20px; }
QToolButton#ScrollLeftButton, QToolButton#ScrollRightButton { background: $window; border-radius: 0; padding: 0; }
QToolButton#ScrollLeftButton:hover, QToolButton#ScrollRightButton:hover { background: $hover; }
QToolButton#ScrollLeftButton::left-arrow { image: url(theme:chevron-left.svg); width: 12px; height: 12px; }
QToolButton#ScrollRightButton::right-arrow { image: url(theme:chevron-right.svg); width: 12px; height: 12px; }

QProgressBar {
    background: $hover; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; text-align: center;
}
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QProgressBar[role="good"]::chunk { background: $good; }
QProgressBar[role="bad"]::chunk { background: $bad; }
QSlider::groove:horizontal { background: $border_strong; height: 4px; border-radius: 2px; }
QSlider::sub-page:horizontal { background: $accent; height: 4px; border-radius: 2px; }
QSlider::handle:horizontal {
    background: $surface; border: 2px solid $border_strong; width: 10px; margin: -6px 0; border-radius: 7px;
}
QSlider::handle:horizontal:hover { border-color: $accent; }
QSlider::handle:horizontal:focus { border-color: $link; }
QGroupBox { border: none; margin-top: 20px; font-weight: 600; }
QGroupBox::title { subcontrol-origin: margin; left: 0; padding: 0 0 4px 0; color: $text; }

QScrollBar:vertical { background: transparent; width: 12px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; }
QScrollBar::handle { background: $scroll; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: $border_strong; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QFrame[role="palette"] { background: $surface; border: 1px solid $border_strong; border-radius: 8px; }
QLineEdit[role="palette"] {
    border: none; border-bottom: 1px solid $border; border-radius: 0; padding: 9px 12px; font-size: ${heading_pt}pt;
}
QLineEdit[role="palette"]:focus { border: none; border-bottom: 1px solid $border; padding: 9px 12px; }
QListView[role="palette"] { padding: 4px; border: none; border-radius: 0; }
QListView[role="palette"]::item:selected:!active, QListView[role="completion"]::item:selected:!active {
    background: $selection; color: $on_selection;
}
QListView[role="pages"] { background: $window; padding: 6px; }
QListView[role="pages"]::item { padding: 4px 8px; border-radius: 5px; }
QListView[role="checks"] { background: $surface; }
QListView[role="checks"]::item { padding: 1px 6px; }
QListView[role="rules"] { border: 1px solid $border; border-radius: 5px; }
QListView[role="completion"] { border: 1px solid $border_strong; padding: 2px; }
QListView[role="completion"]::item { padding: 4px 6px; }
QListView[role="palette"]::item { padding: 6px 8px; border-radius: 4px; }
QListView[role="palette"]::item:disabled { color: $disabled; }
"""
)
