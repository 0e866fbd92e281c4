"""absl, and the flags of TensorFlow 1 that are the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from traindeck.domain.scripts.arguments import ArgumentKind, ArgumentSource, ScriptArgument
from traindeck.services.scripts.reading.calls_made import CallMade
from traindeck.services.scripts.reading.kinds import words_of
from traindeck.services.scripts.reading.values import UNKNOWN, ClassValue, EnumMember, External, is_plain

_KINDS = {
    "string": ArgumentKind.TEXT, "integer": ArgumentKind.WHOLE, "float": ArgumentKind.NUMBER,
    "bool": ArgumentKind.YES_NO, "boolean": ArgumentKind.YES_NO, "enum": ArgumentKind.TEXT,
    "enum_class": ArgumentKind.TEXT, "list": ArgumentKind.LIST, "spaceseplist": ArgumentKind.LIST,
    "multi_string": ArgumentKind.LIST, "multi_integer": ArgumentKind.LIST, "multi_float": ArgumentKind.LIST,
    "multi_enum": ArgumentKind.LIST, "multi_enum_class": ArgumentKind.LIST, "alias": ArgumentKind.UNKNOWN,
}  # fmt: skip
DEFINERS = tuple(f"DEFINE_{kind}" for kind in _KINDS)
MARKERS = ("mark_flag_as_required", "mark_flags_as_required")
OWN = frozenset({
    "verbosity", "v", "logtostderr", "alsologtostderr", "log_dir", "stderrthreshold", "showprefixforinfo",
    "logger_levels", "pdb", "run_with_pdb", "pdb_post_mortem", "run_with_profiling", "profile_file",
    "use_cprofile_for_profiling", "only_check_args", "flagfile", "undefok", "help", "helpfull", "helpshort",
})  # fmt: skip
"""Those that absl brings along."""


@dataclass(eq=False, slots=True)
class AbslFlags:
    """All flags of one program: there is one list of them."""

    arguments: dict[str, ScriptArgument] = field(default_factory=dict)
    is_whole: bool = True

    def define(self, made: CallMade, kind: External) -> object:
        what = kind.last.removeprefix("DEFINE_")
        name = made.value(0, "name")
        if not isinstance(name, str):
            self.is_whole = False
            return UNKNOWN
        has_values = what in ("enum", "enum_class", "multi_enum", "multi_enum_class")
        default = made.value(1, "default", made.named.get("default_value"))
        help_words = made.value(3 if has_values else 2, "help", made.named.get("docstring", ""))
        choices = _choices(made.value(2, "enum_class" if "class" in what else "enum_values")) if has_values else ()
        is_known = is_plain(default)
        if isinstance(default, EnumMember):
            default, is_known = default.name.lower() if "class" in what else default.value, True
        if what in ("list", "spaceseplist") and isinstance(default, str):
            default = [one.strip() for one in (default.split(",") if what == "list" else default.split())]
        if what.startswith("multi_") and is_plain(default) and not isinstance(default, list | tuple | None):
            default = [default]
        written = made.written(1, "default")
        flags = (f"--{name}", f"--no{name}") if _KINDS[what] is ArgumentKind.YES_NO else (f"--{name}",)
        if isinstance(short := made.named.get("short_name"), str):
            flags = (*flags, f"-{short}")
        self.arguments[name] = ScriptArgument(
            name=name, flags=flags, kind=_KINDS[what], default=default if is_known else None, choices=choices,
            is_required=made.named.get("required") is True, file=made.file, line=made.line, dest=name,
            help=" ".join(help_words.split()) if isinstance(help_words, str) else "",
            is_sure=what != "alias", default_source="" if is_known or written is None else words_of(written),
            type_source=what, source=ArgumentSource.ABSL,
        )  # fmt: skip
        return UNKNOWN

    def mark(self, made: CallMade, kind: External) -> object:
        names = made.value(0, "flag_name" if kind.last == MARKERS[0] else "flag_names")
        for name in names if isinstance(names, list | tuple) else [names]:
            if isinstance(name, str) and name in self.arguments:
                self.arguments[name] = replace(self.arguments[name], is_required=True)
        return UNKNOWN

    def set_default(self, made: CallMade) -> None:
        name, value = made.value(0, "name"), made.value(1, "value")
        if isinstance(name, str) and name in self.arguments:
            known, written = is_plain(value), made.written(1, "value")
            source = "" if known or written is None else words_of(written)
            self.arguments[name] = replace(
                self.arguments[name], default=value if known else None, default_source=source
            )


def _choices(found: object) -> tuple[object, ...]:
    if isinstance(found, ClassValue) and found.is_enum:
        return tuple(name.lower() for name, one in found.names.items() if is_plain(one) and not name.startswith("_"))
    return tuple(found) if isinstance(found, list | tuple) and is_plain(found) else ()
