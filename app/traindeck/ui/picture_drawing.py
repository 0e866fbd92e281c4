"""Pictures drawn in a worker: no larger than needed, turned as the camera was held."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QImage, QImageReader


def drawn_picture(content: bytes, longest: int) -> QImage | None:
    """None: it cannot be drawn."""
    buffer = QBuffer()
    buffer.setData(QByteArray(content))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    size = reader.size()
    if max(size.width(), size.height()) > longest:
        reader.setScaledSize(size.scaled(QSize(longest, longest), Qt.AspectRatioMode.KeepAspectRatio))
    image = reader.read()
    if image.isNull():
        return None
    if max(image.width(), image.height()) > longest:  # where the size was not known before
        image = image.scaled(
            longest, longest, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )
    # What the screen takes without another conversion.
    return image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
