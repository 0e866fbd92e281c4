"""`traindeck job template`: forms kept under a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job.form_files import read_form
from traindeck.cli.main import Call
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.form.job_template import JobTemplate, template_of
from traindeck.domain.texts import Text, say, text
from traindeck.runtime.files import text_in

if TYPE_CHECKING:
    from traindeck.store.templates import TemplateStore


async def template(call: Call) -> int:
    async with call.accounts() as core:
        store = core.templates
        if call.options.what != "list" and not call.options.name:
            raise _incomplete(text("Enter the name of the template."), call.options.what)
        match call.options.what:
            case "save":
                return await _save(call, store)
            case "show":
                found = await store.existing(call.options.name)
                call.output.result(_document(found) | {"job_file": found.source}, found.source.rstrip("\n"))
            case "remove":
                await store.remove(call.options.name)
                words = say("Removed the template “{name}”.", name=call.options.name)
                call.output.result({"template": call.options.name, "removed": True}, words)
            case _:
                await _list(call, store)
    return DONE


def _incomplete(words: Text, what: str) -> InvalidInput:
    asked = f"{what} NAME FILE" if what == "save" else f"{what} NAME"
    return InvalidInput(words, text("Example: traindeck job template {asked}", asked=asked))


async def _save(call: Call, store: TemplateStore) -> int:
    if call.options.file is None:
        raise _incomplete(text("Enter the job file to save."), "save")
    path, _ = read_form(call.options.file)
    locks = [lock for lock in call.options.lock if lock]
    if call.options.replace and not call.options.lock:
        before = next((one for one in await store.all() if one.name == call.options.name), None)
        locks = _places(before) if before is not None else []
    made = template_of(call.options.name, text_in(path), locks)
    await store.save(made, replaces=call.options.replace)
    if made.locked and not call.options.lock:
        call.output.note(say("Still locked: {names}. Use --lock to change that.", names=_locked(made)))
    call.output.result(_document(made), say("Saved the template “{name}”.", name=made.name))
    return DONE


async def _list(call: Call, store: TemplateStore) -> None:
    found = await store.all()
    if call.output.json_wanted:
        call.output.document([_document(one) for one in found])
    elif found:
        rows = [(one.name, one.spec.engine_version or one.spec.image, one.spec.flavor, _locked(one)) for one in found]
        call.output.table([say("Name"), say("Engine"), say("Specification"), say("Locked")], rows)
    else:
        call.output.note(say("No templates yet. “traindeck job template save NAME FILE” saves one."))


def _document(found: JobTemplate) -> dict[str, object]:
    return {"template": found.name, "locked": _places(found)}


def _locked(found: JobTemplate) -> str:
    return ", ".join(_places(found))


def _places(found: JobTemplate) -> list[str]:
    """The locked keys, as --lock takes them."""
    return [BY_NAME[name].table if BY_NAME[name].is_table else BY_NAME[name].place for name in found.locked]
