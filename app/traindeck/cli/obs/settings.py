"""`traindeck obs versioning`, `tagging`, `lifecycle` and `cors`: what is set for a bucket, shown and changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.obs.buckets import agree, bucket_of
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.storage.bucket_settings import (
    OPENS_TO_ALL,
    VERSIONING,
    CorsRule,
    LifecycleRule,
    cors_line,
    cors_opens_to_all,
    lifecycle_line,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.rule_files import cors_documents, cors_rules, lifecycle_documents, lifecycle_rules
from traindeck.domain.texts import Text, say, text

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.settings import ObsSettings

Rule = TypeVar("Rule")
Held = TypeVar("Held", covariant=True)


async def versioning(call: Call) -> int:
    path, what = bucket_of(call), call.options.what
    async with call.accounts() as core:
        settings = (await core.connections.open(call.profile(core))).settings
        if what != "show":
            await settings.set_versioning(path.bucket, enabled=what == "enable")
        now = await settings.versioning(path.bucket)
    content = {"bucket": path.bucket, "versioning": now.value.lower() or "never"}
    call.output.result(content, say("Versioning: {state}", state=VERSIONING[now]))
    return DONE


async def tagging(call: Call) -> int:
    path = ObjectPath.parse(call.options.path)
    if path.is_folder and not path.is_bucket:
        raise InvalidInput(
            text("“{path}” is a folder.", path=str(path)), text("Tags belong to a bucket or to one object.")
        )
    change = _tag_change(call)
    async with call.accounts() as core:
        connection = await core.connections.open(call.profile(core))
        if path.is_bucket:
            setting = await connection.settings.tags(path.bucket)
            if change is not None:
                tags = tuple(change(dict(setting.tags)).items())
                setting = await connection.settings.set_tags(path.bucket, tags, setting.seen)
            now = dict(setting.tags)
        else:
            now = await connection.objects.tags(path)
            if change is not None:
                await connection.objects.set_tags(path, change(now))
                now = await connection.objects.tags(path)
    if call.output.json_wanted:
        call.output.document({"path": str(path), "tags": now})
    else:
        call.output.facts(sorted(now.items()))
        if not now:
            call.output.note(say("No tags."))
    return DONE


def _tag_change(call: Call) -> Callable[[Mapping[str, str]], dict[str, str]] | None:
    """None: they are only looked at."""
    what, words = call.options.what, call.options.tags
    if what == "show":
        if words:
            raise InvalidInput(text("“show” does not accept tags."), text("Enter “set” or “delete” before them."))
        return None
    if what == "delete":
        return lambda now: _without(now, words)
    pairs = [word.partition("=") for word in words]
    if not pairs or not all(name and sign for name, sign, _ in pairs):
        raise InvalidInput(text("“set” takes tags as NAME=VALUE."), text("Example: set project=bert owner=li"))
    return lambda now: {**now, **{name: value for name, _, value in pairs}}


def _without(now: Mapping[str, str], words: Sequence[str]) -> dict[str, str]:
    """Those named are gone; without a name all of them."""
    for word in words:
        if word not in now:
            raise NotFound(
                text("The tag “{name}” does not exist.", name=word), text("Tags: {names}.", names=", ".join(now) or "–")
            )
    return {name: value for name, value in now.items() if words and name not in words}


class _Setting(Protocol[Held]):
    """Rules as they were read; `seen` tells whether somebody changed them since."""

    @property
    def rules(self) -> tuple[Held, ...]: ...

    @property
    def seen(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _Kind(Generic[Rule]):
    """One kind of rules of a bucket: how they are read, changed and said."""

    read: Callable[[ObsSettings, str], Awaitable[_Setting[Rule]]]
    write: Callable[[ObsSettings, str, tuple[Rule, ...], str], Awaitable[_Setting[Rule]]]
    from_file: Callable[[str, Sequence[Rule]], tuple[Rule, ...]]
    questions: Callable[[Sequence[Rule]], Iterable[Text]]
    """What has to be agreed to before these are added."""
    documents: Callable[[Sequence[Rule]], dict[str, object]]
    line: Callable[[Rule], str]


def _deletions(fresh: Sequence[LifecycleRule]) -> Iterable[Text]:
    for rule in fresh:
        if rule.deletes:
            yield text("This rule deletes objects permanently: {rule}.", rule=lifecycle_line(rule))


def _openings(fresh: Sequence[CorsRule]) -> Iterable[Text]:
    if any(map(cors_opens_to_all, fresh)):
        yield OPENS_TO_ALL


_LIFECYCLE = _Kind(
    lambda settings, bucket: settings.lifecycle(bucket),
    lambda settings, bucket, rules, seen: settings.set_lifecycle(bucket, rules, seen),
    lifecycle_rules,
    _deletions,
    lifecycle_documents,
    lifecycle_line,
)
_CORS = _Kind(
    lambda settings, bucket: settings.cors(bucket),
    lambda settings, bucket, rules, seen: settings.set_cors(bucket, rules, seen),
    cors_rules,
    _openings,
    cors_documents,
    cors_line,
)


async def lifecycle(call: Call) -> int:
    return await _rules(call, _LIFECYCLE)


async def cors(call: Call) -> int:
    return await _rules(call, _CORS)


async def _rules(call: Call, kind: _Kind[Rule]) -> int:
    path, content = _rules_wanted(call)
    async with call.accounts() as core:
        settings = (await core.connections.open(call.profile(core))).settings
        setting = await kind.read(settings, path.bucket)
        if content is not None:
            rules = kind.from_file(content, setting.rules) if content else _without_any(call, path, setting.rules)
            for question in kind.questions([rule for rule in rules if rule not in setting.rules]):
                agree(call, question)
            setting = await kind.write(settings, path.bucket, rules, setting.seen)
    _print(call, path, setting.rules, kind)
    return DONE


def _without_any(call: Call, path: ObjectPath, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """None are left, when that is meant."""
    if rules:
        agree(call, text("All rules of “{bucket}” are deleted: {count}.", bucket=path.bucket, count=len(rules)))
    return ()


def _rules_wanted(call: Call) -> tuple[ObjectPath, str | None]:
    """The bucket, and what its rules are to be: None as they are, empty none at all."""
    path, what, file = bucket_of(call), call.options.what, call.options.file
    if (what == "set") != bool(file):
        raise InvalidInput(
            text("“set” needs --file, and only “set” accepts it."),
            text("Enter “set --file FILE”, or “set --file -” for standard input."),
        )
    if what != "set":
        return path, "" if what == "delete" else None
    content = terminal.text_of(file)
    if not content.strip():
        raise InvalidInput(text("“{file}” is empty.", file=file), text("To delete all rules, enter “delete”."))
    return path, content


def _print(call: Call, path: ObjectPath, rules: Sequence[Rule], kind: _Kind[Rule]) -> None:
    if call.output.json_wanted:
        call.output.document({"bucket": path.bucket, **kind.documents(rules)})
    elif not rules:
        call.output.note(say("No rules."))
    else:
        for rule in rules:
            call.output.line(kind.line(rule))
