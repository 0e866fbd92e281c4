"""The account in the environment: there while its variables are set, kept nowhere."""

from __future__ import annotations

import os

from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import ENDPOINTS, Profile, Provider, Signature, is_region, parse_endpoint
from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import text

ENVIRONMENT = "environment"
"""The name of its profile."""

ACCESS = "HUAWEICLOUD_SDK_AK"
SECRET = "HUAWEICLOUD_SDK_SK"
TOKEN = "HUAWEICLOUD_SDK_SECURITY_TOKEN"
REGION = "HUAWEICLOUD_SDK_REGION"
# For machines that have no place to keep an account in.
ADDRESSES = {
    "obs_endpoint": "TRAINDECK_OBS_ENDPOINT",
    "modelarts_endpoint": "TRAINDECK_MODELARTS_ENDPOINT",
    "iam_endpoint": "TRAINDECK_IAM_ENDPOINT",
    "project_id": "TRAINDECK_PROJECT_ID",
    "ca_file": "TRAINDECK_CA_FILE",
    "work_in": "TRAINDECK_WORK_IN",
}
SIGNATURE = "TRAINDECK_SIGNATURE"
PATH_STYLE = "TRAINDECK_PATH_STYLE"
_USUAL_REGION = "cn-north-4"


def environment_keys() -> Credentials | None:
    access_key, secret_key, token = (os.environ.get(name, "").strip() for name in (ACCESS, SECRET, TOKEN))
    if not access_key and not secret_key:
        return None
    if not access_key or not secret_key:
        missing, there = (SECRET, ACCESS) if access_key else (ACCESS, SECRET)
        raise InvalidInput(
            text("The account of the environment variables is incomplete: {missing} is missing.", missing=missing),
            text("Set it too, or unset {there}.", there=there),
        )
    return Credentials(access_key, Secret(secret_key), Secret(token) if token else None)


def environment_profile() -> Profile | None:
    keys = environment_keys()
    if keys is None:
        return None
    region = os.environ.get(REGION, "").strip() or _USUAL_REGION
    if not is_region(region):
        raise InvalidInput(
            text("“{region}” is not the name of a region.", region=region),
            text("Set {variable} as in the URL of the console, for example cn-north-4.", variable=REGION),
        )
    addresses = {name: os.environ.get(variable, "").strip() for name, variable in ADDRESSES.items()}
    for name in ENDPOINTS:
        try:
            addresses[name] = addresses[name] and parse_endpoint(addresses[name])
        except InvalidInput as error:
            raise InvalidInput(
                error.title, text("Set {variable} to https:// and the host name.", variable=ADDRESSES[name])
            ) from None
    signature = os.environ.get(SIGNATURE, "").strip() or Signature.AUTO.value
    if signature not in list(Signature):
        raise InvalidInput(
            text("“{signature}” is not a signature type.", signature=signature),
            text("Set {variable} to auto, obs, v2 or v4.", variable=SIGNATURE),
        )
    return Profile(
        ENVIRONMENT,
        Provider.MODELARTS,
        region,
        signature=Signature(signature),
        path_style=os.environ.get(PATH_STYLE, "").strip() not in ("", "0"),
        key_hint=keys.hint,
        **addresses,
    )
