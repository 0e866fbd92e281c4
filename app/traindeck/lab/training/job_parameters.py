"""What the values of a job's or an algorithm's parameters may be, by the constraints given with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from traindeck.lab.training.api.routes import (
    RefusedError,
    checked_name,
    list_in,
    object_in,
    text_in,
)

_TYPES = ("String", "Integer", "Float", "Boolean")
_RULES = ("None", "Choice", "Range")


@dataclass(frozen=True)
class Parameter:
    """One parameter with its value and what that value may be."""

    name: str
    value: str
    type: str
    is_editable: bool
    is_required: bool
    rule: str
    range: tuple[str, ...]

    def check_value(self, value: str, *, is_default: bool) -> None:
        """Raises where `value` is not allowed; the codes differ for an algorithm's default."""
        if not value:
            return
        number = _number(value, self.type)
        of_type, of_choice, of_range = ("2768", "2769", "2769") if is_default else ("2825", "2765", "2816")
        if self.type != "String" and number is None:
            raise RefusedError(of_type, f"the value {value!r} of the parameter {self.name} is no {self.type}")
        if self.rule == "Choice" and value not in self.range:
            raise RefusedError(of_choice, f"the parameter {self.name} must be one of {', '.join(self.range)}")
        if self.rule == "Range" and number is not None and not float(self.range[0]) <= number <= float(self.range[1]):
            raise RefusedError(of_range, f"the parameter {self.name} must be from {' to '.join(self.range)}")


def check_values(parameters: list[Parameter]) -> None:
    """For a job: every value must be allowed."""
    for parameter in parameters:
        if parameter.is_required and not parameter.value:
            raise RefusedError("2788", f"the parameter {parameter.name} is required")
        parameter.check_value(parameter.value, is_default=False)


def check_defaults(parameters: list[Parameter]) -> None:
    """For an algorithm: the defaults must be allowed, and there must be one where the user cannot give a value."""
    for parameter in parameters:
        if not parameter.is_editable and not parameter.value:
            raise RefusedError("2766", f"the parameter {parameter.name} cannot be edited and so needs a default value")
        parameter.check_value(parameter.value, is_default=True)


def check_names(names: list[str]) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise RefusedError("2767", f"the parameter {repeated} is given more than once")


def overridden(own: list[Any], given: list[Any], *, may_add: bool) -> list[dict[str, Any]]:
    """The rows of an algorithm's parameters with the values a job gives."""
    values = {_name(row): row for row in given}
    rows = [dict(row) for row in own]
    for row in rows:
        name = row["name"]
        if name not in values:
            continue
        value = _value(name, values.pop(name))
        if object_in(row, "constraint").get("editable") is False and value != (row.get("value") or ""):
            raise RefusedError("2814", f"the algorithm does not let the parameter {name} be changed")
        row["value"] = value
    if values and not may_add:
        raise RefusedError("2814", f"the algorithm has no parameter {next(iter(values))}")
    return [*rows, *(dict(row) for row in values.values())]


def read_parameter(row: Any) -> Parameter:
    name = _name(row)
    constraint = object_in(row, "constraint")
    kind = text_in(constraint, "type") or "String"
    rule = text_in(constraint, "valid_type") or "None"
    limits = list_in(constraint, "valid_range")
    if kind not in _TYPES or rule not in _RULES:
        raise RefusedError("2788", f"the constraint of the parameter {name} has an unknown type")
    if (rule == "Range" and not _is_range(limits, kind)) or not all(isinstance(limit, str) for limit in limits):
        raise RefusedError("2770", f"the range of the parameter {name} must be two numbers as texts, the lower first")
    return Parameter(
        name=name,
        value=_value(name, row),
        type=kind,
        is_editable=constraint.get("editable") is not False,
        is_required=constraint.get("required") is True,
        rule=rule,
        range=tuple(limits),
    )


def _name(row: Any) -> str:
    return checked_name(row.get("name") if isinstance(row, Mapping) else None, "the name of every parameter")


def _value(name: str, row: Mapping[str, Any]) -> str:
    value = row.get("value")
    if value is not None and not isinstance(value, str):
        raise RefusedError("2825", f"the value of the parameter {name} must be a text")
    return value or ""


def _is_range(limits: list[Any], kind: str) -> bool:
    kind = "Float" if kind == "String" else kind
    found = [_number(limit, kind) for limit in limits if isinstance(limit, str)]
    numbers = [number for number in found if number is not None]
    return len(limits) == len(numbers) == 2 and numbers[0] <= numbers[1]


def _number(text: str, kind: str) -> float | None:
    """The number a value stands for; None where it is not of that type."""
    try:
        if kind == "Integer":
            return float(int(text))
        if kind == "Float":
            return float(text)
    except ValueError:
        return None
    if kind == "Boolean":
        return {"true": 1.0, "false": 0.0}.get(text.lower())
    return None
