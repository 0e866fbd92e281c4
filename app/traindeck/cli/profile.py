"""`traindeck profile`: accounts and their keys."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import CREDENTIALS, DONE, SERVICE
from traindeck.cli.main import Call
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider, Signature, parse_proxy
from traindeck.domain.errors import Conflict, InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say, text
from traindeck.services.accounts.environment import ACCESS, ENVIRONMENT, SECRET, TOKEN, environment_keys
from traindeck.services.accounts.key_checks import read_credentials

if TYPE_CHECKING:
    from traindeck.domain.accounts.profiles import Check


async def add(call: Call) -> int:
    asked = call.options
    profile = Profile(
        name=asked.name,
        provider=Provider.MODELARTS,
        region=asked.region,
        obs_endpoint=asked.obs_endpoint.rstrip("/"),
        modelarts_endpoint=asked.modelarts_endpoint.rstrip("/"),
        iam_endpoint=asked.iam_endpoint.rstrip("/"),
        project_id=asked.project_id,
        signature=Signature(asked.signature),
        path_style=asked.path_style,
        ca_file=asked.ca,
        proxy=parse_proxy(asked.proxy).address if asked.proxy else "",
        work_in=str(ObjectPath.parse(asked.work_in).as_folder()) if asked.work_in else "",
    )
    if asked.keep_keys:
        if not asked.replace:
            raise InvalidInput(
                text("--keep-keys requires an existing account."), text("Use it together with --replace.")
            )
        password = _proxy_password(asked)
        async with call.accounts() as core:
            profiles = core.profile_service()
            kept = await profiles.change(profile, password)
            current = profiles.current
        return _report(call, kept, current)
    credentials = _gathered(asked)
    async with call.accounts() as core:
        profiles = core.profile_service()
        try:
            kept = await profiles.add(profile, credentials, replace_old=asked.replace)
        except Conflict as error:
            raise Conflict(
                error.title, text("Add --replace to replace it, or specify another name."), error.detail
            ) from error
        current, keyring = profiles.current, await profiles.keyring()
    call.output.note(say("The keys are stored in {keyring}.", keyring=keyring))
    return _report(call, kept, current)


def _report(call: Call, kept: Profile, current: str) -> int:
    words = say("Added “{name}”. “traindeck profile check {name}” checks its keys.", name=kept.name)
    if current != kept.name:
        words += "\n" + say("“traindeck profile use {name}” makes it current.", name=kept.name)
    call.output.result(_document(kept, current), words)
    return DONE


async def list(call: Call) -> int:
    async with call.accounts() as core:
        profiles = core.profile_service()
        found, current = profiles.all(), profiles.current

    def row(profile: Profile) -> Sequence[str]:
        mark = "*" if profile.name == current else ""
        key, endpoint = profile.key_hint or "–", profile.obs_endpoint or "–"
        return mark, profile.name, profile.provider.value, profile.region, key, endpoint

    if call.output.json_wanted:
        call.output.document([_document(profile, current) for profile in found])
        return DONE
    heads = ["", say("Name"), say("Provider"), say("Region"), say("Key"), say("OBS endpoint")]
    call.output.table(heads, [row(profile) for profile in found])
    return DONE


async def use(call: Call) -> int:
    name = call.options.name
    async with call.accounts() as core:
        await core.profile_service().use(name)
    call.output.result({"name": name, "current": True}, say("“{name}” is now the current account.", name=name))
    return DONE


async def check(call: Call) -> int:
    async with call.accounts() as core:
        name = call.options.name or call.profile(core)
        core.connections.profile(name)
        check_up = await core.profile_service().check(name)
    if call.output.json_wanted:
        call.output.document(
            {
                "name": name,
                "valid": check_up.accepted,
                "verdict": say(check_up.verdict),
                "ends": check_up.expires,
                "checks": [check_document(check) for check in check_up.checks],
            }
        )
    else:
        marks = {True: say("passed"), False: say("failed"), None: say("not checked")}
        call.output.table(
            [say("Check"), say("Result"), say("Details")],
            [(say(check.title), marks[check.passed], say(check.fact)) for check in check_up.checks],
        )
    call.output.note(say(check_up.verdict))
    for check in check_up.checks:
        if check.hint is not None:
            call.output.note(f"{say(check.title)}: {say(check.hint)}")
    if check_up.accepted is False or any(check.passed is False for check in check_up.checks):
        return CREDENTIALS
    return SERVICE if any(check.may_try_again for check in check_up.checks) else DONE


async def remove(call: Call) -> int:
    name = call.options.name
    async with call.accounts() as core:
        profiles = core.profile_service()
        profiles.refuse_to_remove(name)
        was_current = profiles.current == name
        refusal = text("This would remove “{name}” and its keys from this computer.", name=name)
        question = say("Remove “{name}” with its settings and keys from this computer? Its runs are kept.", name=name)
        if not terminal.is_meant(call.options, refusal, question):
            call.output.note(say("Nothing was deleted."))
            return DONE
        keys_are_gone = await profiles.remove(name)
    words = say("Removed “{name}” and its keys.", name=name) if keys_are_gone else say("Removed “{name}”.", name=name)
    call.output.result({"name": name, "removed": True, "keys_removed": keys_are_gone}, words)
    if not keys_are_gone:
        call.output.note(
            say("The keyring did not respond. The TrainDeck entry “profile:{name}” may still be in it.", name=name)
        )
    if was_current:
        call.output.note(
            say("No account is selected now. Select one with “traindeck profile use NAME”, or specify --profile NAME.")
        )
    return DONE


def _document(profile: Profile, current: str) -> dict[str, object]:
    return {"name": profile.name, "current": profile.name == current, **asdict(profile)}


def check_document(check: Check) -> dict[str, object]:
    return {
        "id": check.id,
        "title": say(check.title),
        "passed": check.passed,
        "fact": say(check.fact),
        "hint": say(check.hint) if check.hint is not None else "",
    }


# Where the keys come from; never an argument, which other users of the machine can read


def _gathered(options: Namespace) -> Credentials:
    """From the file or the environment if named, else from the terminal or standard input."""
    if options.csv is not None:
        found = _lasting(read_credentials(options.csv))
    elif options.env:
        found = from_environment()
    elif terminal.somebody_is_there():
        access_key = terminal.asked(f"{say('Access key (AK)')}: ")
        found = from_lines([access_key, terminal.asked_unseen(f"{say('Secret key (SK), not shown')}: ")])
    else:
        lines = terminal.lines_from_standard_input()
        is_set = ACCESS in os.environ or SECRET in os.environ
        return from_lines(lines) if any(lines) or not is_set else from_environment()
    return replace(found, proxy_password=_proxy_password(options))


def _proxy_password(options: Namespace) -> Secret | None:
    """Asked for where the proxy has a user; it is a secret like the keys."""
    if not options.proxy or not parse_proxy(options.proxy).user:
        return None
    if terminal.somebody_is_there():
        given = terminal.asked_unseen(f"{say('Password of the proxy, not shown')}: ")
    else:
        given = next(iter(terminal.lines_from_standard_input()), "")
    return Secret(given) if given else None


def from_lines(lines: Sequence[str]) -> Credentials:
    access_key, secret_key, token, password = (*lines, "", "", "", "")[:4]
    if not access_key or not secret_key:
        raise InvalidInput(
            text("The keys are missing."),
            text(
                "Enter the access key and the secret key as two lines on standard input, or use --csv or "
                "--env. Keys cannot be passed as arguments."
            ),
        )
    return _lasting(
        Credentials(
            access_key, Secret(secret_key), Secret(token) if token else None, Secret(password) if password else None
        )
    )


def from_environment() -> Credentials:
    found = environment_keys()
    if found is None:
        raise InvalidInput(
            text("The environment variables contain no keys."),
            text("Set {access} and {secret}.", access=ACCESS, secret=SECRET),
        )
    return _lasting(found)


def _lasting(credentials: Credentials) -> Credentials:
    """What goes into the keyring must outlive the day."""
    if credentials.token:
        raise InvalidInput(
            text("Temporary keys expire and are not stored."),
            text(
                "Set {access}, {secret} and {token} in the environment, and add “--profile {name}” to a " "command.",
                access=ACCESS, secret=SECRET, token=TOKEN, name=ENVIRONMENT,
            ),
        )  # fmt: skip
    return credentials
