"""Text fit for a report: the one place that takes secrets out of it, those that are known and those that show."""

from __future__ import annotations

import re
from urllib.parse import quote

from traindeck.domain.accounts.keys import Credentials

# A link within a link is encoded once more.
_BEGIN = r"(?i)(?:\b|(?<=%26)|(?<=%3F))"
_EQUALS = r"([\"']?\s*[=:]\s*[\"']?|%3D)"
# A gateway may answer with the request it could not verify, signature and token included.
_SIGNED = re.compile(
    _BEGIN
    + r"(signature|x-security-token|security-token|x-(?:amz|obs)-security-token|x-auth-token|authorization)"
    + _EQUALS
    + r"(?:(?:AWS|OBS) )?[^\s,;&|\"<]+(?:\s+(?:Access|Credential)=\S+)?"
)
_KEY_OF_LINK = re.compile(
    _BEGIN + r"(accesskeyid|awsaccesskeyid|x-(?:amz|obs)-credential)" + _EQUALS + r"[^\s,;&|\"<]+"
)
_PASSWORD = re.compile(r"(://[^/\s:@]*):[^/\s]+@")


def without_secrets(words: str, *known: Credentials) -> str:
    """The same text with no secret, no whole access key, nothing that opens a signed link."""
    for credentials in known:
        for secret in credentials.secrets:
            for spelled in {secret.reveal(), quote(secret.reveal(), safe="")}:
                words = words.replace(spelled, "…")
        if credentials.access_key:
            words = words.replace(credentials.access_key, credentials.hint)
    words = _SIGNED.sub(r"\1\2…", words)
    words = _KEY_OF_LINK.sub(r"\1\2…", words)
    return _PASSWORD.sub(r"\1:…@", words)
