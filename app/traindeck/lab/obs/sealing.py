"""Bodies under the key of a customer: AES-256 in counter mode, so that any part of them can be read alone.

The key itself is kept nowhere. With the object stay a random salt and a check value made of both, which tells whether a
key is the right one and nothing about it; what encrypts the body is made of key and salt as well.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from traindeck.lab.obs.errors import InvalidRequest

KEY_BYTES = 32
_BLOCK = 16
# A body in one piece has a salt of its own; pieces of one upload share theirs and differ in this.
NO_NONCE = "00" * 8


def lock_for(key: bytes) -> Mapping[str, str]:
    """What is kept with an object."""
    salt = secrets.token_hex(16)
    return {"salt": salt, "check": _made_of(key, salt, "check").hex()}


def check_key(lock: Mapping[str, str], key: bytes | None) -> None:
    """Raise where this is not the key, or none where there is one; the messages are in the error lists of S3."""
    if not lock:
        if key:
            raise InvalidRequest("The encryption parameters are not applicable to this object.")
    elif key is None:
        message = "The object was stored using a form of Server Side Encryption."
        raise InvalidRequest(f"{message} The correct parameters must be provided to retrieve the object.")
    elif not hmac.compare_digest(_made_of(key, lock["salt"], "check").hex(), lock["check"]):
        # The public S3 suite of Ceph wants 400 here as well.
        raise InvalidRequest("The provided encryption parameters did not match the ones used originally.")


def sealed_etag(md5: bytes) -> str:
    """ "Server-Side Encryption" of the OBS references: the ETag of what is encrypted is not its MD5."""
    return hashlib.md5(b"encrypted" + md5, usedforsecurity=False).hexdigest()


class Seal:
    """Encrypts one body from its first byte to its last."""

    def __init__(self, key: bytes, lock: Mapping[str, str], *, is_part: bool = False) -> None:
        self.nonce = secrets.token_hex(8) if is_part else NO_NONCE
        self._cipher = _cipher(_made_of(key, lock["salt"], "body"), self.nonce, 0)

    def encrypt(self, data: bytes) -> bytes:
        sealed: bytes = self._cipher.encrypt(data)
        return sealed


class Unsealed:
    """Reads such a body: the pieces it was made of, each with its size and nonce."""

    def __init__(self, file: BinaryIO, key: bytes, lock: Mapping[str, str], pieces: Sequence[tuple[int, str]]) -> None:
        self._file = file
        self._key = _made_of(key, lock["salt"], "body")
        self._pieces = pieces
        self._at = 0

    def seek(self, position: int, /) -> int:
        self._at = position
        return self._file.seek(position)

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        opened = bytearray()
        start = 0
        for length, nonce in self._pieces:
            inside = self._at - start
            if len(opened) < len(data) and 0 <= inside < length:
                part = data[len(opened) : len(opened) + length - inside]
                cipher = _cipher(self._key, nonce, inside // _BLOCK)
                cipher.decrypt(bytes(inside % _BLOCK))
                opened += cipher.decrypt(part)
                self._at += len(part)
            start += length
        return bytes(opened)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Unsealed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _made_of(key: bytes, salt: str, purpose: str) -> bytes:
    return hmac.new(key, f"{purpose}:{salt}".encode("ascii"), hashlib.sha256).digest()


def _cipher(key: bytes, nonce: str, block: int) -> Any:
    # Loaded where it is needed: few Labs ever see such a body.
    from Crypto.Cipher import AES

    return AES.new(key, AES.MODE_CTR, nonce=bytes.fromhex(nonce), initial_value=block)
