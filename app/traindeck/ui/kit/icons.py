"""Icons as strokes on a grid of 16, drawn in whatever colour the theme gives."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

STROKES = {
    "account": "M8 8.2a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2M3 13.2c.5-2.6 2.5-4 5-4s4.5 1.4 5 4",
    "again": "M12.8 6A5.2 5.2 0 1 0 13.2 9M13 2.5V6H9.5",
    "back": "M13 8H3.5M7.5 4 3.5 8l4 4",
    "beside": "M2.5 3h11v10h-11zM8 3v10",
    "below": "M2.5 3h11v10h-11zM2.5 8.5h11",
    "bucket": "M2.5 4.2c0-2.2 11-2.2 11 0s-11 2.2-11 0l1.3 8c.3 1.9 8.1 1.9 8.4 0l1.3-8",
    "check": "M3 8.5 6.5 12 13 4.5",
    "clock": "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 4.8V8l2.3 1.6",
    "close": "M4 4l8 8M12 4l-8 8",
    "cloud": "M5 12.5a3 3 0 0 1-.3-6A3.8 3.8 0 0 1 12 7.5a2.5 2.5 0 0 1-.5 5z",
    "copy": "M6 6h7v7H6zM10 6V3H3v7h3",
    "dots": "M3.2 7.4a.7.7 0 1 0 .1 0zM8 7.4a.7.7 0 1 0 .1 0zM12.8 7.4a.7.7 0 1 0 .1 0z",
    "diff": "M4.5 2.5v6M1.5 5.5h6M1.5 11.5h6M9 13.5l5.5-11",
    "download": "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
    "down": "M8 3v9.5M4 8.5l4 4 4-4",
    "edit": "M3 13l.6-2.8 7.6-7.6 2.2 2.2-7.6 7.6zM9.6 4.2l2.2 2.2",
    "error": "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 5v3.5M8 11v.1",
    "eye": "M1.5 8C4.2 3.6 11.8 3.6 14.5 8 11.8 12.4 4.2 12.4 1.5 8M8 9.9a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8",
    "file": "M4 2h5l3 3v9H4zM9 2v3h3",
    "fragments": "M2.5 3h4.5v4.5H2.5zM9.5 2.5h4v4h-4zM3 10h4v3.5H3zM10 9.5h3.5V13H10z",
    "filter": "M2.5 3.5h11L9.5 8.5v4l-3 1v-5z",
    "first": "M3 2.8h10M8 13.5V6M4.5 9.3 8 5.8l3.5 3.5",
    "flask": "M6.5 2v4.5L3 13.5h10L9.5 6.5V2M5.5 2h5M5 10h6",
    "float": "M3 6.5h7.5V14H3zM6 6.5V3h7.5v7.5h-3",
    "folder": "M2 4h4.5L8 5.5h6V13H2z",
    "folder-plus": "M2 4h4.5L8 5.5h6V13H2zM8 7.3v4M6 9.3h4",
    "forward": "M3 8h9.5M8.5 4l4 4-4 4",
    "form": "M2 4.5h12M2 8h12M2 11.5h12M5 3v3M10.5 6.5v3M6.5 10v3",
    "globe": "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M2 8h12M8 2c4 3 4 9 0 12-4-3-4-9 0-12",
    "info": "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M8 7.5V11M8 5v.1",
    "key": "M9.8 9.2a3.3 3.3 0 1 0-3-3L2.5 10.5v3h3V12H7v-1.5zM10.8 5.2v.1",
    "lock": "M3.5 7.5h9v6h-9zM5.5 7.5V5.2a2.5 2.5 0 0 1 5 0v2.3",
    "log": "M3 3.5h10M3 6.5h7M3 9.5h10M3 12.5h5",
    "more": "M4 6.5 8 10.5l4-4",
    "pack": "M2.5 5 8 2.5 13.5 5v6L8 13.5 2.5 11zM2.5 5 8 7.5 13.5 5M8 7.5v6",
    "pause": "M5.5 3.5v9M10.5 3.5v9",
    "pin": "M6 2.5h4M7 2.5v4L4.5 9.5h7L9 6.5v-4M8 9.5v4",
    "play": "M4.5 3v10l8.5-5z",
    "plus": "M8 3v10M3 8h10",
    "refresh": "M13 7A5.1 5.1 0 0 0 4 4.7L2.5 6.2M2.5 3v3.2h3.2M3 9a5.1 5.1 0 0 0 9 2.3l1.5-1.5M13.5 13V9.8h-3.2",
    "runs": "M3 3.5h.1M6 3.5h7.5M3 8h.1M6 8h7.5M3 12.5h.1M6 12.5h7.5",
    "search": "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.7 10.7 14 14",
    "shield": "M8 2 13 4v4c0 3-2 5-5 6-3-1-5-3-5-6V4zM5.8 8l1.6 1.6 3-3",
    "star": "M8 2.2l1.8 3.7 4 .6-2.9 2.8.7 4L8 11.4l-3.6 1.9.7-4L2.2 6.5l4-.6z",
    "stop": "M4 4h8v8H4z",
    "trash": "M3 4.5h10M6.5 4.5V2.8h3v1.7M4.5 4.5l.6 9h5.8l.6-9",
    "tag": "M2.5 2.5h5.2l6 6-5.2 5.2-6-6zM5.2 5.2v.1",
    "transfers": "M5 13V3.5M2.5 6 5 3.5 7.5 6M11 3v9.5M8.5 10l2.5 2.5L13.5 10",
    "up": "M8 13V3.5M4 7.5l4-4 4 4",
    "undo": "M3.2 6A5.2 5.2 0 1 1 2.8 9M3 2.5V6h3.5",
    "unknown": "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12M6.3 6.5c0-2.4 3.5-2.3 3.5-.2C9.8 7.6 8 7.7 8 9.2M8 11.3v.1",
    "upload": "M8 11V3M4.5 6.5 8 3l3.5 3.5M3 13.5h10",
    "upload-folder": "M2 4h4.5L8 5.5h6V13H2zM8 11.5V7.3M6.2 9 8 7.2 9.8 9",
    "warning": "M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.1",
    "whole": "M9.5 2.5h4v4M13.5 2.5 9 7M6.5 13.5h-4v-4M2.5 13.5 7 9",
    "window": "M2 3h12v10H2zM2 6h12M6 6v7",
}

_ICON = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<path d="{path}" fill="none" stroke="{color}" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round"/>
</svg>"""
_MARK = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">
<rect x="4" y="4" width="56" height="56" rx="13" fill="{back}"/>
<path d="M16 44h32M20 52l4-8M44 52l-4-8" fill="none" stroke="{front}" stroke-width="4" stroke-linecap="round"/>
<path d="M20 34V20a6 6 0 0 1 6-6h12a6 6 0 0 1 6 6v14z" fill="{front}"/>
<path d="M25 20h14v6H25z" fill="{back}"/><circle cx="27" cy="31" r="1.8" fill="{back}"/>
<circle cx="37" cy="31" r="1.8" fill="{back}"/></svg>"""


_SIZES = (16, 20, 24)


def drawn_icon(name: str, color: str, disabled: str, fineness: float = 2.0) -> QIcon:
    """`fineness`: of the finest screen, in pixels for each point; larger pictures than are shown take memory only."""
    icon = QIcon()
    for size in sorted({*_SIZES, *(round(size * fineness) for size in _SIZES)}):
        shown = _drawn(_ICON.format(path=STROKES[name], color=color), size)
        # Without a picture of its own Qt tints what is selected, until it looks as if it were disabled.
        for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):
            icon.addPixmap(shown, mode)
        icon.addPixmap(_drawn(_ICON.format(path=STROKES[name], color=disabled), size), QIcon.Mode.Disabled)
    return icon


def drawn_mark(back: str, front: str) -> QIcon:
    """The mark of the program."""
    icon = QIcon()
    for size in (16, 32, 48, 64, 128, 256):
        icon.addPixmap(_drawn(_MARK.format(back=back, front=front), size))
    return icon


def _drawn(svg: str, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return pixmap
