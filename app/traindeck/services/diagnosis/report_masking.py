"""What goes into a report, without secrets: documents, URLs and headers are taken apart, and their parts looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

from traindeck.runtime.secret_names import opens

GONE = "…"
_PIECES = re.compile(r"(\s+)")
_PARAMETERS = re.compile("([?&])")
_HOST_ENDS = re.compile("[/?#]")
_AROUND = "\"'`()[]{}<>,;“”‘’"


def masked_json(words: str, private: Collection[str] = ()) -> str:
    """A document with each value of a telling name gone, and the texts in it masked; no document is masked as text."""
    try:
        return json.dumps(_masked(json.loads(words), private), indent=1, ensure_ascii=False)
    except ValueError:
        return masked_text(words)
    except RecursionError:
        return GONE


def masked_text(words: str) -> str:
    return "\n".join(map(_line, words.split("\n")))


def _masked(value: Any, private: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: GONE if one and not isinstance(one, bool) and (key in private or opens(key)) else _masked(one, private)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [_masked(one, private) for one in value]
    return masked_text(value) if isinstance(value, str) else value


def _line(words: str) -> str:
    """What is nested too deeply to look through, documents or links within links, is left out."""
    try:
        begin = words.find("{")
        if begin >= 0 and words.rstrip().endswith("}"):
            try:
                document = json.loads(words[begin:])
            except ValueError:
                pass
            else:
                return _line(words[:begin]) + json.dumps(_masked(document, ()), ensure_ascii=False)
        return "".join(_pieces(words))
    except RecursionError:
        return GONE


def _pieces(line: str) -> Iterator[str]:
    """A secret reaches to the end of its line, because blanks may be part of it; everything else is between blanks."""
    pieces = _PIECES.split(line)
    for at, piece in enumerate(pieces):
        name, mark, rest = _pair(piece)
        is_apart = not mark and at + 2 < len(pieces) and pieces[at + 2] in ("=", ":")
        is_option = name.strip(_AROUND).startswith("-")
        if (mark or is_apart or is_option) and opens(name):
            if rest.strip(_AROUND):
                yield f"{name}{mark}{GONE}"
                return
            if any(one.strip() for one in pieces[at + 1 :]):
                yield f"{piece} {GONE}"
                return
        if mark == "=":
            yield "&".join(map(_parameter, piece.split("&")))
        else:
            yield _piece(piece)


def _pair(piece: str) -> tuple[str, str, str]:
    """A name and its value: `name: value`, `name=value`, `"name":"value"`; a URL is none."""
    at = min((found for found in (piece.find("="), piece.find(":")) if found >= 0), default=-1)
    if at < 0 or piece[at : at + 3] == "://" or "?" in piece[:at] or "&" in piece[:at]:
        return piece, "", ""
    return piece[:at], piece[at], piece[at + 1 :]


def _piece(piece: str) -> str:
    inside = piece.strip(_AROUND)
    before, behind = piece[: piece.find(inside)], piece[piece.find(inside) + len(inside) :]
    return f"{before}{masked_url(inside)}{behind}" if inside else piece


def masked_url(words: str) -> str:
    """A URL, or a place without a scheme, without user info, fragment and values that open something."""
    scheme, mark, rest = words.partition("://") if "://" in words else ("", "", words)
    user, at, behind = rest.rpartition("@")
    if at and _has_password(rest, user, is_url=bool(mark)):
        rest = GONE + at + behind
    fragment = ""
    if mark and "#" in rest:
        rest, fragment = rest.partition("#")[0], f"#{GONE}"
    place, *parameters = _PARAMETERS.split(rest)
    return f"{scheme}{mark}{place}{''.join(map(_parameter, parameters))}{fragment}"


def _has_password(rest: str, user: str, *, is_url: bool) -> bool:
    """Return whether the text before the last “@” is user info: a password may hold every sign, also “#” and “/”."""
    if not is_url:
        host = _HOST_ENDS.split(user, maxsplit=1)[0]
        _, mark, port = host.rpartition(":")
        return bool(mark) and (host == user or (user[len(host)] != "/" and not _is_port(port)))
    if "#" in user:
        return True
    hosts = (_HOST_ENDS.split(one, maxsplit=1)[0] for one in rest.split("://"))
    return any("@" in host or (":" in host and not _is_port(host.rpartition(":")[2])) for host in hosts)


def _parameter(words: str) -> str:
    name, equals, value = words.partition("=")
    if not equals:
        return words
    plain = unquote(value)
    if opens(unquote(name)):
        return f"{name}={GONE}"
    masked = _piece(plain)
    return words if masked == plain else f"{name}={masked}"


def _is_port(words: str) -> bool:
    return not words or (words.isascii() and words.isdecimal())
