"""Bodies for what is not moved by a transfer."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator


class BytesBody:
    """What is sent is in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size_bytes = len(content)
        self.md5 = hashlib.md5(content, usedforsecurity=False).digest()

    async def pieces(self) -> AsyncIterator[bytes]:
        if self._content:
            yield self._content
