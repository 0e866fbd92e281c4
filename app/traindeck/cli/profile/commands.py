"""`traindeck profile`: accounts and their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.main import DONE, Call
from traindeck.cli.profile import keys
from traindeck.domain.accounts.profiles import Profile, Provider, Signature, parse_proxy
from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from traindeck.domain.accounts.profiles import Check

_CREDENTIALS = 3
_SERVICE = 5


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
                text("--keep-keys is for an account that is there already."), text("Give it together with --replace.")
            )
        password = keys.proxy_password(asked)
        async with call.accounts() as core:
            profiles = core.profile_service()
            kept = await profiles.change(profile, password)
            current = profiles.current
        return _report(call, kept, current)
    credentials = keys.gathered(asked)
    async with call.accounts() as core:
        profiles = core.profile_service()
        kept = await profiles.add(profile, credentials, replace_old=asked.replace)
        current, keyring = profiles.current, await profiles.keyring()
    call.output.note(say("The keys are kept in {keyring}.", keyring=keyring))
    return _report(call, kept, current)


def _report(call: Call, kept: Profile, current: str) -> int:
    words = say("Added “{name}”. “traindeck profile check {name}” tries its keys.", name=kept.name)
    if current != kept.name:
        words += "\n" + say("“traindeck profile use {name}” makes it the current one.", name=kept.name)
    call.output.result(_document(kept, current), words)
    return DONE


async def show_all(call: Call) -> int:
    async with call.accounts() as core:
        run_service = core.profile_service()
        profiles, current = run_service.all(), run_service.current
    if call.output.json_wanted:
        call.output.document([_document(profile, current) for profile in profiles])
        return DONE
    rows = [
        (
            "*" if profile.name == current else "",
            profile.name,
            profile.provider.value,
            profile.region,
            profile.key_hint or "–",
            profile.obs_endpoint or "–",
        )
        for profile in profiles
    ]
    call.output.table(["", say("Name"), say("Provider"), say("Region"), say("Key"), say("OBS endpoint")], rows)
    return DONE


async def use(call: Call) -> int:
    name = call.options.name
    async with call.accounts() as core:
        await core.profile_service().use(name)
    call.output.result({"name": name, "current": True}, say("“{name}” is the current profile now.", name=name))
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
                "ends": check_up.expires.isoformat() if check_up.expires else None,
                "checks": [_finding(check) for check in check_up.checks],
            }
        )
    else:
        marks = {True: say("ok"), False: say("wrong"), None: say("not checked")}
        call.output.table(
            [say("Check"), say("Result"), say("Found")],
            [(say(check.title), marks[check.passed], say(check.fact)) for check in check_up.checks],
        )
    call.output.note(say(check_up.verdict))
    for check in check_up.checks:
        if check.hint is not None:
            call.output.note(f"{say(check.title)}: {say(check.hint)}")
    if check_up.accepted is False or any(check.passed is False for check in check_up.checks):
        return _CREDENTIALS
    return _SERVICE if any(check.may_try_again for check in check_up.checks) else DONE


async def remove(call: Call) -> int:
    name = call.options.name
    question = say("Remove “{name}” and its keys from this computer?", name=name)
    if terminal.somebody_is_there() and not call.options.yes and not terminal.confirmed(question):
        call.output.note(say("Nothing was removed."))
        return DONE
    async with call.accounts() as core:
        keys_are_gone = await core.profile_service().remove(name)
    words = say("Removed “{name}” and its keys.", name=name) if keys_are_gone else say("Removed “{name}”.", name=name)
    call.output.result({"name": name, "removed": True, "keys_removed": keys_are_gone}, words)
    if not keys_are_gone:
        call.output.note(
            say("No keyring answered: the entry “profile:{name}” of TrainDeck may be left in it.", name=name)
        )
    return DONE


COMMANDS = {"add": add, "list": show_all, "use": use, "check": check, "remove": remove}


def _document(profile: Profile, current: str) -> dict[str, object]:
    return {
        "name": profile.name,
        "current": profile.name == current,
        "provider": profile.provider.value,
        "region": profile.region,
        "obs_endpoint": profile.obs_endpoint,
        "modelarts_endpoint": profile.modelarts_endpoint,
        "iam_endpoint": profile.iam_endpoint,
        "project_id": profile.project_id,
        "signature": profile.signature.value,
        "path_style": profile.path_style,
        "ca_file": profile.ca_file,
        "proxy": profile.proxy,
        "work_in": profile.work_in,
        "key_hint": profile.key_hint,
    }


def _finding(check: Check) -> dict[str, object]:
    return {
        "id": check.id,
        "title": say(check.title),
        "passed": check.passed,
        "fact": say(check.fact),
        "hint": say(check.hint) if check.hint is not None else "",
    }
