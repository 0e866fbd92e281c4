"""Links that open one object for a short time without keys."""

import base64
import hashlib
import hmac
from urllib.parse import quote, urlencode

from traindeck.lab.accounts import LabAccount


def signed_link(obs_url: str, account: LabAccount, bucket: str, key: str, expires: int) -> str:
    """A GET link signed as the cloud signs the links to its logs; `expires` is in seconds since 1970."""
    path = f"/{bucket}/{quote(key, safe='/~')}"
    text = f"GET\n\n\n{expires}\n{path}"
    digest = hmac.new(account.secret_key.encode("utf-8"), text.encode("utf-8"), hashlib.sha1).digest()
    query = {
        "AccessKeyId": account.access_key,
        "Expires": str(expires),
        "Signature": base64.b64encode(digest).decode("ascii"),
    }
    return f"{obs_url.rstrip('/')}{path}?{urlencode(query)}"
