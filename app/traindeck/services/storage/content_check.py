"""Whether what came of an object is what the service has: told by its ETag, where that is the MD5 of the content."""

from __future__ import annotations

import hashlib

from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import is_plain_md5
from traindeck.services.storage.data_ports import ObjectHead


class ContentCheck:
    """Of a whole object, piece by piece; one whose ETag tells nothing is believed."""

    def __init__(self, found: ObjectHead) -> None:
        self._found = found
        is_told = is_plain_md5(found.etag) and not found.is_encrypted
        self._digest = hashlib.md5(usedforsecurity=False) if is_told else None

    def update(self, piece: bytes) -> None:
        if self._digest is not None:
            self._digest.update(piece)

    def finish(self) -> None:
        """Raise ServiceTrouble where it is another content."""
        if self._digest is not None and self._digest.hexdigest() != self._found.etag:
            raise ServiceTrouble(
                text("“{place}” was corrupted in transit.", place=str(self._found.path)),
                text(
                    "Do not use the received data. Try again. If it persists, there is a problem with the "
                    "object or the network."
                ),
                f"came {self._digest.hexdigest()}, stored {self._found.etag}",
            )


def checked(found: ObjectHead, content: bytes) -> bytes:
    """All of an object, as it came."""
    check = ContentCheck(found)
    check.update(content)
    check.finish()
    return content
