"""Programs that we start get no keys, tokens and passwords of the caller."""

from __future__ import annotations

import pytest

from traindeck.runtime.own_program import harmless_environment

OPENS = {
    "HUAWEICLOUD_SDK_AK": "a", "HUAWEICLOUD_SDK_SK": "b", "HUAWEICLOUD_SDK_SECURITY_TOKEN": "c",
    "AWS_ACCESS_KEY_ID": "d", "AWS_SECRET_ACCESS_KEY": "e", "AWS_SESSION_TOKEN": "f", "WANDB_API_KEY": "g",
    "OS_PASSWORD": "h", "MYSQL_PWD": "j", "securitytoken": "k", "AWSAccessKeyId": "l",
    "rclone_config_pass": "i",
    "HTTPS_PROXY": "http://user:word@proxy:3128", "INDEX": "https://u:p@host/simple", "ODD": "http://[u:p@host",
}  # fmt: skip
STAYS = {
    "PWD": "/", "TOKENIZERS_PARALLELISM": "true",
    "OLDPWD": "/", "KEYBOARD": "us", "HUAWEICLOUD_SDK_REGION": "r", "HTTP_PROXY": "http://proxy:3128",
    "MONKEY": "see", "XDG_RUNTIME_DIR": "/run", "TRAINDECK_HOME": "/home/me",
    "SSH_AUTH_SOCK": "/opt/agent",
}  # fmt: skip


def test_what_opens_something_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**OPENS, **STAYS}.items():
        monkeypatch.setenv(name, value)
    found = harmless_environment()
    assert not OPENS.keys() & found.keys() and STAYS.items() <= found.items()
