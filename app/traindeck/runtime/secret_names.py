"""Which names of variables, headers, parameters and options hold secrets."""

from __future__ import annotations

import re

# The words of names whose values open something, and those that make a “key” one.
_OPENS = {
    "ak", "sk", "apikey", "secret", "secrets", "token", "tokens", "pass", "password", "passwd", "passphrase", "pwd",
    "credential", "credentials", "authorization", "auth", "cookie", "signature",
}  # fmt: skip
_OF_KEYS = {"access", "secret", "api", "private", "session"}
_WORDS = re.compile("[A-Z]?[a-z0-9]+|[A-Z0-9]+")
# Where nothing, or something odd, parts the words: “securitytoken”, “AWSAccessKeyId”.
_GLUED = ("passwd", "password", "passphrase", "secret", "credential", "accesskey", "apikey", "privatekey", "sessionkey")


def opens(name: str) -> bool:
    """Return whether the value of this name is a secret; a shell keeps its folder in “PWD”."""
    if name == "PWD":
        return False
    words = [word.lower() for word in _WORDS.findall(name)]
    if not _OPENS.isdisjoint(words) or ("key" in words and not _OF_KEYS.isdisjoint(words)):
        return True
    glued = "".join(words)
    return glued.endswith("token") or any(part in glued for part in _GLUED)
