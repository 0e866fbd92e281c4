"""The folder of the form's code: what of it goes along, what does not, and by which rule."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path

from PySide6.QtCore import Signal

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.jobs.code.code_limits import CodeLimits, LimitsOf, of_the_service
from traindeck.services.jobs.code.code_rules import RuleSource, pattern_of
from traindeck.services.jobs.code.code_tree import CodeEntry, CodeTree, EntryKind, scanned
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.ports import Stateful

QUIET_S = 0.3
_LOOK = "look at the code directory"
_MOST_NAMED = 3
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class CodeNode:
    """A file or a folder as it is shown, with what is in it."""

    path: str
    """As in CodeEntry; a folder ends with a slash."""
    name: str
    size_bytes: int | None
    is_taken: bool
    """Of a folder: something in it goes along."""
    why: Text | None = None
    """What keeps it out, or what is to be known of it."""
    can_change: bool = True
    """Whether a click takes it in or leaves it out: what cannot be sent stays out."""
    children: tuple[CodeNode, ...] = ()

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


@dataclass(frozen=True, slots=True)
class CodeState:
    tree: CodeTree | None = None
    nodes: tuple[CodeNode, ...] = ()
    trouble: AppError | None = None
    limits: CodeLimits = field(default_factory=CodeLimits)
    is_looking: bool = False


class CodeFolder(Stateful):
    """Looks at the folder whenever the form names another one or leaves out something else."""

    state: CodeState

    looked = Signal()
    edited = Signal()
    """Files of the same directory are others than they were a look ago."""

    def __init__(
        self, form: JobForm, disk: BlockingCalls, scope: TaskScope, limits_of: LimitsOf = of_the_service
    ) -> None:
        super().__init__()
        self.state = CodeState()
        self._form = form
        self._disk = disk
        self._scope = scope
        self._limits_of = limits_of
        self._about: tuple[Path, Sequence[str], str] | None = None
        self._is_seen = False
        self._is_told = False
        form.changed.connect(self._on_form)

    @property
    def summary(self) -> Text | None:
        """`12 files, 84 kB, 3 left out`; None: there is nothing to say."""
        state = self.state
        if not self._form.state.has_local_code:
            return None
        if state.trouble is not None:
            return state.trouble.title
        if state.tree is None:
            return text("Looking…") if state.is_looking else None
        left_out = len(state.tree.left_out)
        if not left_out:
            return state.tree.summary()
        return text("{summary}, {count} left out", summary=state.tree.summary(), count=f"{left_out:,}")

    @property
    def is_wrong(self) -> bool:
        """It cannot be sent as it is."""
        tree = self.state.tree
        return self.state.trouble is not None or (
            tree is not None and bool(tree.refused or tree.over(self.state.limits))
        )

    @property
    def remarks(self) -> list[Text]:
        """What is to be known before anything goes, the worst first."""
        tree = self.state.tree
        if tree is None:
            return [self.state.trouble.title] if self.state.trouble is not None else []
        found = [over.words() for over in tree.over(self.state.limits)]
        if tree.refused:
            found.append(text("Cannot be sent: {names}", names=_named([entry.path for entry in tree.refused])))
        found += [text("A rule that leaves nothing out: {rule}", rule=rule.words()) for rule in tree.bad_rules]
        if tree.same_but_case:
            names = _named([" / ".join(group) for group in tree.same_but_case])
            found.append(text("Names that differ by upper and lower case only: {names}", names=names))
        if tree.links:
            count = count_text("{count} link", "{count} links", len(tree.links))
            found.append(text("{count}: {names}", count=count, names=_named([one.path for one in tree.links])))
        large = [one for one in tree.largest[:_MOST_NAMED] if one.size_bytes]
        if large:
            each = [text("{file} ({size})", file=one.path, size=size_words(one.size_bytes or 0)) for one in large]
            words = reduce(lambda some, more: text("{some}, {more}", some=some, more=more), each)
            found.append(text("Largest: {names}", names=words))
        if tree.unlisted:
            found.append(count_text("{count} more is not listed", "{count} more are not listed", tree.unlisted))
        return found

    def watch(self, is_seen: bool) -> None:
        """What nobody sees is not looked at."""
        self._is_seen = is_seen
        if is_seen:
            self._on_form()

    def look(self) -> None:
        """Once more: files change while nobody tells."""
        self._about = None
        self._on_form()

    def look_after_fix(self) -> None:
        """Once more; who fixed it has told of that already."""
        self._is_told = True
        self.look()

    def change(self, node: CodeNode) -> None:
        """Leave it out, or take it in; written into the form as a rule of its own."""
        if not node.can_change:
            return
        pattern = pattern_of(node.path)
        taken_in = f"!{pattern}"
        rules = [rule for rule in self._form.state.spec.ignore if rule not in (pattern, taken_in)]
        is_undone = len(rules) < len(self._form.state.spec.ignore)
        if not is_undone:
            rules.append(pattern if node.is_taken else taken_in)
        self._form.set_field("ignore", tuple(rules))

    def _on_form(self) -> None:
        state = self._form.state
        wanted = (state.code_place, state.spec.ignore, state.profile) if state.has_local_code else None
        if wanted == self._about or not self._is_seen:
            return
        is_other = self._about is None or wanted is None or wanted[0] != self._about[0]
        self._about = wanted
        if wanted is None:
            self._scope.cancel(_LOOK)
            self._become(tree=None, nodes=(), trouble=None, is_looking=False)
            return
        if is_other and self.state.tree is not None and self.state.tree.root != wanted[0].absolute():
            self._become(tree=None, nodes=(), trouble=None)
        self._become(is_looking=True)
        self._scope.start(_LOOK, lambda: self._look(*wanted), Repeat.REPLACE)

    async def _look(self, folder: Path, ignore: Sequence[str], profile: str) -> None:
        await asyncio.sleep(QUIET_S)

        def work(token: CancelToken) -> tuple[CodeTree, tuple[CodeNode, ...]]:
            tree = scanned(folder, ignore, token)
            return tree, nodes_of(tree)

        try:
            tree, nodes = await self._disk.run(work)
            limits = await self._limits_of(profile) if profile else CodeLimits()
        except AppError as error:
            self._become(tree=None, nodes=(), trouble=error, is_looking=False)
        else:
            before, is_told = self.state.tree, self._is_told
            self._is_told = False
            self._become(tree=tree, nodes=nodes, limits=limits, trouble=None, is_looking=False)
            is_other = before is not None and before.root == tree.root and before.entries != tree.entries
            if is_other and not is_told:
                self.edited.emit()
        self.looked.emit()


@dataclass(slots=True)
class _Folder:
    """One that is being put together."""

    path: str
    entry: CodeEntry | None = None
    folders: dict[str, _Folder] = field(default_factory=dict)
    files: list[CodeEntry] = field(default_factory=list)


def nodes_of(tree: CodeTree) -> tuple[CodeNode, ...]:
    """Folders first, each by name."""
    top = _Folder("")
    for entry in tree.entries:
        is_folder = entry.path.endswith("/")
        parts = entry.path.rstrip("/").split("/")
        here = top
        for part in parts if is_folder else parts[:-1]:
            here = here.folders.setdefault(part, _Folder(f"{here.path}{part}/"))
        if is_folder:
            here.entry = entry
        else:
            here.files.append(entry)
    return _children(top, tree)


def _children(folder: _Folder, tree: CodeTree) -> tuple[CodeNode, ...]:
    if folder.path.count("/") > _DEEPEST:
        return ()  # the service takes nothing so deep, which is said elsewhere
    below = [_folder_node(one, name, tree) for name, one in sorted(folder.folders.items())]
    return (*below, *(_file_node(entry) for entry in folder.files))


def _folder_node(folder: _Folder, name: str, tree: CodeTree) -> CodeNode:
    children = _children(folder, tree)
    whole = tree.folders.get(folder.path)
    if folder.entry is not None:
        can_change = folder.entry.problem is None
        return CodeNode(folder.path, name, None, False, folder.entry.why_left_out(), can_change, children)
    return CodeNode(
        folder.path, name, whole.size_bytes if whole else 0, bool(whole and whole.files), None, True, children
    )


def _file_node(entry: CodeEntry) -> CodeNode:
    name = entry.path.rpartition("/")[2]
    why = entry.why_left_out()
    if why is None and entry.kind is EntryKind.LINK:
        why = text("link to {target}", target=entry.link)
    by_size = entry.rule is not None and entry.rule.source is RuleSource.LARGE
    can_change = entry.problem is None and (by_size or entry.is_taken or entry.rule is not None)
    return CodeNode(entry.path, name, entry.size_bytes, entry.is_taken, why, can_change)


def _named(names: Sequence[str]) -> str:
    more = f" … (+{len(names) - _MOST_NAMED:,})" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
