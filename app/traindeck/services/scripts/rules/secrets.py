"""Keys and passwords written into code. What they are never leaves this module."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from traindeck.domain.texts import text
from traindeck.services.scripts.rules.frame import AMBER, Fault, ScriptLook, ScriptRule

HIDDEN = "••••••"
_MOST_LINE = 4_000
# Shapes that nothing else has.
_SHAPES = re.compile(
    r"AKIA[0-9A-Z]{16}|HPUA[0-9A-Z]{16}|(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}|gh[pousr]_[A-Za-z0-9]{30,}"
    r"|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}|(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{32,}|xox[abp]-[A-Za-z0-9-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_IN_ADDRESS = re.compile(r"(?<=://)[^\s/:@'\"{}<$]+:([^\s/@'\"{}<$]{3,})(?=@[\w.-]+)")
_NAMED = re.compile(
    r"(?i)(?<![\w.-])([\w.-]{0,60}(?:secret|passw(?:or)?d|passwd|pwd|token|api_?key|access_?key|secret_?key|private_?key|wandb_?key"
    r"|credential)[\w-]*|ak|sk|[\w.-]*[_.](?:ak|sk)|pw)"
    r"['\"\]]*\s*(?:[:=]|=>)\s*(?:[rbuf]{0,2}['\"]([^'\"\s]{6,})['\"]|([A-Za-z0-9+/=_.!@#%^&*-]{8,})\s*(?:#.*)?$)"
)
_KEYED = re.compile(r"(?i)\b(?:wandb|swanlab|comet_ml)\.(?:login|init)\([^)]*?key\s*=\s*['\"]([^'\"]{16,})['\"]")
_OPTION = re.compile(
    r"(?i)['\"]--?((?=[\w-]*(?:secret|passw(?:or)?d|token|api[_-]?key|access[_-]?key))[\w-]++)['\"][^#]{0,200}?"
    r"\bdefault\s*=\s*['\"]([^'\"\s]{6,})['\"]"
)
_NO_SECRET_NAME = re.compile(
    r"(?i)tokeniz|(?:pad|bos|eos|unk|cls|sep|mask|special|start|end|max|min|num|n|per|image|audio|begin|stop)_?tokens?"
    r"|tokens?_(?:id|type|len|count|num|per|index|idx)|access_?key_?id$|password_?field|key_?(?:file|path|name)|_url$|_file$|_path$"
)
_PLACEHOLDER = re.compile(
    r"(?i)your|xxx|\*\*\*|example|changeme|change_me|placeholder|replace|dummy|^none$|^null$|^true$|^false$|<|>|\{|\$|environ|getenv"
    r"|input\(|args?\.|config|^test|todo|fill|secret$|password$|token$|^\W+$|\.\.\.|你的"
)


def secrets_in(line: str) -> Iterator[tuple[int, int]]:
    """Where in a line they stand."""
    line = line[:_MOST_LINE]
    for found in _SHAPES.finditer(line):
        yield found.span()
    for found in _IN_ADDRESS.finditer(line):
        if not _PLACEHOLDER.search(found[1]):
            yield found.span(1)
    for found in _KEYED.finditer(line):
        yield found.span(1)
    for found in _OPTION.finditer(line):
        if not _NO_SECRET_NAME.search(found[1]) and _looks_secret(found[1], found[2], is_quoted=True):
            yield found.span(2)
    for found in _NAMED.finditer(line):
        group = 2 if found[2] else 3
        is_quoted = group == 2
        if not _NO_SECRET_NAME.search(found[1]) and _looks_secret(found[1], found[group], is_quoted=is_quoted):
            yield found.span(group)


def _looks_secret(name: str, value: str, *, is_quoted: bool) -> bool:
    if _PLACEHOLDER.search(value) or value.startswith(("obs://", "s3://", "http", "/", "./")) or "(" in value:
        return False
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[^A-Za-z0-9]"))
    if "pass" in name.lower() or "pwd" in name.lower() or name.lower() == "pw":
        return is_quoted and kinds >= 2
    return len(value) >= 12 and kinds >= 2 and any(one.isdigit() for one in value) and _spread(value) > 2.8


def _spread(value: str) -> float:
    """Bits a character: words have few, keys have many."""
    counts = Counter(value)
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())


def without_secrets(line: str) -> str:
    """The line as it may be shown."""
    shown, done = "", 0
    for start, end in sorted(secrets_in(line)):
        if start >= done:
            shown += line[done:start] + HIDDEN
            done = end
    rest = line[done:]
    return shown + (rest if len(line) <= _MOST_LINE else "")


def _written(look: ScriptLook) -> Iterable[Fault]:
    """In every file, for all of them go along with the code, also in comments."""
    why = text("A key or password stands in the code: anyone who can read the bucket or this run can read it.")
    hint = text(
        "Take it out and make a new one. Pass it as an environment variable, or let the job's agency give access."
    )
    for path, file in look.tree.files.items():
        for number, line in enumerate(file.lines, start=1):
            if next(secrets_in(line), None) is not None:
                yield Fault(AMBER, path, number, why, hint)


RULES = (ScriptRule("secret-in-code", "secrets", text("Key or password in the code"), _written),)
