"""Where somebody was in the tree of buckets, with the folders that are open; they come one below the other."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QTreeView

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.kept_place import KeptRows
from traindeck.ui.storage.bucket_model import BucketModel
from traindeck.viewmodels.storage.bucket_tree import BucketTree

_MOST_OPEN = 100


class KeptTree(KeptRows):
    """Both belong to an account: in another one nothing of it is looked for."""

    def __init__(self, tree: BucketTree, view: QTreeView, model: BucketModel) -> None:
        super().__init__("buckets", view, model)
        self._tree = tree
        self._rows = view
        self._kept: dict[str, Any] = {}
        self._open: dict[str, None] = {}
        self._due: dict[str, None] = {}
        view.expanded.connect(self._on_expanded)
        view.collapsed.connect(self._on_collapsed)
        tree.emptied.connect(self._on_account)
        tree.listed.connect(self._look)
        tree.level_changed.connect(self._look)

    def take_up(self, kept: Any) -> None:
        self._kept = kept if isinstance(kept, dict) else {}
        if self._tree.state.profile:
            self._on_account()

    def _on_account(self) -> None:
        kept = self._kept if self._kept.get("profile") == self._tree.state.profile else {}
        self._kept, self._open = {}, {}
        folders = kept.get("open")
        self._due = dict.fromkeys(map(str, folders[:_MOST_OPEN])) if isinstance(folders, list) else {}
        super().take_up(kept.get("top"))

    def _is_looking(self) -> bool:
        return bool(self._due) or super()._is_looking()

    def _find(self) -> None:
        for name in list(self._due):
            index = self._names.row_named(name)
            if index.isValid():
                self._rows.expand(index)
            elif self._is_gone(name):
                del self._due[name]
        if not self._due:  # else more rows come above
            super()._find()

    def _is_gone(self, name: str) -> bool:
        try:
            path = ObjectPath.parse(name)
        except AppError:
            return True
        above = self._tree.level(None if path.is_bucket else path.parent)
        return (above.is_known and not above.is_loading) or above.trouble is not None

    def _tell(self, top: str) -> None:
        folders = [*self._open, *self._due][:_MOST_OPEN]
        self.moved.emit({"profile": self._tree.state.profile, "open": folders, "top": top})

    def _on_expanded(self, index: QModelIndex) -> None:
        name = self._names.row_name(index)
        self._due.pop(name, None)
        self._open[name] = None
        self._tell(self._top())

    def _on_collapsed(self, index: QModelIndex) -> None:
        self._open.pop(self._names.row_name(index), None)
        self._tell(self._top())
