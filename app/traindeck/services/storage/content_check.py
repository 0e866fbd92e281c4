"""Whether what came of an object is what the service has, by its ETag where that is an MD5, or else by its CRC-64."""

from __future__ import annotations

import hashlib

from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import is_plain_md5
from traindeck.runtime.crc import crc64
from traindeck.services.storage.data_ports import ObjectHead


class ContentCheck:
    """Of a whole object, piece by piece; one without any checksum is believed."""

    def __init__(self, found: ObjectHead) -> None:
        self._found = found
        is_told = is_plain_md5(found.etag) and not found.is_encrypted
        self._digest = hashlib.md5(usedforsecurity=False) if is_told else None
        self._crc64 = 0

    def update(self, piece: bytes) -> None:
        if self._digest is not None:
            self._digest.update(piece)
        elif self._found.crc64 is not None:
            self._crc64 = crc64(piece, self._crc64)

    def finish(self) -> None:
        """Raise ServiceTrouble where it is another content."""
        found, came, stored = self._found, "", ""
        if self._digest is not None:
            came, stored = self._digest.hexdigest(), found.etag
        elif found.crc64 is not None:
            came, stored = str(self._crc64), str(found.crc64)
        if came != stored:
            raise ServiceTrouble(
                text("“{place}” was corrupted in transit.", place=str(found.path)),
                text(
                    "Do not use the received data. Try again. If it persists, there is a problem with the "
                    "object or the network."
                ),
                f"came {came}, stored {stored}",
            )


def checked(found: ObjectHead, content: bytes) -> bytes:
    """All of an object, as it came."""
    check = ContentCheck(found)
    check.update(content)
    check.finish()
    return content
