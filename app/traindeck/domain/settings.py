"""Every setting, declared once: the page, the search, the file and the palette are made from this."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import Text, say, text

SettingValue = str | int | bool
Value = TypeVar("Value", str, int, bool)

MOST_FILE_BYTES = 64 * 1024
_MEGABYTE, _MEBIBYTE = 1000 * 1000, 1024 * 1024


class SettingSection(Enum):
    """The headings of the page, in its order."""

    LOOKS = text("Appearance")
    TRANSFERS = text("Transfers")
    NOTICES = text("Notifications")
    LAB = text("The Lab")
    RECORDS = text("Records")


@dataclass(frozen=True, slots=True)
class Setting(ABC, Generic[Value]):
    """`key` is its name in the files; it never changes."""

    key: str
    section: SettingSection
    title: Text
    help: Text
    default: Value

    @abstractmethod
    def checked(self, value: object) -> Value:
        """The value as it is kept; raises InvalidInput for one that cannot be."""

    def _refused(self, value: object, hint: Text) -> InvalidInput:
        shown = value if isinstance(value, str) else json.dumps(value, default=str)
        return InvalidInput(
            text("“{value}” cannot be used for the setting “{setting}”.", value=shown[:100], setting=self.title), hint
        )


@dataclass(frozen=True, slots=True)
class Switch(Setting[bool]):
    def checked(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise self._refused(value, text("Enter true or false."))
        return value


@dataclass(frozen=True, slots=True)
class OneOf(Setting[str]):
    choices: tuple[tuple[str, Text], ...] = ()

    def checked(self, value: object) -> str:
        known = [name for name, _ in self.choices]
        if not isinstance(value, str) or value not in known:
            raise self._refused(value, text("Enter one of: {names}.", names=", ".join(f"“{name}”" for name in known)))
        return value


@dataclass(frozen=True, slots=True)
class Number(Setting[int]):
    """Kept in its smallest unit; people see it divided by `scale`, with `unit` behind it."""

    low: int = 0
    high: int = 0
    scale: int = 1
    unit: Text | None = None
    zero: Text | None = None
    """What 0 means, where it is allowed below `low`."""

    def words(self, value: int) -> str:
        """As people type it."""
        return f"{value / self.scale:.2f}".rstrip("0").rstrip(".")

    def parsed(self, typed: str) -> int:
        """What was typed, in the unit of the setting; raises InvalidInput."""
        try:
            amount = float(typed.strip().replace(",", "") or "0")
            return self.checked(round(amount * self.scale))
        except (ValueError, OverflowError, InvalidInput) as error:
            low, high = f"{self.low / self.scale:,g}", f"{round(self.high / self.scale):,}"
            hint = text("Enter a number from {low} to {high}.", low=low, high=high)
            if self.zero is not None:
                hint = text("Enter a number from {low} to {high}, or 0: {zero}.", low=low, high=high, zero=self.zero)
            raise self._refused(typed, hint) from error

    def checked(self, value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and self._allows(value):
            return value
        if self.zero is not None:
            hint = text("Enter 0 or a whole number from {low} to {high}.", low=self.low, high=self.high)
        else:
            hint = text("Enter a whole number from {low} to {high}.", low=self.low, high=self.high)
        raise self._refused(value, hint)

    def _allows(self, value: int) -> bool:
        return self.low <= value <= self.high or (value == 0 and self.zero is not None)


@dataclass(frozen=True, slots=True)
class FilePath(Setting[str]):
    """A file of this computer by its whole path; empty is the usual one."""

    def checked(self, value: object) -> str:
        if not isinstance(value, str) or len(value) > 4096 or not (value.isprintable() or not value):
            raise self._refused(value, text("Enter the path of a file on one line."))
        return value.strip()


@dataclass(frozen=True, slots=True)
class WebAddress(Setting[str]):
    """Of a program of the user's; empty is none. Whoever knows it may be let in by it, so it goes into no report."""

    def checked(self, value: object) -> str:
        if isinstance(value, str) and len(value) <= 4096 and (not value.strip() or _is_web_address(value.strip())):
            return value.strip()
        raise InvalidInput(
            text("This address cannot be used for the setting “{setting}”.", setting=self.title),
            text("Enter an address that begins with https://, without a user name."),
        )


def _is_web_address(words: str) -> bool:
    """HTTPS, or this computer."""
    if not words.isprintable() or " " in words:
        return False
    try:
        parts = urlsplit(words)
        is_here = parts.hostname in ("127.0.0.1", "localhost")
        return (
            bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
            and (parts.scheme == "https" or (parts.scheme == "http" and is_here))
        )
    except ValueError:
        return False


THEME = OneOf(
    "theme", SettingSection.LOOKS, text("Theme"), text("The colors of the window."), "",
    (("", text("As the system")), ("light", text("Light")), ("dark", text("Dark"))),
)  # fmt: skip
LANGUAGE = OneOf(
    "language", SettingSection.LOOKS, text("Language"), text("The language of the window; it is built again at once."),
    "",
    # Each is named in itself: who cannot read the present one finds the way back.
    (("", text("As the system")), ("en", Text("English")), ("zh_CN", Text("简体中文"))),
)  # fmt: skip
RATE = Number(
    "bytes_per_s", SettingSection.TRANSFERS, text("Rate limit"), text("How fast all transfers together may be."), 0,
    low=10_000, high=100_000 * _MEGABYTE, scale=_MEGABYTE, unit=Text("MB/s"), zero=text("No limit"),
)  # fmt: skip
REQUESTS = Number(
    "requests_at_once", SettingSection.TRANSFERS, text("Requests at a time"),
    text("How many requests a transfer makes at a time, at most. It applies to new transfers of the window."), 0,
    low=1, high=256, zero=text("Automatic"),
)  # fmt: skip
PART_BYTES = Number(
    "part_bytes", SettingSection.TRANSFERS, text("Part size"),
    text("How large the parts of large objects are. It applies to new transfers of the window."), 0,
    low=_MEBIBYTE, high=5 * 1024 * _MEBIBYTE, scale=_MEBIBYTE, unit=Text("MiB"), zero=text("Automatic"),
)  # fmt: skip
LINKS = OneOf(
    "links", SettingSection.TRANSFERS, text("Symbolic links"), text("What an upload or a new sync does with links."),
    "skip",
    (("skip", text("Skip them")), ("follow", text("Upload their targets")),
     ("keep", text("Keep them as links"))),
)  # fmt: skip
STORE_MD5 = Switch(
    "store_md5", SettingSection.TRANSFERS, text("Store the MD5 of large files"),
    text("The MD5 of the whole file goes into the metadata, besides that of each part; large files are read twice."),
    False,
)  # fmt: skip
PACK_ADVICE = Switch(
    "pack_advice", SettingSection.TRANSFERS, text("Offer to pack many small files"),
    text("Before an upload of very many small files, offer to pack them into tar shards."), True,
)  # fmt: skip
LAB_STARTS = Switch(
    "lab_starts", SettingSection.LAB, text("Start the Lab with the window"),
    text("If this is off, start it with Account → The Lab."), True,
)  # fmt: skip
LAB_IDLE = Number(
    "lab_idle_minutes", SettingSection.LAB, text("End when idle for"),
    text("A Lab that no window owns ends after this time without requests and jobs. It applies at its next start."), 10,
    low=1, high=7 * 24 * 60, unit=text("minutes"),
)  # fmt: skip
LAB_PYTHON = FilePath(
    "lab_python", SettingSection.LAB, text("Python for jobs"),
    text("The Python that runs the jobs of the Lab, unless lab.toml specifies one for their engine. "
         "If it is empty, one is found. It applies at the next start of the Lab."), "",
)  # fmt: skip
APP_LOG = Number(
    "app_log_bytes", SettingSection.RECORDS, text("Size of the program's log"),
    text("The newest log file and two older ones are kept, each up to this size. It applies at the next start."),
    2 * _MEGABYTE, low=_MEGABYTE, high=100 * _MEGABYTE, scale=_MEGABYTE, unit=Text("MB"),
)  # fmt: skip

LOGS_IN_PROJECT = Switch(
    "logs_in_project", SettingSection.RECORDS, text("Logs in the code directory, too"),
    text("Copy the logs of runs to MA_LOG in their code directory. They are also kept in the records."), False,
)  # fmt: skip

AnySetting = Setting[str] | Setting[int] | Setting[bool]
EVENTS_KEPT = Number(
    "events_kept", SettingSection.RECORDS, text("Events kept"), text("How many events are kept; the oldest go first."),
    10_000, low=100, high=100_000, unit=text("events"),
)  # fmt: skip
NOTICES: Mapping[str, Switch] = {
    kind: Switch(f"notice_{kind}", SettingSection.NOTICES, title, help, True)
    for kind, title, help in (
        ("run_finished", text("Run completed"), text("When a run has completed.")),
        ("run_failed", text("Run failed"), text("When a run has failed, or was not submitted.")),
        ("run_stopped", text("Run stopped"), text("When a run was stopped, by a user or by its time limit.")),
        (
            "run_hangs",
            text("Run may hang"),
            text("When a running job has neither output nor activity for a while, or leaves its NPU or GPU idle."),
        ),
        ("run_nan", text("Loss is NaN"), text("When a loss or a score of a run becomes NaN or infinite.")),
        ("line_found", text("Line found in a log"), text("When a rule of yours finds a line in the log of a run.")),
        ("transfer_done", text("Transfer finished"), text("When a transfer has finished.")),
        ("transfer_failed", text("Transfer failed"), text("When a transfer has failed, as a whole or in part.")),
        ("keys_refused", text("Keys refused"), text("When a service refuses the keys of an account.")),
        ("money", text("Monthly limit"), text("When 80 % of the monthly limit is used, and when all of it is.")),
    )
}
HANG_MINUTES = Number(
    "hang_minutes", SettingSection.NOTICES, text("Silence of a run that may hang"),
    text("After so long without output and activity; nothing is stopped."), 10,
    low=1, high=24 * 60, unit=text("minutes"),
)  # fmt: skip
WEBHOOK = WebAddress(
    "webhook", SettingSection.NOTICES, text("Webhook"),
    text("The notifications above about runs and money are sent there, too, as JSON by HTTPS POST: kind, name, state, "
         "reason. No keys, no log."), "",
)  # fmt: skip
TRAY = Switch(
    "tray_icon", SettingSection.NOTICES, text("Icon in the notification area"),
    text("It shows the active jobs in its menu, where the desktop has such an area."), True,
)  # fmt: skip

SETTINGS: tuple[AnySetting, ...] = (
    THEME, LANGUAGE,
    RATE, REQUESTS, PART_BYTES, LINKS, STORE_MD5, PACK_ADVICE,
    LAB_STARTS, LAB_IDLE, LAB_PYTHON,
    *NOTICES.values(), HANG_MINUTES, WEBHOOK, TRAY,
    APP_LOG, EVENTS_KEPT, LOGS_IN_PROJECT,
)  # fmt: skip
BY_KEY: Mapping[str, AnySetting] = {setting.key: setting for setting in SETTINGS}


def value_of(chosen: Mapping[str, SettingValue], setting: Setting[Value]) -> Value:
    """The user's, else the default."""
    return setting.checked(chosen[setting.key]) if setting.key in chosen else setting.default


def hang_wait(value: Callable[[Setting[Any]], Any]) -> timedelta | None:
    """How long a silence is too long; None: nobody wants to know."""
    is_wanted = value(NOTICES["run_hangs"])
    return timedelta(minutes=value(HANG_MINUTES)) if is_wanted else None


def matching_settings(typed: str) -> list[AnySetting]:
    """Those whose words hold every typed word; what is not in the present language is found by its key."""
    words = typed.casefold().split()

    def said(setting: AnySetting) -> str:
        names = [name for _, name in setting.choices] if isinstance(setting, OneOf) else []
        parts = [setting.section.value, setting.title, setting.help, *names]
        return " ".join([setting.key, *map(say, parts), *(part.in_english() for part in parts)]).casefold()

    return [setting for setting in SETTINGS if all(word in said(setting) for word in words)]


def to_toml(chosen: Mapping[str, SettingValue]) -> str:
    """What the user chose; what is as it comes stands there as a comment, to be found."""
    lines = [f"# {say('Settings of TrainDeck. Accounts and keys are not in this file.')}"]
    for section in SettingSection:
        lines += ["", f"# {say(section.value)}"]
        for setting in SETTINGS:
            if setting.section is section:
                is_chosen = setting.key in chosen
                value = chosen[setting.key] if is_chosen else setting.default
                lines.append(f"{'' if is_chosen else '# '}{setting.key} = {_toml(value)}  # {say(setting.title)}")
    return "\n".join(lines) + "\n"


def _toml(value: SettingValue) -> str:
    return json.dumps(value, ensure_ascii=False)  # what can be printed is written alike in both


def from_toml(source: str) -> dict[str, SettingValue]:
    """All of it or nothing: raises InvalidInput for the first setting that cannot be used."""
    import tomllib  # seldom needed

    try:
        content = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            text("The settings file is not valid TOML: {problem}.", problem=str(error).rstrip(".")),
            text("Compare it with a file written by Export. Nothing was changed."),
            str(error),
        ) from error
    found: dict[str, SettingValue] = {}
    for key, value in content.items():
        if key not in BY_KEY:
            raise _unknown(key)
        found[key] = BY_KEY[key].checked(value)
    return found


def _unknown(key: str) -> InvalidInput:
    import difflib

    nearest = difflib.get_close_matches(key, BY_KEY, 1, 0.5)
    hint = text("Did you mean “{nearest}”? Nothing was changed.", nearest=nearest[0]) if nearest else None
    return InvalidInput(
        text("TrainDeck has no setting “{name}”.", name=key[:100]),
        hint or text("Remove it from the file. Nothing was changed."),
    )
