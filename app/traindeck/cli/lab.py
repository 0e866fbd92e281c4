"""`traindeck lab`: the Lab in the foreground, and the one in the background seen from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.assembly import lab_keeper
from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.main import Call
from traindeck.domain.errors import AppError, Conflict, InvalidInput, LocalTrouble, NotFound
from traindeck.domain.lab import LabDiskUsage, LabState
from traindeck.domain.storage.objects import count_words, size_words
from traindeck.domain.texts import CHINESE, say, spoken, text
from traindeck.lab import root_folder
from traindeck.lab.accounts import FILE, AccountRefused, Accounts, AccountsError, LabAccount, RefusedAccount
from traindeck.lab.ports import (
    LabAccountsDamaged,
    LabBusy,
    LabFaultsUnusable,
    LabStartError,
    PortInUse,
)
from traindeck.runtime.resources import resource
from traindeck.store.paths import Paths

if TYPE_CHECKING:
    from traindeck.lab.training.job_records import EventText


_USE_ANOTHER = text(
    "Free up disk space, grant yourself write permission, or use another folder (TRAINDECK_HOME, --root)."
)


def serve(call: Call) -> int:
    # The server is for who serves: the other commands look at the folder of the Lab and end.
    from traindeck.lab.server import FAULTS, LabOptions
    from traindeck.lab.server import serve as serve_lab

    asked = call.options
    root = _root(call)

    def announce(facts: dict[str, object]) -> None:
        if call.output.json_wanted:
            call.output.document(facts)
            return
        call.output.line(say("The Lab is running. Press Ctrl+C to stop it and its jobs."))
        call.output.line(f"  OBS        {facts['obs']}")
        call.output.line(f"  ModelArts  {facts['modelarts']}")
        call.output.line(f"  IAM        {facts['iam']}")
        call.output.line(say("Its keys are in {file}.", file=str(root / "accounts.json")))

    def warn(problem: EventText) -> None:
        call.output.note(_said(problem))

    try:
        options = LabOptions(
            root, announce, asked.port, asked.idle_exit, asked.owner_pipe, asked.faults, warn, asked.python
        )
        return serve_lab(options)
    except LabStartError as error:
        raise _in_our_words(error, root, asked.port, asked.faults or root / FAULTS) from error


def status(call: Call) -> int:
    root = _root(call)
    lab = root_folder.living_lab(root)
    held = lab_keeper.with_disk(root, lab_keeper.contents(root))
    total = held.disk_bytes
    if call.output.json_wanted:
        found = {**asdict(lab), "responding": isinstance(lab, root_folder.RunningLab)} if lab else {}
        found.pop("instance", None)  # of no use to anybody outside
        in_it = {**_counts(held), "total_bytes": total}
        call.output.document({"root": str(root), "running": lab is not None, **found, **in_it})
        return DONE
    if lab is None:
        call.output.line(say("No Lab is running in “{root}”.", root=str(root)))
    elif not isinstance(lab, root_folder.RunningLab):
        call.output.line(say("The Lab process {pid} is not responding.", pid=lab.pid))
    else:
        call.output.line(say("The Lab is running in “{root}”.", root=str(root)))
        rows = [("OBS", lab.obs), ("ModelArts", lab.modelarts), ("IAM", lab.iam)]
        rows += [(say("Process"), str(lab.pid)), (say("Started"), lab.started)]
        rows += [(say("Version"), lab.version), (say("Active jobs"), str(lab.live_jobs))]
        call.output.table(["", ""], rows)
    amount = say("Objects: {objects}, {size}. Jobs: {jobs}. On disk: {total}.", **_loss(held), total=size_words(total))
    call.output.line(amount)
    return DONE


def stop(call: Call) -> int:
    root = _root(call)
    sight = lab_keeper.seen(root)
    if sight.state is LabState.SILENT:
        raise lab_keeper.silent(sight)
    if sight.state is LabState.STOPPED:
        call.output.result({"root": str(root), "stopped": False}, say("No Lab is running in “{root}”.", root=str(root)))
        return DONE
    lab_keeper.end(root)
    call.output.result({"root": str(root), "stopped": True}, say("The Lab and its jobs were stopped."))
    return DONE


def reset(call: Call) -> int:
    root = _root(call)
    held = lab_keeper.contents(root)
    loss = _loss(held)
    refusal = text("This would empty the Lab. Objects: {objects}, {size}. Jobs: {jobs}.", **loss)
    question = say("Empty the Lab? Objects: {objects}, {size}. Jobs: {jobs}. This cannot be undone.", **loss)
    if not terminal.is_meant(call.options, refusal, question):
        call.output.note(say("Nothing was deleted."))
        return DONE
    lab_keeper.empty(root)
    call.output.result({"root": str(root), "removed": _counts(held)}, say("The Lab is empty."))
    return DONE


def engines(call: Call) -> int:
    """Every engine with the Python that runs it here; each Python is started once."""
    from traindeck.lab.training.catalogue import Catalogue
    from traindeck.lab.training.lab_settings import SettingsError
    from traindeck.lab.training.running.interpreters import Interpreters

    known = Catalogue(resource("lab", "catalogue.toml")).engines
    interpreters = Interpreters(_root(call))
    rows = interpreters.checked(known)
    try:
        unknown = interpreters.unknown(known)
    except SettingsError:
        unknown = []  # every row says so already
    if call.output.json_wanted:
        call.output.document(
            {
                "engines": [
                    {
                        "name": row.engine.name,
                        "version": row.engine.version,
                        "python": str(row.python or ""),
                        "python_version": row.version,
                        "problem": _said(row.problem),
                    }
                    for row in rows
                ],
                "unknown": unknown,
            }
        )
    else:
        call.output.table(
            [say("Engine"), say("Version"), say("Python"), ""],
            [
                (row.engine.name, row.engine.version, str(row.python or ""), _said(row.problem) or row.version)
                for row in rows
            ],
        )
    for name in unknown:
        call.output.note(say("lab.toml lists an engine the Lab does not have: {name}", name=name))
    return FAILED if unknown or any(row.problem for row in rows) else DONE


def _root(call: Call) -> Path:
    root: Path = call.options.root or Paths.for_user().lab
    return root.absolute()


def _counts(held: LabDiskUsage) -> dict[str, object]:
    return {name: getattr(held, name) for name in ("buckets", "objects", "object_bytes", "jobs")}


def _said(problem: EventText | None) -> str:
    if problem is None:
        return ""
    return problem.chinese if spoken() == CHINESE else problem.english


def _loss(held: LabDiskUsage) -> dict[str, object]:
    return {
        "objects": count_words(held.objects),
        "size": size_words(held.object_bytes),
        "jobs": count_words(held.jobs),
    }


def _in_our_words(error: LabStartError, root: Path, port: int, rules: Path) -> AppError:
    if isinstance(error, LabBusy):
        return Conflict(
            text("A Lab is already running on “{root}”.", root=str(root)),
            text("Use it, stop it, or specify another folder with --root."),
            error.why,
        )
    if isinstance(error, LabAccountsDamaged):
        return _damaged_accounts(root, error.why)
    if isinstance(error, LabFaultsUnusable):
        return InvalidInput(
            text("The Lab cannot follow the fault rules in “{file}”: {reason}", file=str(rules), reason=error.why),
            text("Correct the file, or start without it."),
            str(error),
        )
    if isinstance(error, PortInUse) and port:
        return Conflict(
            text("The Lab cannot listen on port {port} and the next one: they are in use.", port=port),
            text("Close the program that uses them, or specify another --port."),
            error.why,
        )
    return LocalTrouble(
        text("The Lab cannot use “{root}”: {reason}", root=str(root), reason=error.why),
        _USE_ANOTHER,
        str(error),
    )


# Its accounts


def account(call: Call) -> int:
    """Who may ask the Lab, beside its own first account."""
    root = _root(call)
    try:
        return _OF_ACCOUNTS[call.options.account_action](call, root)
    except AccountRefused as error:
        raise _refused(error) from error
    except AccountsError as error:
        raise _damaged_accounts(root, str(error)) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise LocalTrouble(
            text(
                "The accounts of the Lab in “{root}” cannot be read or changed: {reason}", root=str(root), reason=reason
            ),
            _USE_ANOTHER,
            str(error),
        ) from error


def _damaged_accounts(root: Path, detail: str) -> LocalTrouble:
    return LocalTrouble(
        text("“{file}” is damaged, so the accounts of the Lab cannot be read.", file=str(root / FILE)),
        text(
            "Restore the file from a copy. Without it the Lab creates new keys, and its contents belong to no account."
        ),
        detail,
    )


def _add(call: Call, root: Path) -> int:
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Accounts(root).add(call.options.name)
    words = say(
        "Created account “{name}” with access key {key}. The secret key is in {file}.",
        name=made.name, key=made.access_key, file=str(root / FILE),
    )  # fmt: skip
    # Whoever asks for JSON is a program that is about to use the keys.
    call.output.result({**_shown(made), "secret_key": made.secret_key}, words)
    return DONE


def _ls(call: Call, root: Path) -> int:
    accounts = Accounts(root).all() if (root / FILE).exists() else ()
    if call.output.json_wanted:
        call.output.document([_shown(account) for account in accounts])
    else:
        rows = [(account.name, account.access_key, account.domain_id) for account in accounts]
        call.output.table((say("NAME"), say("ACCESS KEY"), say("ID")), rows)
    return DONE


def _remove(call: Call, root: Path) -> int:
    name = call.options.name
    if not (root / FILE).exists():
        raise AccountRefused(RefusedAccount.UNKNOWN, name)
    Accounts(root).remove(name)
    call.output.result({"removed": name}, say("Removed account “{name}”. Its data is kept.", name=name))
    return DONE


def _shown(account: LabAccount) -> dict[str, object]:
    names = ("name", "access_key", "project_id", "domain_id", "user_id")
    return {name: getattr(account, name) for name in names}


def _refused(error: AccountRefused) -> AppError:
    match error.reason:
        case RefusedAccount.UNKNOWN:
            return NotFound(
                text("The Lab has no account “{name}”.", name=error.name),
                text("“traindeck lab account ls” lists the accounts."),
            )
        case RefusedAccount.TAKEN:
            return Conflict(
                text("The Lab already has an account “{name}”.", name=error.name),
                text("Specify another name, or remove that account first."),
            )
        case RefusedAccount.FIRST:
            return Conflict(
                text("The account “{name}” belongs to the Lab and cannot be removed.", name=error.name),
                text("To start over, delete the folder of the Lab with everything in it."),
            )
        case RefusedAccount.BAD_NAME:
            return InvalidInput(
                text("“{name}” cannot be used as an account name.", name=error.name),
                text("A name is 1 to 32 letters, digits, dots, hyphens or underscores."),
            )


_OF_ACCOUNTS: dict[str, Callable[[Call, Path], int]] = {"add": _add, "ls": _ls, "remove": _remove}
COMMANDS: dict[str, Callable[[Call], int]] = {
    "serve": serve, "status": status, "stop": stop, "reset": reset, "engines": engines, "account": account,
}  # fmt: skip
