"""Parsers fed from memory, with a count of what they asked for."""

from __future__ import annotations

from dataclasses import dataclass

from traindeck.domain.previews import PreviewPage
from traindeck.services.previews.kinds import preview_steps
from traindeck.services.previews.steps import Enough, Want


@dataclass
class Fed:
    """What a parser showed of a content, and what it read for that."""

    pages: list[PreviewPage]
    read_bytes: int = 0
    requests: int = 0


def preview(name: str, content: bytes, *, pages: int = 50, most_requests: int = 10_000) -> Fed:
    """Every page, and not more than that; each of at most so many requests."""
    fed = Fed([])
    steps = preview_steps(name, len(content))
    reply: bytes | None = None
    since_page = 0
    try:
        while len(fed.pages) < pages:
            step = next(steps) if reply is None else steps.send(reply)
            while isinstance(step, Want) and since_page >= most_requests:
                step = steps.throw(Enough())
            reply = b""
            if isinstance(step, Want):
                assert step.length >= 0
                assert step.offset >= 0
                reply = content[step.offset : step.offset + step.length]
                fed.read_bytes += len(reply)
                fed.requests += 1
                since_page += 1
            elif step is not None:
                fed.pages.append(step)
                since_page = 0
    except StopIteration:
        pass
    return fed
