"""How moves, deletions and restorations are put into words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from traindeck.domain.transfers.orders import Kind
from traindeck.domain.transfers.records import Action, Item, ItemState, TransferState
from traindeck.services.transfers import Transfer
from traindeck.viewmodels.transfers.transfer_list import TransferRow
from traindeck.viewmodels.transfers.transfer_words import (
    counts_words,
    item_words,
    kind_words,
    source_words,
    way_words,
)


def row(kind: Kind, **fields: Any) -> TransferRow:
    target = "" if kind in (Kind.REMOVE, Kind.RESTORE) else "obs://b/to/"
    return TransferRow(Transfer(1, kind, "obs://b/in/", target, **fields))


def test_a_cancelled_move_says_what_is_where() -> None:
    ended = row(Kind.COPY, is_move=True, state=TransferState.CANCELLED, done_files=3, copied_files=1200)
    assert kind_words(ended) == "Move"
    assert counts_words(ended) == "3 done · 1,200 kept at source"
    assert way_words(ended) == "obs://b/in/ → obs://b/to/"


def test_a_deletion_goes_nowhere_and_shows_how_far_it_is() -> None:
    going = row(Kind.REMOVE, total_bytes=0, files=400, done_files=100, removals=400)
    assert (kind_words(going), way_words(going), going.share) == ("Delete", "obs://b/in/", 0.25)


def test_of_several_that_go_together_the_first_is_named_and_the_rest_counted() -> None:
    one, seven = (("x/a.txt", "a.txt"),), tuple((f"{number}.txt", f"{number}.txt") for number in range(1200))
    assert way_words(row(Kind.COPY, chosen=one)) == "obs://b/in/x/a.txt → obs://b/to/"
    assert way_words(row(Kind.COPY, chosen=seven)) == "obs://b/in/0.txt and 1,199 more → obs://b/to/"
    here = TransferRow(Transfer(1, Kind.UPLOAD, str(Path("/home/me")), "obs://b/to/", chosen=(("photos/", "photos/"),)))
    assert source_words(here) == str(Path("/home/me/photos"))


def test_each_file_tells_which_half_it_is_in() -> None:
    def words(kind: Kind, action: Action, state: ItemState) -> str:
        return item_words(Item("k", "k", action=action, state=state), kind)

    assert words(Kind.COPY, Action.LEAVE, ItemState.QUEUED) == "Copied, source kept"
    assert words(Kind.COPY, Action.LEAVE, ItemState.FAILED) == "Copied, source kept"
    assert words(Kind.COPY, Action.LEAVE, ItemState.DONE) == "Moved"
    assert words(Kind.REMOVE, Action.REMOVE, ItemState.QUEUED) == "To delete"
    assert words(Kind.REMOVE, Action.REMOVE, ItemState.DONE) == "Deleted"
    assert words(Kind.REMOVE, Action.REMOVE, ItemState.FAILED) == "Not deleted"
    assert words(Kind.RESTORE, Action.REMOVE, ItemState.QUEUED) == "To undelete"
    assert words(Kind.RESTORE, Action.REMOVE, ItemState.DONE) == "Undeleted"
