"""`traindeck obs policy`: who may reach a bucket."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.obs.buckets import agree, bucket_of
from traindeck.domain.errors import AppError, InvalidInput, NoRight, NotOffered
from traindeck.domain.storage.access import (
    Acl,
    CannedAcl,
    Exposure,
    Grant,
    Grantees,
    abilities_words,
    exposure,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import Template, template_policy
from traindeck.domain.storage.policy_checks import denials_of_owner, policy_findings
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from traindeck.services.storage.sdk.access import ObsAccess


Answer = TypeVar("Answer")


async def policy(call: Call) -> int:
    path, options = bucket_of(call), call.options
    _check_words(call)
    text_given = terminal.text_of(options.file) if options.file else ""
    async with call.accounts() as core:
        access = (await core.connections.open(call.profile(core))).access
        if options.what == "show":
            return await _show(call, access, path)
        if options.acl:
            if (canned := CannedAcl(options.template)) is not CannedAcl.PRIVATE:
                agree(call, text("Anyone on the internet will have access to {path}.", path=str(path)))
            await access.set_canned_acl(path, canned)
        elif options.what == "delete":
            await _set(call, access, path, "")
        elif options.file:
            await _set(call, access, path, text_given)
        else:
            template = Template(options.template)
            await _set(call, access, path, template_policy(template, path.bucket, access.form))
            if template is Template.PRIVATE and (acl := await access.acl(path)).public_grants:
                await access.set_acl(path, acl.without_public())
        found = await access.exposure(path.bucket)
    call.output.result({"bucket": path.bucket, **_exposure_document(found)}, say(found.sentence))
    return DONE


def _check_words(call: Call) -> None:
    options = call.options
    if options.what != "set":
        if options.template or options.file:
            raise InvalidInput(
                text("“{what}” accepts neither a template nor a file.", what=options.what), text("Enter “set” instead.")
            )
        if options.what == "delete" and options.acl:
            raise InvalidInput(
                text("A list of grants cannot be deleted."), text("To make it private, enter “set private --acl”.")
            )
    elif bool(options.template) == bool(options.file):
        names = ", ".join(template.value for template in Template)
        raise InvalidInput(
            text("“set” needs either a template or a file."),
            text("Templates: {names}; or --file, “-” for standard input.", names=names),
        )
    elif options.acl and (options.file or options.template not in list(CannedAcl)):
        names = ", ".join(canned.value for canned in CannedAcl)
        raise InvalidInput(text("Grants can only be set by a template."), text("Available: {names}.", names=names))


async def _show(call: Call, access: ObsAccess, path: ObjectPath) -> int:
    policy_now, trouble = await _readable(access.policy(path.bucket))
    acl, acl_trouble = await _readable(access.acl(path))
    if trouble is not None and acl_trouble is not None:
        raise trouble
    found = await access.exposure(path.bucket)
    if call.output.json_wanted:
        call.output.document(
            {
                "bucket": path.bucket,
                **_exposure_document(found),
                "policy_known": trouble is None,
                "policy": json.loads(policy_now) if policy_now else None,
                "acl": None if acl is None else _acl_document(acl),
            }
        )
        return DONE
    call.output.line(say(found.sentence))
    if found.template is not None:
        call.output.line(say("Template: {name}", name=found.template.value))
    for problem in (trouble, acl_trouble):
        if problem is not None:
            call.output.note(problem.sentence())
    if acl is not None:
        rows = [
            [_who(grant, acl), grant.permission.value, say("Yes") if grant.delivered else ""] for grant in acl.grants
        ]
        call.output.table([say("Grantee"), say("Permission"), say("Applies to objects")], rows)
    if policy_now and not call.options.acl:
        call.output.line(json.dumps(json.loads(policy_now), ensure_ascii=False, indent=2))
    return DONE


async def _set(call: Call, access: ObsAccess, path: ObjectPath, wanted: str) -> None:
    findings = policy_findings(wanted, path.bucket, access.form)
    errors = [finding for finding in findings if finding.is_error]
    for finding in findings[1:] if errors else findings:
        call.output.note(say(finding.sentence))
    if errors:
        raise InvalidInput(errors[0].sentence, text("Nothing was submitted."))
    acl, _ = await _readable(access.acl(path))
    now, before = await access.exposure(path.bucket), await access.policy(path.bucket)
    known = denials_of_owner(path.bucket, before, acl)
    for finding in denials_of_owner(path.bucket, wanted, acl):
        if finding not in known:
            agree(call, finding.sentence)
    opened = exposure(path.bucket, wanted, acl).anybody - now.anybody
    if opened:
        what = abilities_words(opened)
        agree(call, text("Anyone on the internet will be able to {what}, without an account.", what=what))
    await access.set_policy(path.bucket, wanted)


async def _readable(asking: Awaitable[Answer]) -> tuple[Answer | None, AppError | None]:
    try:
        return await asking, None
    except (NoRight, NotOffered) as error:
        return None, error


def _exposure_document(found: Exposure) -> dict[str, object]:
    return {
        "openness": found.openness,
        "public": found.is_public,
        "anybody": sorted(ability.value for ability in found.anybody),
        "template": found.template,
    }


def _acl_document(acl: Acl) -> dict[str, object]:
    grants = [
        {
            "grantee": grant.kind,
            "account": grant.account or None,
            "permission": grant.permission,
            "delivered": grant.delivered,
        }
        for grant in acl.grants
    ]
    return {"owner": acl.owner, "grants": grants}


def _who(grant: Grant, acl: Acl) -> str:
    if grant.kind is not Grantees.ACCOUNT:
        return grant.kind.value
    return say("The owner ({account})", account=grant.account) if acl.is_of_owner(grant) else grant.account
