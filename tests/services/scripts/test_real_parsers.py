"""What is read of a script is what its own parser says when the script is run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from support.script_folders import CORPUS, tree_in
from traindeck.domain.scripts.arguments import ArgumentKind, ScriptArgument
from traindeck.services.scripts.arguments import arguments_document, script_arguments

FOLDER = CORPUS / "arguments"
NOT_RUN = {"hf_dataclasses.py", "tf_flags.py"}
"""They need what the tests do not have."""
SCRIPTS = [
    *sorted(path.name for path in FOLDER.glob("*.py") if path.name not in NOT_RUN),
    "package/train.py",
    "srclayout/train.py",
]

_SWITCHES = {
    "_StoreTrueAction", "_StoreFalseAction", "_StoreConstAction", "_AppendConstAction", "_CountAction",
    "BooleanOptionalAction", "store_true", "store_false",
}  # fmt: skip
_KINDS = {
    "int": ArgumentKind.WHOLE, "integer": ArgumentKind.WHOLE, "integer range": ArgumentKind.WHOLE,
    "float": ArgumentKind.NUMBER, "float range": ArgumentKind.NUMBER,
    "str": ArgumentKind.TEXT, "string": ArgumentKind.TEXT, "text": ArgumentKind.TEXT, "path": ArgumentKind.TEXT,
    "choice": ArgumentKind.TEXT, "string enum": ArgumentKind.TEXT, "Path": ArgumentKind.TEXT,
    "bool": ArgumentKind.YES_NO, "boolean": ArgumentKind.YES_NO,
    "comma separated list of strings": ArgumentKind.LIST, "multi int": ArgumentKind.LIST,
}  # fmt: skip
_OF_ABSL = re.compile(r"^<[^>]*>: |;\s+repeat this option to.*", re.DOTALL)
"""It writes the choices before the help, and its own words behind."""
OWN_TYPES = {
    "str2bool": ArgumentKind.YES_NO, "positive": ArgumentKind.WHOLE, "fraction": ArgumentKind.NUMBER,
    "lower": ArgumentKind.TEXT, "flip": ArgumentKind.YES_NO, "large": ArgumentKind.WHOLE, "sizes": ArgumentKind.TEXT,
}  # fmt: skip
"""By the function of the script, or the argument that has one without a name."""


@pytest.fixture(scope="module")
def real() -> dict[str, list[dict[str, Any]]]:
    """All scripts in one program of their own."""
    program = Path(__file__).parents[2] / "support" / "asked_parsers.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), *SCRIPTS],
        cwd=FOLDER, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return found


def read(script: str) -> list[dict[str, Any]]:
    """In the form of the document that the command prints."""
    folder, _, boot = script.rpartition("/")
    found = script_arguments(tree_in(FOLDER / folder, boot))
    document: Any = json.loads(json.dumps(arguments_document(found)))
    return list(document["arguments"])


def _key(one: dict[str, Any]) -> str:
    return f"{one['command']} {one['dest']}"


@pytest.mark.parametrize("script", SCRIPTS)
def test_it_is_what_the_parser_holds(real: dict[str, list[dict[str, Any]]], script: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = {_key(one): one for one in read(script)}
    theirs = {_key(one): one for one in real[script]}
    assert list(ours) == list(theirs) or set(ours) == set(theirs)
    for key, their in theirs.items():
        our = ours[key]
        assert set(their["flags"]) <= set(our["flags"]), key
        assert our["type"] == _kind(their), key
        if not our["default_source"]:
            assert our["default"] == their["default"], key
        assert our["choices"] == their["choices"], key
        assert our["required"] == their["required"], key
        if their["help"] is not None:
            assert our["help"].split() == _OF_ABSL.sub("", their["help"]).split(), key


def _kind(their: dict[str, Any]) -> str:
    if their["action"] in _SWITCHES or their["nargs"] == 0:
        return ArgumentKind.SWITCH.value
    nargs = their["nargs"]
    if nargs in ("*", "+") or (isinstance(nargs, int) and their["action"] != "store") or their["action"] in (
        "_AppendAction", "_ExtendAction",
    ):  # fmt: skip
        return ArgumentKind.LIST.value
    if their["action"] == "fire":
        return _of_default(their)
    name = their["type"]
    if name is None:
        return OWN_TYPES.get(their["dest"], ArgumentKind.TEXT).value
    return (_KINDS.get(name) or OWN_TYPES.get(name) or ArgumentKind.UNKNOWN).value


def _of_default(their: dict[str, Any]) -> str:
    default = their["default"]
    kind = str(their["type"] or ("unknown" if default is None else type(default).__name__))
    return {"str": "text"}.get(kind, kind)


def test_enough_of_them_are_run() -> None:
    assert len(SCRIPTS) >= 30


def test_all_that_is_read_names_its_place() -> None:
    for script in SCRIPTS:
        folder, _, boot = script.rpartition("/")
        for one in script_arguments(tree_in(FOLDER / folder, boot)).arguments:
            assert _says(one, FOLDER / folder), one


def _says(one: ScriptArgument, folder: Path) -> bool:
    lines = (folder / one.file).read_text(encoding="utf-8").splitlines()
    return 0 < one.line <= len(lines) and bool(lines[one.line - 1].strip())
