"""Lifecycle and CORS rules as JSON, by the names other tools for object storage use, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from difflib import get_close_matches
from typing import TypeVar

from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.bucket_settings import COLD, WARM, CorsRule, LifecycleRule
from traindeck.domain.storage.json_places import JsonPath, Located, NamedTwice, NotJson, located
from traindeck.domain.texts import Text, text

Rule = TypeVar("Rule")
_Document = dict[str, object]

CORS_LIST, LIFECYCLE_LIST = "CORSRules", "Rules"
_FOREIGN_CLASSES = {"STANDARD_IA": WARM, "GLACIER": COLD}
_BEYOND = "Beyond"
"""Names what a rule says that cannot be written here."""


def cors_documents(rules: Sequence[CorsRule]) -> _Document:
    return {CORS_LIST: [_cors_document(rule) for rule in rules]}


def lifecycle_documents(rules: Sequence[LifecycleRule]) -> _Document:
    return {LIFECYCLE_LIST: [_lifecycle_document(rule) for rule in rules]}


def cors_rules(content: str, known: Sequence[CorsRule]) -> tuple[CorsRule, ...]:
    """Those of a file; what is as it was stays just as the service has it. InvalidInput names the line."""
    return tuple(_rules(content, CORS_LIST, known, _cors_document, _cors_rule))


def lifecycle_rules(content: str, known: Sequence[LifecycleRule]) -> tuple[LifecycleRule, ...]:
    return tuple(_rules(content, LIFECYCLE_LIST, known, _lifecycle_document, _lifecycle_rule))


def _cors_document(rule: CorsRule) -> _Document:
    return _without_empty(
        {
            "ID": rule.id,
            "AllowedOrigins": list(rule.origins),
            "AllowedMethods": list(rule.methods),
            "AllowedHeaders": list(rule.headers),
            "ExposeHeaders": list(rule.exposed),
            "MaxAgeSeconds": rule.max_age_s,
            _BEYOND: list(rule.others),
        }
    )


def _lifecycle_document(rule: LifecycleRule) -> _Document:
    return {
        **_without_empty({"ID": rule.id}),
        "Prefix": rule.prefix,
        "Status": "Enabled" if rule.is_enabled else "Disabled",
        **_without_empty(
            {
                "Expiration": _expiration_document(rule),
                "Transitions": [{"Days": days, "StorageClass": name} for name, days in rule.moves],
                "NoncurrentVersionExpiration": _numbered("NoncurrentDays", rule.old_expire_days),
                "NoncurrentVersionTransitions": [
                    {"NoncurrentDays": days, "StorageClass": name} for name, days in rule.old_moves
                ],
                "AbortIncompleteMultipartUpload": _numbered("DaysAfterInitiation", rule.abort_days),
                _BEYOND: list(rule.others),
            }
        ),
    }


def _expiration_document(rule: LifecycleRule) -> _Document | None:
    if rule.expire_date is not None:
        return {"Date": rule.expire_date.isoformat()}
    return _numbered("Days", rule.expire_days)


def _numbered(name: str, number: int | None) -> _Document | None:
    return None if number is None else {name: number}


def _without_empty(values: Mapping[str, object]) -> _Document:
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _rules(
    content: str,
    name: str,
    known: Sequence[Rule],
    document_of: Callable[[Rule], _Document],
    read: Callable[[_Part, Rule | None], Rule],
) -> Iterator[Rule]:
    try:
        file = located(content)
    except NotJson as error:
        what = text("The name “{name}” appears twice.", name=error.problem)
        if not isinstance(error, NamedTwice):
            what = text("This is not JSON: {problem}.", problem=error.problem)
        raise _wrong(text("Line {line}: {what}", line=error.place.line, what=what)) from None
    if not isinstance(file.document, dict):
        raise _wrong(text("The file must be an object in braces with a list “{name}”.", name=name))
    whole = _Part(file, (), file.document)
    whole.only(name, "bucket")
    as_known = [(document_of(rule), rule) for rule in known]
    by_id = {document["ID"]: rule for document, rule in as_known if "ID" in document}
    for part in whole.parts(name):
        same = next((rule for document, rule in as_known if document == part.content), None)
        if same is not None:
            yield same
        else:
            id_given = part.content.get("ID")
            yield read(part, by_id.get(id_given) if isinstance(id_given, str) else None)


def _cors_rule(part: _Part, known: CorsRule | None) -> CorsRule:
    part.only("ID", "AllowedOrigins", "AllowedMethods", "AllowedHeaders", "ExposeHeaders", "MaxAgeSeconds", _BEYOND)
    part.beyond(known.others if known else ())
    return replace(
        known or CorsRule(),
        id=part.words("ID"),
        origins=part.list_of_words("AllowedOrigins"),
        methods=part.list_of_words("AllowedMethods"),
        headers=part.list_of_words("AllowedHeaders"),
        exposed=part.list_of_words("ExposeHeaders"),
        max_age_s=part.number("MaxAgeSeconds"),
    )


def _lifecycle_rule(part: _Part, known: LifecycleRule | None) -> LifecycleRule:
    old, abort = "NoncurrentVersion", "AbortIncompleteMultipartUpload"
    part.only(
        "ID", "Prefix", "Filter", "Status", "Expiration", "Transitions", f"{old}Expiration", f"{old}Transitions",
        abort, _BEYOND,
    )  # fmt: skip
    if known is not None and known.is_locked:
        raise part.wrong(
            "ID",
            text("The rule “{name}” cannot be changed here: keep it as shown, or leave it out.", name=known.id),
        )
    part.beyond(known.others if known else ())
    narrowed, expiry = part.part("Filter", "Prefix"), part.part("Expiration", "Days", "Date")
    status = part.words("Status") or "Enabled"
    if status not in ("Enabled", "Disabled"):
        raise part.wrong("Status", text("Status must be Enabled or Disabled."))
    return replace(
        known or LifecycleRule(),
        id=part.words("ID"),
        prefix=narrowed.words("Prefix") or part.words("Prefix"),
        is_enabled=status == "Enabled",
        expire_days=expiry.number("Days"),
        expire_date=expiry.date("Date"),
        moves=_moves(part, "Transitions", "Days"),
        old_expire_days=part.part(f"{old}Expiration", "NoncurrentDays").number("NoncurrentDays"),
        old_moves=_moves(part, f"{old}Transitions", "NoncurrentDays"),
        abort_days=part.part(abort, "DaysAfterInitiation").number("DaysAfterInitiation"),
    )


def _moves(part: _Part, name: str, days_name: str) -> tuple[tuple[str, int], ...]:
    found = []
    for move in part.parts(name):
        move.only(days_name, "StorageClass")
        storage_class, days = move.words("StorageClass").upper(), move.number(days_name)
        storage_class = _FOREIGN_CLASSES.get(storage_class, storage_class)
        if storage_class not in (WARM, COLD) or days is None:
            raise move.wrong(
                "StorageClass",
                text(
                    "A transition needs {days} and a storage class, {warm} or {cold}.",
                    days=days_name,
                    warm=WARM,
                    cold=COLD,
                ),
            )
        found.append((storage_class, days))
    return tuple(sorted(found, key=lambda move: move[1]))


@dataclass(frozen=True, slots=True)
class _Part:
    """An object of the file, and where it stands; every mistake is told with its line."""

    file: Located
    way: JsonPath
    content: Mapping[str, object]

    def wrong(self, name: str, what: Text) -> InvalidInput:
        return _wrong(text("Line {line}: {what}", line=self.file.place((*self.way, name)).line, what=what))

    def only(self, *names: str) -> None:
        for name in self.content:
            if name not in names:
                near = get_close_matches(name, names, 1, 0.5)
                known = near[0] if near else ", ".join(each for each in names if each != _BEYOND)
                raise self.wrong(
                    name, text("“{name}” is not a known name. Did you mean: {known}?", name=name, known=known)
                )

    def beyond(self, there: Sequence[str]) -> None:
        """What cannot be written may stay where it is, and cannot come from a file."""
        if self.list_of_words(_BEYOND) not in ((), tuple(there)):
            raise self.wrong(
                _BEYOND,
                text("“{name}” only lists what a rule of the bucket also contains; it cannot be set.", name=_BEYOND),
            )

    def words(self, name: str) -> str:
        value = self.content.get(name, "")
        if not isinstance(value, str):
            raise self.wrong(name, text("“{name}” must be a string.", name=name))
        return value

    def number(self, name: str) -> int | None:
        value = self.content.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise self.wrong(name, text("“{name}” must be a whole number.", name=name))
        return value

    def date(self, name: str) -> date | None:
        words = self.words(name)
        try:
            return datetime.fromisoformat(words).date() if words else None
        except ValueError:
            raise self.wrong(name, text("Enter the date as 2030-12-31.")) from None

    def list_of_words(self, name: str) -> tuple[str, ...]:
        value = self.content.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.wrong(name, text("“{name}” must be a list of strings.", name=name))
        return tuple(value)

    def part(self, name: str, *known: str) -> _Part:
        value = self.content.get(name, {})
        if not isinstance(value, dict):
            raise self.wrong(name, text("“{name}” must be an object in braces.", name=name))
        found = _Part(self.file, (*self.way, name), value)
        found.only(*known)
        return found

    def parts(self, name: str) -> Iterator[_Part]:
        value = self.content.get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, text("“{name}” must be a list of objects.", name=name))
        for at, one in enumerate(value):
            if not isinstance(one, dict):
                raise self.wrong(name, text("“{name}” must be a list of objects.", name=name))
            yield _Part(self.file, (*self.way, name, at), one)


def _wrong(what: Text) -> InvalidInput:
    return InvalidInput(what, text("Nothing was changed. Edit what “show --json” prints, then set it again."))
