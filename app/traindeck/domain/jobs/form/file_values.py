"""The values of the form as they stand in a job file, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from traindeck.domain.jobs.form.form_field import FieldKind, FormField
from traindeck.domain.jobs.job_spec import (
    Channel,
    ChannelAccess,
    ChannelStyle,
    Scalar,
    Target,
    Volume,
    VolumeKind,
    wire_value,
)
from traindeck.domain.texts import Text, text

_TEXT = text("a string in quotes")


class WrongValueError(Exception):
    """A value is not of the kind its field takes."""

    def __init__(self, wanted: Text) -> None:
        super().__init__(wanted.in_english())
        self.wanted = wanted


def from_toml(field: FormField, key: str, value: object, *, is_lenient: bool = False) -> Any:
    """The value of a field, or of one row of it; lenient: as well as it can be read."""
    match field.kind:
        case FieldKind.WORDS:
            return _words(value)
        case FieldKind.TARGET:
            return _one_of(Target, value)
        case FieldKind.WHOLE:
            if not isinstance(value, int) or isinstance(value, bool):
                raise WrongValueError(text("a whole number"))
            return value
        case FieldKind.YES_NO:
            return _yes_no(value)
        case FieldKind.LIST:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise WrongValueError(text("a list of strings"))
            return tuple(value)
        case FieldKind.PAIRS:
            return key, _words(value)
        case FieldKind.PARAMETERS:
            return key, _scalar(value, is_lenient=is_lenient)
        case FieldKind.CHANNELS:
            return _channel(key, value, _place_key(field), is_lenient=is_lenient)
        case FieldKind.VOLUMES:
            if not isinstance(value, list):
                raise WrongValueError(text("tables, each written [[{table}]]", table=field.table))
            return tuple(_volume(row) for row in value)


def to_toml_value(field: FormField, value: Any) -> Any:
    """What stands in the file for a value; of a row, its name and what stands there."""
    match field.kind:
        case FieldKind.TARGET:
            return str(value)
        case FieldKind.LIST:
            return list(value)
        case FieldKind.CHANNELS:
            return value.name, _channel_value(value, _place_key(field))
        case FieldKind.VOLUMES:
            return _volume_value(value)
        case _:
            return value


def _words(value: object) -> str:
    if not isinstance(value, str):
        raise WrongValueError(_TEXT)
    return value


def _yes_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongValueError(text("true or false"))
    return value


def _one_of(kind: Any, value: object) -> Any:
    if not isinstance(value, str):
        raise WrongValueError(_TEXT)
    try:
        return kind(value)
    except ValueError:
        raise WrongValueError(text("one of {choices}", choices=", ".join(f"“{one}”" for one in kind))) from None


def _scalar(value: object, *, is_lenient: bool) -> Scalar:
    if not isinstance(value, (str, int, float, bool)):
        raise WrongValueError(text("a string, a number, true or false"))
    if isinstance(value, float) and not math.isfinite(value):
        if not is_lenient:
            raise WrongValueError(text("a finite number, or a string in quotes"))
        return wire_value(value)
    return value


def _place_key(field: FormField) -> str:
    return "from" if field.name == "inputs" else "to"


def _channel(name: str, value: object, place_key: str, *, is_lenient: bool) -> Channel:
    if isinstance(value, str):
        return Channel(name, value)
    if not isinstance(value, Mapping):
        raise WrongValueError(text("an OBS path in quotes, or {{ {key} = “obs://…”, … }}", key=place_key))
    known = (place_key, "as", "style", "local_dir")
    unknown = [key for key in value if key not in known]
    if unknown and not is_lenient:
        raise WrongValueError(text("made of {known}, not “{key}”", known=", ".join(known), key=unknown[0]))
    return Channel(
        name,
        _words(value.get(place_key, "")),
        _one_of(ChannelAccess, value.get("as", ChannelAccess.PARAMETER.value)),
        _one_of(ChannelStyle, value.get("style", ChannelStyle.LOCAL.value)),
        _words(value.get("local_dir", "")),
    )


def _channel_value(channel: Channel, place_key: str) -> Any:
    """The place alone where nothing else is said."""
    if channel == Channel(channel.name, channel.place):
        return channel.place
    from tomlkit import inline_table

    table = inline_table()
    table[place_key] = channel.place
    if channel.access is not ChannelAccess.PARAMETER:
        table["as"] = channel.access.value
    if channel.style is not ChannelStyle.LOCAL:
        table["style"] = channel.style.value
    if channel.local_dir:
        table["local_dir"] = channel.local_dir
    return table


def _volume(row: object) -> Volume:
    kinds = [kind.value for kind in VolumeKind]
    sources = [key for key in row if key in kinds] if isinstance(row, Mapping) else []
    if not isinstance(row, Mapping) or len(sources) != 1:
        raise WrongValueError(text("tables, each with one of {kinds}, and “mount”", kinds=", ".join(kinds)))
    unknown = [key for key in row if key not in (*sources, "mount", "read_only")]
    if unknown:
        raise WrongValueError(text("made of {known}, not “{key}”", known="mount, read_only", key=unknown[0]))
    return Volume(
        VolumeKind(sources[0]),
        _words(row[sources[0]]),
        _words(row.get("mount", "")),
        _yes_no(row.get("read_only", False)),
    )


def _volume_value(volume: Volume) -> dict[str, Any]:
    written: dict[str, Any] = {volume.kind.value: volume.source, "mount": volume.mount}
    return written | {"read_only": True} if volume.read_only else written
