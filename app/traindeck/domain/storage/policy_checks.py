"""What is wrong or remarkable about a bucket policy, before it is sent."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from fnmatch import fnmatchcase

from traindeck.domain.storage.access import CHANGING, Acl, abilities_words, covers, exposure
from traindeck.domain.storage.json_places import JsonPath, Located, NamedTwice, NotJson, TextPosition, located
from traindeck.domain.storage.policies import (
    BUCKET_ACTIONS,
    MOST_BYTES,
    OBJECT_ACTIONS,
    OF_BUCKETS,
    OF_OBJECTS,
    OPERATORS,
    PolicyForm,
    Statement,
    bare_action,
    bare_resource,
    statements_of,
    texts_in,
)
from traindeck.domain.texts import Text, text

_MEMBERS = (
    "Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition"
)  # fmt: skip
_OF_POLICY = {PolicyForm.OBS: ("Statement",), PolicyForm.S3: ("Statement", "Version", "Id")}
_WHO = {PolicyForm.OBS: ("ID", "Federated"), PolicyForm.S3: ("AWS", "Service", "CanonicalUser", "Federated")}
_ACCOUNT = re.compile(r"domain/[^:/\s]+(?::(?:user|agency|group)/\S+|:root)?")
_ACTIONS = {name.lower(): name for name in (*BUCKET_ACTIONS, *OBJECT_ACTIONS)}
_SET = re.compile(r"^(?:ForAnyValue|ForAllValues):")
_PROBLEMS = {
    "Expecting ',' delimiter": text("A comma or a closing bracket is missing here."),
    "Expecting ':' delimiter": text("A colon is missing after this name."),
    "Expecting value": text("A value is missing here, or is not valid JSON."),
    "Expecting property name enclosed in double quotes": text("A name in double quotes is missing here."),
    "Illegal trailing comma before end of object": text("Unexpected comma."),
    "Illegal trailing comma before end of array": text("Unexpected comma."),
    "Unterminated string starting at": text("The closing quotation mark of this string is missing."),
    "Invalid control character at": text("A string cannot span lines."),
    "Extra data": text("The document has ended before this."),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a policy: what, what to do, and where it stands."""

    title: Text
    hint: Text
    place: TextPosition | None = None
    is_error: bool = True
    """It cannot be sent so; else it can, and may be meant."""

    @property
    def sentence(self) -> Text:
        """With the place before it, as editors say it."""
        if self.place is None:
            return text("{title} {hint}", title=self.title, hint=self.hint)
        return text(
            "Line {line}, column {column}: {title} {hint}",
            line=self.place.line,
            column=self.place.column,
            title=self.title,
            hint=self.hint,
        )


def policy_findings(policy: str, bucket: str, form: PolicyForm) -> tuple[Finding, ...]:
    """Errors first; nothing for an empty text, which stands for no policy."""
    if not policy.strip():
        return ()
    try:
        size = len(policy.encode())
    except UnicodeEncodeError:
        return (
            Finding(
                text("The text contains an incomplete character."), text("Delete the characters shown as a box or “?”.")
            ),
        )
    too_long = Finding(
        text("The policy has {size} bytes; {most} are allowed.", size=f"{size:,}", most=f"{MOST_BYTES:,}"),
        text("Use wildcards and fewer statements, or remove spaces."),
    )
    if size > 4 * MOST_BYTES:
        return (too_long,)  # not worth reading
    try:
        document = located(policy)
    except NamedTwice as error:
        title = text("“{name}” appears twice.", name=error.problem)
        return (Finding(title, text("Only the last one would apply. Keep only one."), error.place),)
    except NotJson as error:
        hint = _PROBLEMS.get(error.problem, text("Correct this position; then “Format” works."))
        return (Finding(text("This is not JSON."), hint, error.place),)
    found = list(_Check(document, bucket, form).all())
    if size > MOST_BYTES:
        found.append(too_long)
    return tuple(sorted(found, key=lambda one: not one.is_error))


class _Check:
    """Goes through a document that could be read."""

    def __init__(self, document: Located, bucket: str, form: PolicyForm) -> None:
        self._document = document
        self._bucket = bucket
        self._form = form

    def all(self) -> Iterator[Finding]:
        policy = self._document.document
        if not isinstance(policy, dict):
            yield self._error((), text("A policy is a JSON object."), text("Begin with {{ and end with }}."))
            return
        yield from self._unknown(policy, (), _OF_POLICY[self._form])
        if "Statement" not in policy:
            yield self._error((), text("“Statement” is missing."), text('Add "Statement": [ … ] with the permissions.'))
            return
        statements = policy["Statement"]
        if isinstance(statements, dict):
            yield from self._statement(statements, ("Statement",))
            return
        if not isinstance(statements, list) or not statements:
            hint = text("Enter at least one statement in square brackets. For no policy, clear the text.")
            yield self._error(("Statement",), text("“Statement” is not a list of statements."), hint)
            return
        for number, statement in enumerate(statements):
            yield from self._statement(statement, ("Statement", number))

    def _statement(self, statement: object, way: JsonPath) -> Iterator[Finding]:
        if not isinstance(statement, dict):
            yield self._error(way, text("A statement is a JSON object."), text("Begin it with {{ and end it with }}."))
            return
        yield from self._unknown(statement, way, _MEMBERS)
        effect = statement.get("Effect")
        if effect not in ("Allow", "Deny"):
            title = text("“Effect” is missing.") if effect is None else text("“Effect” is neither Allow nor Deny.")
            yield self._error((*way, "Effect"), title, text("Enter “Allow” or “Deny”, with a capital letter."))
        checks = {"Principal": self._principal, "Action": self._actions, "Resource": self._resources}
        for name in checks:
            yield from self._either(statement, way, name)
        for name, check in checks.items():
            for spelled in (name, f"Not{name}"):
                if spelled in statement:
                    yield from check(statement[spelled], (*way, spelled))
        yield from self._pairs(statement, way)
        if "Condition" in statement:
            yield from self._conditions(statement["Condition"], (*way, "Condition"))

    def _either(self, statement: dict[str, object], way: JsonPath, name: str) -> Iterator[Finding]:
        if name in statement and f"Not{name}" in statement:
            title = text("Both “{name}” and “Not{name}” are specified.", name=name)
            yield self._error((*way, f"Not{name}"), title, text("Keep only one of them."))
        elif name not in statement and f"Not{name}" not in statement:
            hints = {
                "Principal": text("Specify the principal; “*” means everyone."),
                "Action": text("Specify the actions, for example “GetObject”."),
                "Resource": text(
                    "Specify the resource: “{bucket}” for the bucket, “{bucket}/*” for its objects.",
                    bucket=self._bucket,
                ),
            }
            yield self._error(way, text("“{name}” is missing.", name=name), hints[name])

    def _principal(self, principal: object, way: JsonPath) -> Iterator[Finding]:
        if principal == "*":
            return
        if not isinstance(principal, dict) or not principal:
            example = {
                PolicyForm.OBS: '{"ID": ["domain/…:user/*"]}',
                PolicyForm.S3: '{"AWS": ["arn:aws:iam::…:root"]}',
            }
            hint = text("Enter “*” for everyone, or {example}.", example=example[self._form])
            yield self._error(way, text("The principal is not recognized."), hint)
            return
        yield from self._unknown(principal, way, _WHO[self._form])
        for name, value in principal.items():
            yield from self._texts(value, (*way, name))
            if self._form is PolicyForm.OBS and name == "ID":
                yield from self._accounts(value, (*way, name))

    def _accounts(self, value: object, way: JsonPath) -> Iterator[Finding]:
        for at, account in self._each(value, way):
            if account != "*" and not _ACCOUNT.fullmatch(account):
                hint = text(
                    "Enter domain/<account ID>, optionally followed by :user/<user ID>, :user/* or :agency/<name>."
                )
                yield self._error(at, text("“{name}” is not a valid account.", name=account), hint)

    def _actions(self, value: object, way: JsonPath) -> Iterator[Finding]:
        yield from self._texts(value, way)
        for at, action in self._each(value, way):
            name = bare_action(action)
            if name != action and self._form is PolicyForm.OBS:
                title = text("“{name}” has a service prefix.", name=action)
                yield self._error(at, title, text("Enter only {name}.", name=name))
            elif not any(fnmatchcase(known, name.lower()) for known in _ACTIONS):
                near = get_close_matches(name.lower(), _ACTIONS, 1, 0.6)
                hint = text("Check the list of actions of the service. A wrong name has no effect or is rejected.")
                if near:
                    hint = text("Did you mean {name}?", name=_ACTIONS[near[0]])
                yield self._error(at, text("“{name}” is not a known action.", name=action), hint, may_be=not near)

    def _resources(self, value: object, way: JsonPath) -> Iterator[Finding]:
        yield from self._texts(value, way)
        for at, resource in self._each(value, way):
            name = bare_resource(resource)
            if name != resource and self._form is PolicyForm.OBS:
                yield self._error(
                    at, text("OBS does not accept an ARN as “Resource”."), text("Enter only {name}.", name=name)
                )
            elif name.partition("/")[0] != self._bucket:
                hint = text("Enter “{bucket}”, “{bucket}/*” or “{bucket}/folder/*”.", bucket=self._bucket)
                yield self._error(at, text("“{name}” is not in this bucket.", name=resource), hint)

    def _pairs(self, statement: dict[str, object], way: JsonPath) -> Iterator[Finding]:
        """Actions that no resource of the statement fits, so that it never takes effect."""
        resources = [bare_resource(one) for one in texts_in(statement.get("Resource"))]
        if not resources:
            return
        has_bucket = any("/" not in one for one in resources)
        has_objects = any("/" in one or one.endswith("*") for one in resources)
        for at, action in self._each(statement.get("Action"), (*way, "Action")):
            name = bare_action(action)
            if name.lower() in OF_BUCKETS and not has_bucket:
                title = text("{name} applies to the bucket, but only objects are specified.", name=name)
                hint = text("Add “{bucket}” to “Resource”; otherwise it has no effect.", bucket=self._bucket)
                yield self._error(at, title, hint, may_be=True)
            elif name.lower() in OF_OBJECTS and not has_objects:
                title = text("{name} applies to objects, but only the bucket is specified.", name=name)
                hint = text("Add “{bucket}/*” to “Resource”; otherwise it has no effect.", bucket=self._bucket)
                yield self._error(at, title, hint, may_be=True)

    def _conditions(self, conditions: object, way: JsonPath) -> Iterator[Finding]:
        if not isinstance(conditions, dict):
            yield self._error(
                way, text("“Condition” is not a JSON object."), text("Enter an operator, a key and values.")
            )
            return
        for name, keys in conditions.items():
            operator = _SET.sub("", name).removesuffix("IfExists")
            if operator not in OPERATORS:
                near = get_close_matches(operator, OPERATORS, 1, 0.6)
                hint = text("Examples: StringEquals, StringLike, IpAddress, Bool and DateLessThan.")
                if near:
                    hint = text("Did you mean {name}?", name=near[0])
                yield self._error((*way, name), text("“{name}” is not a known operator.", name=name), hint)
            if not isinstance(keys, dict) or not keys:
                hint = text('Enter for example "{name}": {{"SourceIp": "10.0.0.0/8"}}.', name=name)
                yield self._error((*way, name), text("“{name}” has no keys to compare.", name=name), hint)
                continue
            for key, value in keys.items():
                yield from self._condition_values(operator, value, (*way, name, key))

    def _condition_values(self, operator: str, value: object, way: JsonPath) -> Iterator[Finding]:
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, str | int | float | bool) for one in values):
            yield self._error(way, text("A condition needs values."), text("Enter one string or number, or a list."))
            return
        for number, one in enumerate(values):
            problem = _value_problem(operator, str(one).lower() if isinstance(one, bool) else str(one))
            if problem is not None:
                at = (*way, number) if isinstance(value, list) else way
                yield self._error(
                    at, text("“{value}” is not valid for {operator}.", value=one, operator=operator), problem
                )

    def _unknown(self, members: dict[str, object], way: JsonPath, known: Sequence[str]) -> Iterator[Finding]:
        for name in members:
            if name in known:
                continue
            if name == "Version" and self._form is PolicyForm.OBS:
                continue  # copied from S3's documentation, and harmless
            near = get_close_matches(name.title(), known, 1, 0.6)
            hint = text("Available: {names}.", names=", ".join(known))
            if near:
                hint = text("Did you mean {name}?", name=near[0])
            yield self._error((*way, name), text("“{name}” is not allowed here.", name=name), hint)

    def _texts(self, value: object, way: JsonPath) -> Iterator[Finding]:
        if isinstance(value, str) and value.strip():
            return
        if not isinstance(value, list) or not value:
            yield self._error(
                way, text("“{name}” is empty.", name=way[-1]), text("Enter a string, or a list of strings.")
            )
            return
        for number, one in enumerate(value):
            if not isinstance(one, str) or not one.strip():
                title = text("“{name}” contains a value that is not a string.", name=way[-1])
                yield self._error((*way, number), title, text("Put it in double quotes."))

    def _each(self, value: object, way: JsonPath) -> Iterator[tuple[JsonPath, str]]:
        if isinstance(value, str):
            yield way, value
        elif isinstance(value, list):
            for number, one in enumerate(value):
                if isinstance(one, str):
                    yield (*way, number), one

    def _error(self, way: JsonPath, title: Text, hint: Text, *, may_be: bool = False) -> Finding:
        return Finding(title, hint, self._document.place(way), is_error=not may_be)


def _value_problem(operator: str, value: str) -> Text | None:
    try:
        if operator in ("IpAddress", "NotIpAddress"):
            ipaddress.ip_network(value, strict=False)
        elif operator.startswith("Numeric"):
            float(value)
        elif operator.startswith("Date") and not value.replace(".", "").isdigit():
            datetime.fromisoformat(value)
        elif operator in ("Bool", "Null") and value.lower() not in ("true", "false"):
            return text("Enter true or false.")
    except ValueError:
        if "Ip" in operator:
            return text("Enter an IP address such as 10.1.2.3 or a range such as 10.0.0.0/8.")
        if operator.startswith("Date"):
            return text("Enter a time such as 2026-01-31T12:00:00Z.")
        return text("Enter a number.")
    return None


_WORK = ("ListBucket", "GetObject", "PutObject", "DeleteObject")
_TAKING_BACK = ("PutBucketPolicy", "DeleteBucketPolicy")


def policy_effects(bucket: str, policy: str, acl: Acl | None) -> tuple[Finding, ...]:
    """Warnings about a policy that could be sent; with the grants beside it, as far as they are known."""
    found = denials_of_owner(bucket, policy, acl)
    anybody = exposure(bucket, policy, acl).anybody
    if not anybody:
        return found
    hint = text("This needs no account. You are charged for downloads.")
    if anybody & CHANGING:
        hint = text("This needs no account. Your data can be replaced, and you are charged for what others store.")
    title = text("Anyone on the internet can {what}.", what=abilities_words(anybody))
    return (Finding(title, hint, is_error=False), *found)


def denials_of_owner(bucket: str, policy: str, acl: Acl | None) -> tuple[Finding, ...]:
    """Where whoever owns the bucket is denied something, too."""
    found: list[Finding] = []
    for statement in statements_of(policy) or ():
        if not statement.allows and _is_about_owner(statement, acl.owner if acl else ""):
            one = _lock_out(bucket, statement)
            if one is not None and one not in found:
                found.append(one)
    return tuple(found)


def _lock_out(bucket: str, statement: Statement) -> Finding | None:
    def is_denied(action: str) -> bool:
        places = [f"{bucket}/*", *statement.resources] if action in OBJECT_ACTIONS else [bucket]
        return any(covers(statement, action, place) for place in places if action not in OBJECT_ACTIONS or "/" in place)

    names = ", ".join(action for action in _WORK if is_denied(action))
    if any(is_denied(action) for action in _TAKING_BACK):
        title = text("This denies yourself the permission to change or delete the policy.")
        if statement.has_condition:
            title = text("If its condition is met, a denial also applies to you, and to undoing it.")
        hint = text("You may need the console or support to regain access.")
    elif not names:
        return None
    elif statement.has_condition:
        title = text("If its condition is met, this denies yourself: {names}.", names=names)
        hint = text("Make sure that the condition does not match your own computer.")
    else:
        title = text("This denies yourself: {names}.", names=names)
        hint = text("Denials override everything else. Specify the principals, or use “NotPrincipal”.")
    return Finding(title, hint, is_error=False)


def _is_about_owner(statement: Statement, owner: str) -> bool:
    is_named = bool(owner) and any(owner in name for name in statement.names)
    if statement.is_for_others:
        return not is_named and "*" not in statement.names
    return is_named or "*" in statement.names
