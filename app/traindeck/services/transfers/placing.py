"""What is fetched gets its place: below one folder of this computer, never outside, and never where it must not be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traindeck.domain.errors import AppError, LocalTrouble, Occupied
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import HERE, stays_inside
from traindeck.runtime.files import local_errors, move_new
from traindeck.services.transfers.local_tree import goes_through_link


class Folders:
    """Makes folders below one target, and sees that nothing leads out of it."""

    def __init__(self, root: Path, *, follows_links: bool = False) -> None:
        self.root = root
        self._follows_links = follows_links
        self._known: set[str] = set()
        self._real: Path | None = None

    def knows(self, folder: str) -> bool:
        """It was made, or looked at, already."""
        return folder in self._known

    def make_above(self, place: Path) -> None:
        if place == self.root:
            place.parent.mkdir(parents=True, exist_ok=True)
        else:
            self.make(place.parent)

    def make(self, folder: Path) -> None:
        if str(folder) in self._known:
            return
        with local_errors(folder):
            if self._real is None:
                self.root.mkdir(parents=True, exist_ok=True)
                self._real = self.root.resolve()
            if not self._follows_links and goes_through_link(self.root, folder):
                raise LocalTrouble(
                    text(
                        "“{place}” is a link, or behind one, and nothing is written through links.", place=str(folder)
                    ),
                    text("Delete the link, select another folder, or follow links."),
                )
            folder.mkdir(parents=True, exist_ok=True)
            if not folder.resolve().is_relative_to(self._real):
                raise LocalTrouble(
                    text("“{place}” is a link that leads out of the target folder.", place=str(folder)),
                    text("Nothing was written there. Delete the link, or select another folder."),
                )
        self._known.add(str(folder))


def make_link(folders: Folders, place: Path, part: Path, content: bytes, *, only_new: bool = False) -> None:
    """In the place of a file or another link, or `only_new`; blocks."""
    depth = len(place.relative_to(folders.root).parts) - 1 if place != folders.root else 0
    try:
        leads_to = content.decode()
    except UnicodeDecodeError as error:
        raise leads_out(str(place)) from error
    if not stays_inside(leads_to, depth, HERE):
        raise leads_out(str(place))
    folders.make_above(place)
    with local_errors(place):
        if place.is_symlink() and place.readlink() == Path(leads_to):
            return  # links in a circle lead nowhere, and stand there as they are to stand
    top = folders.root if place != folders.root else place.parent
    try:
        # A link of somebody's own may stand in the way.
        is_inside = (place.parent / leads_to).resolve().is_relative_to(top.resolve())
    except (OSError, RuntimeError):  # links in a circle
        is_inside = False
    if not is_inside:
        raise leads_out(str(place))
    with local_errors(place):
        part.unlink(missing_ok=True)
        is_folder = (place.parent / leads_to).is_dir()  # Windows wants to know
        if only_new:
            with _only_new(place):
                place.symlink_to(leads_to, target_is_directory=is_folder)
            return
        part.symlink_to(leads_to, target_is_directory=is_folder)
        try:
            part.replace(place)
        except OSError:
            part.unlink()
            raise


def leads_out(place: str) -> AppError:
    return LocalTrouble(
        text("“{place}” was not created: the link would lead out of the target folder, or nowhere.", place=place),
        text("The object contains its target. Create the link manually if it is correct."),
    )


def put_in_place(part: str | Path, place: str | Path, *, only_new: bool) -> None:
    """Give what is whole its name; blocks. Occupied: `only_new`, and another has it by now."""
    if only_new:
        with _only_new(place):
            move_new(part, place)
    else:
        os.replace(part, place)  # noqa: PTH105


@contextmanager
def _only_new(place: str | Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise Occupied(
            text("There is another “{place}” by now.", place=str(place)),
            text("It was not changed. Check which one you want to keep."),
        ) from error
