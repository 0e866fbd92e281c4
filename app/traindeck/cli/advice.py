"""What is said once, beside the work, of many small files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from traindeck.cli.call import Call
from traindeck.domain.objects import size_words
from traindeck.domain.shards import advises_packing, likely_shards
from traindeck.domain.texts import say
from traindeck.domain.transfers import Kind

if TYPE_CHECKING:
    from traindeck.services.transfers import Transfer, Transfers


def tell_of_small_files(call: Call, row: Transfer) -> bool:
    """Whether there was anything to say."""
    files, size_bytes = row.files - row.removals, row.total_bytes
    if row.kind is not Kind.UPLOAD or size_bytes is None or not advises_packing(files, size_bytes):
        return False
    call.output.note(
        say(
            "{count} small files, {size} each on average: every one costs a request, here and in each job that reads "
            "them. “traindeck obs pack” would make about {shards} tar shards with an index of them.",
            count=f"{files:,}",
            size=size_words(size_bytes // files),
            shards=likely_shards(files, size_bytes),
        )
    )
    return True


@contextmanager
def small_files_told(call: Call, transfers: Transfers) -> Iterator[None]:
    """As soon as the plan of the transfer inside is known, and once."""
    is_told = False

    def on_news(row: Transfer) -> None:
        nonlocal is_told
        is_told = is_told or tell_of_small_files(call, row)

    stop_listening = transfers.changed.add(on_news)
    try:
        yield
    finally:
        stop_listening()
