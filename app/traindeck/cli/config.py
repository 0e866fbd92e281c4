"""`traindeck config import`: the accounts of rclone and obsutil."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.main import Call
from traindeck.cli.profile import from_lines
from traindeck.domain.accounts.imports import Tool
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from traindeck.services.accounts.imports import AccountImports, Findings, Offer


async def import_(call: Call) -> int:
    asked = call.options
    tools = [Tool(asked.tool)] if asked.tool else [*Tool]
    if asked.file and not asked.tool:
        raise InvalidInput(
            text("--file needs the program the file belongs to."), text("Specify “rclone” or “obsutil” before it.")
        )
    async with call.accounts() as core:
        imports = core.account_imports()
        findings = await imports.find(tools, asked.file, dict(asked.names))
        wanted = [offer for offer in findings.offers if not asked.only or offer.account.remote in asked.only]
        _show(call, findings, wanted)
        todo = [offer for offer in wanted if offer.standing == "new" or (offer.standing == "taken" and asked.replace)]
        added: list[str] = []
        is_meant = bool(todo) and not asked.dry_run and _is_meant(call)
        if is_meant:
            added = await _add(call, imports, todo)
    if call.output.json_wanted:
        call.output.document(_document(findings, wanted, added))
    elif todo and not is_meant and not asked.dry_run:
        call.output.note(say("No account was added."))
    if asked.dry_run or (todo and not is_meant):
        return DONE
    is_missing = any(offer.name not in added for offer in wanted if offer in todo or offer.standing == "taken")
    return FAILED if is_missing else DONE


def _is_meant(call: Call) -> bool:
    question = say("Add these accounts, with their keys in the keyring?")
    return terminal.is_meant(call.options, text("Accounts were found, but none was added."), question)


async def _add(call: Call, imports: AccountImports, todo: Sequence[Offer]) -> list[str]:
    given = _keys_given(call, [offer for offer in todo if offer.account.credentials is None])
    added = []
    for offer in todo:
        credentials = offer.account.credentials or given.get(offer.name)
        if credentials is not None:
            kept = await imports.add(offer, credentials, replace_old=call.options.replace)
            added.append(kept.name)
            call.output.note(say("Added “{name}”. “traindeck profile check {name}” checks its keys.", name=kept.name))
    return added


def _keys_given(call: Call, offers: Sequence[Offer]) -> Mapping[str, Credentials]:
    """Of those whose keys could not be read: asked for at a terminal, else two lines each on standard input."""
    found: dict[str, Credentials] = {}
    if not offers:
        return found
    is_asked = terminal.somebody_is_there()
    lines = [] if is_asked else terminal.lines_from_standard_input()
    for number, offer in enumerate(offers):
        if is_asked:
            call.output.note(say("Enter the keys of “{name}”, or leave empty to skip it.", name=offer.name))
            pair = [terminal.asked(f"{say('Access key (AK)')}: ")]
            pair += [terminal.asked_unseen(f"{say('Secret key (SK), not shown')}: ")] if pair[0] else []
        else:
            pair = lines[2 * number : 2 * number + 2]
        if any(pair):
            found[offer.name] = from_lines(pair)
        else:
            call.output.note(
                say(
                    "“{name}” was not added: its keys are required as two lines on standard input. "
                    "“traindeck profile add” accepts them too.",
                    name=offer.name,
                )
            )
    return found


def _show(call: Call, findings: Findings, wanted: Sequence[Offer]) -> None:
    """Never a secret."""
    output = call.output
    for tool, file in findings.files:
        output.note(f"{tool.value}: {file}")
    if not output.json_wanted and wanted:
        heads = [say("Name"), say("From"), say("Region"), say("OBS endpoint"), say("Key"), say("State")]
        output.table(heads, [_row(call, offer) for offer in wanted], firm=frozenset({0, 3}))
    for one in findings.left_out:
        output.note(say("Skipped “{name}” of {tool}. {reason}", name=one.remote, tool=one.tool, reason=one.reason))
    for offer in wanted:
        if offer.account.no_keys is not None:
            output.note(f"{offer.name}: {say(offer.account.no_keys)}")
    if not wanted:
        output.note(say("No account to add was found."))
    if not call.options.replace and any(offer.standing == "taken" for offer in wanted):
        output.note(
            say(
                "If another account has this name, replace it with --replace, or specify a new name with "
                "--name OLD=NEW."
            )
        )


def _row(call: Call, offer: Offer) -> Sequence[str]:
    account = offer.account
    profile = account.profile
    found = {
        "new": say("new"),
        "known": say("already exists"),
        "taken": say("replaces an account of this name") if call.options.replace else say("name in use"),
    }
    key = account.credentials.hint if account.credentials else "–"
    return profile.name, account.tool.value, profile.region, profile.obs_url, key, found[offer.standing]


def _document(findings: Findings, wanted: Sequence[Offer], added: Sequence[str]) -> dict[str, object]:
    return {
        "files": [{"tool": tool.value, "file": str(file)} for tool, file in findings.files],
        "accounts": [
            {
                "name": offer.name,
                "tool": offer.account.tool.value,
                "remote": offer.account.remote,
                "region": offer.account.profile.region,
                "obs_endpoint": offer.account.profile.obs_url,
                "path_style": offer.account.profile.path_style,
                "signature": offer.account.profile.signature.value,
                "key": offer.account.credentials.hint if offer.account.credentials else "",
                "found": offer.standing.value,
                "added": offer.name in added,
            }
            for offer in wanted
        ],
        "left_out": [
            {"remote": one.remote, "tool": one.tool.value, "reason": say(one.reason)} for one in findings.left_out
        ],
    }
