"""`traindeck lab account`: who may ask the Lab, beside its own first account."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from traindeck.cli.main import DONE, Call
from traindeck.domain.errors import AppError, Conflict, InvalidInput, LocalTrouble, NotFound
from traindeck.domain.texts import say, text
from traindeck.lab.accounts import (
    FILE,
    AccountRefused,
    Accounts,
    AccountsError,
    LabAccount,
    RefusedAccount,
)
from traindeck.store.paths import Paths


def run(call: Call) -> int:
    root = (call.options.root or Paths.for_user().lab).absolute()
    try:
        return COMMANDS[call.options.account_action](call, root)
    except AccountRefused as error:
        raise _in_our_words(error) from error
    except AccountsError as error:
        raise damaged_accounts(root, str(error)) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise LocalTrouble(
            text(
                "The accounts of the Lab in “{root}” cannot be read or changed: {reason}", root=str(root), reason=reason
            ),
            text(
                "Free the disk, give yourself the right to write there, or use another folder (TRAINDECK_HOME, --root)."
            ),
            str(error),
        ) from error


def damaged_accounts(root: Path, detail: str) -> LocalTrouble:
    return LocalTrouble(
        text("“{file}” is damaged, so the Lab does not know its accounts.", file=str(root / FILE)),
        text("Put back a copy of it: without the file the Lab makes new keys, and nobody owns what it holds."),
        detail,
    )


def _add(call: Call, root: Path) -> int:
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Accounts(root).add(call.options.name)
    words = say(
        "The account “{name}” was made; its access key is {key}. The secret key is in {file}.",
        name=made.name, key=made.access_key, file=str(root / FILE),
    )  # fmt: skip
    # Whoever asks for JSON is a program that is about to use the keys.
    call.output.result({**_shown(made), "secret_key": made.secret_key}, words)
    return DONE


def _ls(call: Call, root: Path) -> int:
    accounts = Accounts(root).all() if (root / FILE).exists() else ()
    if call.output.json_wanted:
        call.output.document([_shown(account) for account in accounts])
        return DONE
    rows = [(account.name, account.access_key, account.domain_id) for account in accounts]
    call.output.table((say("NAME"), say("ACCESS KEY"), say("ID")), rows)
    return DONE


def _remove(call: Call, root: Path) -> int:
    name = call.options.name
    if not (root / FILE).exists():
        raise AccountRefused(RefusedAccount.UNKNOWN, name)
    Accounts(root).remove(name)
    call.output.result({"removed": name}, say("The account “{name}” was removed. What it owned stays.", name=name))
    return DONE


def _shown(account: LabAccount) -> dict[str, object]:
    return {
        "name": account.name,
        "access_key": account.access_key,
        "project_id": account.project_id,
        "domain_id": account.domain_id,
        "user_id": account.user_id,
    }


def _in_our_words(error: AccountRefused) -> AppError:
    match error.reason:
        case RefusedAccount.UNKNOWN:
            return NotFound(
                text("The Lab has no account “{name}”.", name=error.name),
                text("“traindeck lab account ls” lists them."),
            )
        case RefusedAccount.TAKEN:
            return Conflict(
                text("The Lab has an account “{name}” already.", name=error.name),
                text("Take another name, or remove that account first."),
            )
        case RefusedAccount.FIRST:
            return Conflict(
                text("The account “{name}” is the Lab's own and stays.", name=error.name),
                text("Remove the folder of the Lab to be rid of it with all it holds."),
            )
        case RefusedAccount.BAD_NAME:
            return InvalidInput(
                text("“{name}” cannot be the name of an account.", name=error.name),
                text("A name is 1 to 32 letters, digits, dots, hyphens or underscores."),
            )


COMMANDS: dict[str, Callable[[Call, Path], int]] = {"add": _add, "ls": _ls, "remove": _remove}
