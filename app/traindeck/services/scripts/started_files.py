"""What a script starts besides what it imports: the Python and shell files on its command lines."""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from collections.abc import Iterator

from traindeck.services.scripts.imports import folder_of

CONFIGS = (".yaml", ".yml", ".json")
_SEPARATORS = frozenset({"&&", "||", ";", "|", "&", "(", ")", "{", "}", "then", "do", "else", "!", "if", "while"})
_ANY = "$X"
"""Of a command line in Python what is not known, as a shell would write it."""
_VARIABLE = re.compile(r"\$\{?[A-Za-z_0-9]+\}?/?")
_OWN_FOLDER = re.compile(r"\$\(\s*(?:pwd|dirname\s[^()`]*)\)|`\s*(?:pwd|dirname\s[^`]*)`")
_GONE_TO = re.compile(r"\$\(\s*cd\s+([^()&;|]+?)\s*(?:&&|;)\s*pwd[^()]*\)")
_STARTERS = frozenset({
    "system", "popen", "run", "call", "check_call", "check_output", "Popen", "getoutput", "run_path", "execv", "execvp",
    "execl", "execlp",
})  # fmt: skip
"""By the last part of the name: modules are imported under names of all kinds."""
_MOST_VALUES = 20
"""Of a command line that has a name of its own."""


def started_by_shell(words: str, path: str) -> Iterator[str]:
    """The files that may be meant, below the code folder; what is not there is for the caller to drop."""
    for command, folders in _of_shell(words, path):
        yield from _of_command(command, folders)


def configs_by_shell(words: str, path: str) -> Iterator[str]:
    """Configuration files on its command lines, and those it gives a variable."""
    for command, folders in _of_shell(words, path):
        for word in command:
            name = word.rpartition("=")[2]
            if name.endswith(CONFIGS):
                yield from (place for folder in folders if (place := _below(folder, name)))


def _of_shell(words: str, path: str) -> Iterator[tuple[list[str], list[str]]]:
    """Each command, and the folders it may run in."""
    here = folder_of(path)
    folders = ["", here]
    for line in _joined(_of_here(words)):
        for command in _commands(line):
            if command[0] == "cd" and len(command) > 1:
                inside = _below(here, command[1])
                folders += [f"{inside}/"] if inside else []
            yield command, folders


def started_by_python(module: ast.Module, path: str) -> Iterator[str]:
    """Command lines that are written out in calls which start something."""
    folders = ["", folder_of(path)]
    calls: list[ast.Call] = []
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and node.args and _last_name(node.func) in _STARTERS:
            calls.append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
    for call in calls:
        written = call.args[0]
        commands = values.get(written.id, [])[:_MOST_VALUES] if isinstance(written, ast.Name) else [written]
        for command in commands:
            yield from _of_command(_words([command, *call.args[1:]]), folders)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _words(values: list[ast.expr]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found += _split(value.value)
        elif isinstance(value, ast.List | ast.Tuple):
            found += [word for each in value.elts for word in _words([each]) or ["?"]]
        elif isinstance(value, ast.JoinedStr):
            found += _split("".join(str(p.value) if isinstance(p, ast.Constant) else _ANY for p in value.values))
        elif isinstance(value, ast.Attribute) and value.attr == "executable":
            found.append("python")
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            found += _sum(value)
        elif (place := _path_words(value)) != _ANY:
            found.append(place)
    return found


def _sum(value: ast.BinOp) -> list[str]:
    """Of lists the words of both; of texts one text."""
    parts: list[ast.expr] = []
    while isinstance(value.left, ast.BinOp) and isinstance(value.left.op, ast.Add):
        parts.append(value.right)
        value = value.left
    parts = [value.left, value.right, *reversed(parts)]
    if any(isinstance(part, ast.List | ast.Tuple) for part in parts):
        return [word for part in parts for word in _words([part])]
    known = (part.value if isinstance(part, ast.Constant) else _ANY for part in parts)
    return _split("".join(str(part) for part in known))


def _path_words(value: ast.expr) -> str:
    """A path put together from parts: what is not known of it stands there as a variable."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        return f"{_path_words(value.left)}/{_path_words(value.right)}"
    if isinstance(value, ast.Call) and _last_name(value.func) == "join":
        return "/".join(_path_words(part) for part in value.args)
    if isinstance(value, ast.Call) and _last_name(value.func) in ("str", "Path", "fspath", "abspath") and value.args:
        return _path_words(value.args[0])
    return _ANY


def _of_command(command: list[str], folders: list[str]) -> Iterator[str]:
    """Every word that looks like a script: launchers have too many options of their own to know them all."""
    is_module = False
    for word in command:
        if is_module:
            is_module = False
            name = word.replace(".", "/")
            yield from (f"{folder}{name}{end}" for folder in folders for end in (".py", "/__main__.py"))
        elif word == "-m":
            is_module = True
        elif word.endswith((".py", ".sh")) and not word.startswith("-"):
            yield from (place for folder in folders if (place := _below(folder, word)))


def _below(folder: str, word: str) -> str:
    """Below the code folder; a variable before it most often is that folder. Empty: it is elsewhere."""
    word = _VARIABLE.sub("", word.replace("\\", "/"))
    if not word or "$" in word or "?" in word:
        return ""
    if word.startswith("/"):
        _, found, word = word.partition("/user-job-dir/")
        if not found:
            return ""
        word = word.partition("/")[2]
    place = posixpath.normpath(folder + word)
    return "" if place.startswith("..") or place in (".", "/") else place


def _of_here(words: str) -> str:
    """What a shell file asks for its own folder, as one variable: quoted or not, it is split at no blank."""
    words = _OWN_FOLDER.sub("$HERE", words)
    return _GONE_TO.sub(lambda found: found[1], words)


def _joined(words: str) -> Iterator[str]:
    held = ""
    for line in words.splitlines():
        if line.rstrip().endswith("\\"):
            held += line.rstrip()[:-1] + " "
            continue
        yield held + line
        held = ""
    if held:
        yield held


def _commands(line: str) -> Iterator[list[str]]:
    command: list[str] = []
    for word in _split(line):
        if word in _SEPARATORS:
            if command:
                yield command
            command = []
        else:
            command.append(word)
    if command:
        yield command


def _split(line: str) -> list[str]:
    try:
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        return list(words)
    except ValueError:
        return line.split()
