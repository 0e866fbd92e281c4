"""The other files of a script, as far as what one of them says depends on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from traindeck.services.scripts.imports import LocalImport, folder_of
from traindeck.services.scripts.rules.source_view import SeenCall, SourceView
from traindeck.services.scripts.script_tree import ScriptTree


@dataclass(frozen=True, slots=True)
class Defined:
    """A name at the top of a file, or below a class there: `Config.DATA`."""

    view: SourceView
    name: str


@dataclass(eq=False)
class Neighbours:
    tree: ScriptTree
    view: Callable[[str], SourceView]
    views: Callable[[], Sequence[SourceView]]
    """Those that run, as far as there was time for them."""
    _paths: dict[tuple[LocalImport, str], str | None] = field(default_factory=dict)

    def defined(self, view: SourceView, dotted: str) -> Defined | None:
        """Where an imported name stands in the code folder, attributes behind it; None: not in there."""
        root, _, rest = dotted.partition(".")
        if root not in view.origins:
            return next((found for star in view.stars if (found := self._in(view, star, [dotted]))), None)
        origin = view.origins[root]
        return self._in(view, origin, [*origin.names, *(rest.split(".") if rest else [])])

    def _in(self, view: SourceView, origin: LocalImport, names: list[str]) -> Defined | None:
        """The module is as much of the whole name as there is a file of it."""
        steps = [*filter(None, origin.module.split(".")), *names]
        for count in range(len(steps) - 1, -1 if origin.level else 0, -1):
            path = self._path(LocalImport(".".join(steps[:count]), (), origin.level), view.path)
            if path is not None:
                return Defined(self.view(path), ".".join(steps[count:]))
        return None

    def _path(self, wanted: LocalImport, importer: str) -> str | None:
        """Asked for each use of each import, and the same in all of a folder."""
        place = (wanted, folder_of(importer))
        if place not in self._paths:
            self._paths[place] = self._path_of(wanted, importer)
        return self._paths[place]

    def _path_of(self, wanted: LocalImport, importer: str) -> str | None:
        if wanted.module:
            return self.tree.module_of(wanted, importer)
        above = "/".join(importer.split("/")[: -wanted.level])
        package = f"{above}/__init__.py" if above else "__init__.py"
        return package if package in self.tree.files else None

    def is_set_from_outside(self, place: Defined) -> bool:
        """Another file gives it another value, or the file itself does so by names that nobody can see."""
        return (place.view.path, place.name) in self._set_from_outside or "globals" in place.view.words

    @cached_property
    def _set_from_outside(self) -> frozenset[tuple[str, str]]:
        found = set()
        for view in self.views():
            for name in view.assigned:
                is_attribute = "." in name and name.partition(".")[0] in view.origins
                place = self.defined(view, name) if is_attribute else None
                if place is not None:
                    found.add((place.view.path, place.name))
        return frozenset(found)

    @cached_property
    def set_attributes(self) -> frozenset[str]:
        """Names that something is given as an attribute, in any file."""
        names = (name for view in self.views() for name in view.assigned)
        return frozenset(name.rpartition(".")[2] for name in names if "." in name)

    @cached_property
    def changed(self) -> frozenset[str]:
        """Names of what is filled or changed in place, in any file."""
        return frozenset().union(*(view.changed for view in self.views()))

    def calls_of(self, function: str) -> Sequence[tuple[SourceView, SeenCall]]:
        """Of whatever is called so, in all files."""
        return self._calls.get(function, ())

    @cached_property
    def _calls(self) -> Mapping[str, Sequence[tuple[SourceView, SeenCall]]]:
        found = defaultdict(list)
        for view in self.views():
            for call in view.calls:
                found[call.method].append((view, call))
        return found
