"""Content type, headers, metadata and tags of one object, edited without sending it again."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from traindeck.domain.errors import AppError, NoRight, NotOffered
from traindeck.domain.fact_words import header_title
from traindeck.domain.object_facts import (
    CONTENT_TYPE,
    KNOWN_NAMES,
    OUR_NAMES,
    STANDARD_HEADERS,
    HeadChange,
    ObjectFacts,
    as_written,
    header_problem,
    metadata_bytes,
    metadata_problem,
    tag_problem,
)
from traindeck.domain.texts import Text, say, text
from traindeck.ui.cards import Facts, card
from traindeck.ui.form_fields import Field
from traindeck.ui.pairs_card import PairsCard
from traindeck.ui.property_dialog import PropertyPage
from traindeck.ui.theme import SPACE, Theme
from traindeck.viewmodels.object_sheet import ObjectSheet

_EXAMPLES = {
    CONTENT_TYPE: "text/plain; charset=utf-8",
    "cache-control": "max-age=3600",
    "content-disposition": "attachment; filename*=UTF-8''%E6%95%B0%E6%8D%AE.csv",
    "content-encoding": "gzip",
    "content-language": "zh-CN",
    "expires": "Wed, 31 Dec 2031 00:00:00 GMT",
}


class ObjectMetadataPage(PropertyPage):
    """Saves only what was changed, and only if nobody else has changed the object meanwhile."""

    icon = "form"

    def __init__(self, sheet: ObjectSheet, theme: Theme) -> None:
        super().__init__()
        self.title = say("Metadata")
        self._sheet = sheet
        self._facts: ObjectFacts | None = None
        self._kept_tags: dict[str, str] | None = None
        self.fields: dict[str, Field] = {}
        self.lines: dict[str, QLineEdit] = {}
        fields = QWidget()
        column = QVBoxLayout(fields)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE)
        for name in (CONTENT_TYPE, *STANDARD_HEADERS):
            line = QLineEdit()
            line.setPlaceholderText(say("for example {example}", example=_EXAMPLES[name]))
            line.textEdited.connect(self._on_edited)
            self.lines[name] = line
            self.fields[name] = Field(header_title(name), line)
            column.addWidget(self.fields[name])
        self.metadata = PairsCard(say("Metadata"), say("Value"), "", self._check_metadata, theme)
        limits = say("Up to 10; a name has up to 128 characters, a value 256.")
        self.tags = PairsCard(say("Tags"), say("Value"), limits, tag_problem, theme)
        self.ours = Facts()
        self.ours_card = card(say("Written by TrainDeck and its like"), [self.ours])
        for edited in (self.metadata, self.tags):
            edited.edited.connect(self._on_edited)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.setSpacing(SPACE + SPACE // 2)
        for widget in (card(say("Sent with the object"), [fields]), self.metadata, self.ours_card, self.tags):
            layout.addWidget(widget)
        layout.addStretch(1)

    async def load(self) -> None:
        facts = await self._sheet.facts()
        tags: dict[str, str] | None
        try:
            tags = await self._sheet.tags()
        except (NotOffered, NoRight):
            tags = None  # the rest can be edited all the same
        self._show(facts, tags)

    def has_changes(self) -> bool:
        return self._facts is not None and (not self._change().is_empty or self._are_tags_changed())

    def problem(self) -> str:
        found: list[Text | None] = [self._problem_of(name) for name in self.lines]
        found += [self.metadata.problem, self.tags.problem, self._size_problem()]
        return next((say(problem) for problem in found if problem is not None), "")

    async def save(self) -> bool:
        assert self._facts is not None
        change = self._change()
        facts, tags = self._facts, self._kept_tags
        if not change.is_empty:
            facts = await self._sheet.change(change, facts)
            self._facts = facts
        if self._are_tags_changed():
            tags = self.tags.values
            try:
                await self._sheet.set_tags(tags)
            except AppError:
                self._show_head(facts)  # that part is kept already
                raise
        self._show(await self._sheet.facts(), tags)
        return True

    def _show(self, facts: ObjectFacts, tags: dict[str, str] | None) -> None:
        self._kept_tags = tags
        self.tags.setVisible(tags is not None)
        self.tags.show_values(tags or {})
        self._show_head(facts)

    def _show_head(self, facts: ObjectFacts) -> None:
        self._facts = facts
        for name, line in self.lines.items():
            line.setText(facts.content_type if name == CONTENT_TYPE else facts.headers.get(name, ""))
            line.setCursorPosition(0)
        self.metadata.show_values(self._own(facts))
        ours = sorted((name, value) for name, value in facts.metadata.items() if name in KNOWN_NAMES)
        self.ours.show_facts(ours)
        self.ours_card.setVisible(bool(ours))
        self._on_typed()

    def _on_edited(self) -> None:
        self._on_typed()
        self.edited.emit()

    def _on_typed(self) -> None:
        for name, field in self.fields.items():
            problem = self._problem_of(name)
            field.show_error(say(problem) if problem else "")
        self.metadata.show_note(
            say(
                "{count} of {most} bytes. Names have a–z, 0–9, dot, hyphen and underscore; whoever may read the object "
                "sees them.",
                count=f"{self._bytes():,}",
                most=f"{self._sheet.most_metadata_bytes:,}",
            )
        )

    def _own(self, facts: ObjectFacts) -> dict[str, str]:
        return {name: value for name, value in facts.metadata.items() if name not in KNOWN_NAMES}

    def _change(self) -> HeadChange:
        facts = self._facts
        assert facts is not None
        typed = {name: line.text().strip() for name, line in self.lines.items()}
        content_type = typed.pop(CONTENT_TYPE)
        own, wanted = self._own(facts), self.metadata.values
        return HeadChange(
            content_type=content_type if content_type != facts.content_type else None,
            headers={name: value for name, value in typed.items() if value != facts.headers.get(name, "")},
            metadata={name: value for name, value in wanted.items() if own.get(name) != value},
            without=frozenset(own.keys() - wanted.keys()),
        )

    def _are_tags_changed(self) -> bool:
        return self._kept_tags is not None and self.tags.values != self._kept_tags

    def _problem_of(self, name: str) -> Text | None:
        typed = self.lines[name].text().strip()
        is_as_it_was = self._facts is not None and name == CONTENT_TYPE and typed == self._facts.content_type
        return None if is_as_it_was else header_problem(name, typed)

    def _check_metadata(self, name: str, value: str) -> Text | None:
        if name in OUR_NAMES:
            return text("“{name}” is written by TrainDeck and belongs to the content.", name=name)
        return metadata_problem(name, value)

    def _bytes(self) -> int:
        if self._facts is None:
            return 0
        kept = {name: value for name, value in self._facts.written.items() if name in KNOWN_NAMES}
        return metadata_bytes(kept | {name: as_written(value) for name, value in self.metadata.values.items()})

    def _size_problem(self) -> Text | None:
        most = self._sheet.most_metadata_bytes
        if self._bytes() <= most:
            return None
        return text("The metadata is larger than {most} bytes.", most=f"{most:,}")
