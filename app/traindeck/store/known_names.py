"""The names a home knows by heart, for completing what is typed: read at once, changed by nobody, never an error."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path

from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.errors import AppError
from traindeck.store.object_index import index_file, level_beginning_with
from traindeck.store.paths import Paths
from traindeck.store.settings import Settings, SettingsFile

_MOST = 200
_SCHEME = "obs://"
# A window may be writing; whoever types does not wait for it.
_PATIENCE_S = 0.1
_UNREADABLE = (sqlite3.Error, AppError, OSError, ValueError, TypeError, KeyError)


class KnownNames:
    """What is in the records, the settings and the listings of this home; no service is asked."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    def accounts(self) -> list[str]:
        return [LAB, *(profile.name for profile in self._settings().profiles)]

    def runs(self) -> list[str]:
        """The ids, newest first."""
        query = "SELECT id FROM runs ORDER BY number DESC LIMIT ?"
        return [str(run) for (run,) in self._rows(self._paths.database, query, (_MOST,))]

    def made_of(self, run: str) -> tuple[str, str] | None:
        """The bundle of a run and the text of its form; named by its id, the beginning of id or name, or “last”."""
        query = (
            "SELECT bundle, spec FROM runs WHERE ?1 = 'last' OR substr(id, 1, length(?1)) = ?1"
            " OR substr(name, 1, length(?1)) = ?1 ORDER BY id = ?1 DESC, number DESC LIMIT 1"
        )
        return next(
            ((str(bundle), str(spec)) for bundle, spec in self._rows(self._paths.database, query, (run,))), None
        )

    def places(self, profile: str | None, start: str) -> list[str]:
        """Buckets, or one level of a bucket, as `start` begins."""
        bucket, slash, key = start.removeprefix(_SCHEME).partition("/")
        settings = self._settings()
        name = profile or settings.current_profile
        account = next((one for one in settings.profiles if one.name == name), None)
        account = Profile(LAB, Provider.LAB, LAB) if name == LAB else account
        if account is None:
            return []
        paths = [f"{_SCHEME}{where}/{what}" for who, where, what in settings.favourites if who == name]
        paths += self._visited(name)
        if slash:
            paths += [f"{_SCHEME}{bucket}/{found}" for found in self._listed(account, bucket, key)]
        else:
            paths += [f"{_SCHEME}{found}/" for found in self._listed_buckets(account)]
        return _steps(paths, start)

    def _settings(self) -> Settings:
        with suppress(*_UNREADABLE):
            return SettingsFile(self._paths.settings).read()
        return Settings()

    def _visited(self, profile: str) -> Iterator[str]:
        """Where something was moved from or to."""
        query = "SELECT source, target FROM transfers WHERE profile = ? ORDER BY id DESC LIMIT ?"
        for ends in self._rows(self._paths.transfers, query, (profile, _MOST)):
            yield from (str(end) for end in ends if str(end).startswith(_SCHEME))

    def _listed_buckets(self, account: Profile) -> list[str]:
        file = index_file(self._paths.index, account.listed_as, "*")
        with suppress(*_UNREADABLE):
            return [found.stem.partition("-")[2] for found in file.parent.glob(file.name)]
        return []

    def _listed(self, account: Profile, bucket: str, key: str) -> list[str]:
        file = index_file(self._paths.index, account.listed_as, bucket)
        with suppress(*_UNREADABLE), closing(_opened(file)) as db:
            return level_beginning_with(db, key, _MOST)
        return []

    def _rows(self, file: Path, query: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        with suppress(*_UNREADABLE), closing(_opened(file)) as db:
            return db.execute(query, values).fetchall()
        return []


def _opened(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE_S)


def _steps(paths: Iterable[str], start: str) -> list[str]:
    """Each path as far as the next folder behind what is typed."""
    found = set()
    for path in paths:
        if path.startswith(start):
            end = path.find("/", max(len(start), len(_SCHEME)))
            found.add(path if end < 0 else path[: end + 1])
    return sorted(found)
