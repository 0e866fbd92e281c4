"""The tags of a bucket, as pairs to type in."""

from __future__ import annotations

from traindeck.domain.bucket_settings import OBS_TAGS, TagLimits, TagSetting, tag_mistakes
from traindeck.domain.texts import say
from traindeck.ui.page_parts import page_column, told
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.rows_editor import PairTable
from traindeck.ui.theme import Theme
from traindeck.viewmodels.bucket_settings import BucketDesk
from traindeck.viewmodels.form_values import Rows, merged, rows_from_text


class BucketTagsPage(PropertyPage):
    """Type to add, Delete to remove, paste lines of `name=value`."""

    icon = "tag"

    def __init__(self, desk: BucketDesk, theme: Theme) -> None:
        super().__init__()
        self.title = say("Tags")
        self._desk = desk
        self._kept = TagSetting()
        self._limits: TagLimits = OBS_TAGS
        self._rows: Rows = ()
        self.table = PairTable(theme, say("Tags"), say("Value"))
        self.limits = told("", "small")
        self.wrong = told("", "error")
        column = page_column(self)
        column.addWidget(told(say("Tags sort buckets, for example by project or cost centre, also on the bill.")))
        column.addWidget(self.table)
        column.addWidget(self.wrong)
        column.addWidget(self.limits)
        column.addStretch(1)
        self.table.rows_edited.connect(self._on_rows)
        self.table.pasted.connect(self._on_pasted)

    async def load(self) -> None:
        self._limits = await self._desk.tag_limits()
        self._show(await self._desk.tags())

    def _show(self, setting: TagSetting) -> None:
        self._kept = setting
        self._rows = setting.tags
        self._say()

    def _on_rows(self, rows: Rows) -> None:
        # A row that was emptied is gone.
        self._rows = tuple(row for row in rows if row[0].strip() or row[1].strip())
        self._say()
        self.edited.emit()

    def _on_pasted(self, words: str) -> None:
        self._on_rows(merged(self._rows, rows_from_text(words)))

    def _tags(self) -> Rows:
        return tuple((name.strip(), value.strip()) for name, value in self._rows)

    def _say(self) -> None:
        mistakes = tag_mistakes(self._tags(), self._limits)
        self.table.pairs.show(self._rows, mistakes)
        self.wrong.setText("\n".join(say(wrong) for wrong in mistakes.values()))
        self.wrong.setVisible(bool(mistakes))
        self.limits.setText(
            say(
                "{count} of at most {most} tags; a name has at most {key} characters, a value {value}.",
                count=len(self._rows),
                most=self._limits.most,
                key=self._limits.key_length,
                value=self._limits.value_length,
            )
        )

    def has_changes(self) -> bool:
        return self._tags() != self._kept.tags

    def problem(self) -> str:
        return next((say(wrong) for wrong in tag_mistakes(self._tags(), self._limits).values()), "")

    async def save(self) -> bool:
        self._show(await self._desk.set_tags(self._tags(), self._kept.seen))
        return True
