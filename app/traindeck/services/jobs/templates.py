"""Templates: forms to begin with, kept as job files, with the fields that are not to be changed by accident."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.form_fields import BY_NAME
from traindeck.domain.jobs.job_template import JobTemplate, check_template_name
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, our_folder, text_in, write_whole

_OWN = "template"
"""The table that a template has and a job file has not."""


class JobTemplates:
    """Each is a file in one folder, named as it is."""

    def __init__(self, folder: Path, disk: BlockingCalls) -> None:
        self._folder = folder
        self._disk = disk

    async def names(self) -> list[str]:
        """By name; a folder that is not there yet holds none."""

        def look(_: object) -> list[str]:
            try:
                return sorted((one.stem for one in self._folder.glob("*.toml")), key=str.casefold)
            except OSError:
                return []

        return await self._disk.run(look)

    async def open(self, name: str) -> JobTemplate:
        place = self._place(name)
        source = await self._disk.run(lambda _: text_in(place))
        return _parsed(name, source)

    async def save(self, template: JobTemplate) -> None:
        """In place of one of the same name."""
        place, content = self._place(template.name), _written(template).encode()

        def write(_: object) -> None:
            with local_errors(place):
                our_folder(self._folder)
                write_whole(place, content)

        await self._disk.run(write)

    async def remove(self, name: str) -> None:
        place = self._place(name)

        def remove(_: object) -> None:
            with local_errors(place):
                place.unlink(missing_ok=True)

        await self._disk.run(remove)

    def _place(self, name: str) -> Path:
        check_template_name(name)
        return self._folder / f"{name}.toml"


def _written(template: JobTemplate) -> str:
    import tomlkit

    document = tomlkit.parse(job_file.to_toml(template.spec))
    if template.locked:
        own = tomlkit.table()
        own.add("locked", sorted(BY_NAME[name].place for name in template.locked))
        document.add(_OWN, own)
    return tomlkit.dumps(document)


def _parsed(name: str, source: str) -> JobTemplate:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse(source)
    except TOMLKitError:
        return JobTemplate(name, job_file.parse(source))  # it says what is wrong, and where
    own = document.pop(_OWN, {})
    places = {field.place: field.name for field in BY_NAME.values()}
    kept: Collection[Any] = own.get("locked", ()) if isinstance(own, dict) else ()
    locked = frozenset(places[str(place)] for place in kept if str(place) in places)
    return JobTemplate(name, job_file.parse(tomlkit.dumps(document)), locked)
