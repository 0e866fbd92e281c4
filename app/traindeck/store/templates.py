"""The templates of job forms, a file for each."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict, NotFound
from traindeck.domain.jobs.form.form_field import nearest
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.form.job_template import JobTemplate
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, move_new, our_folder, text_in, write_whole

log = logging.getLogger(__name__)


class TemplateStore:
    """Made by the user, so none is ever removed or replaced unless that was asked for."""

    def __init__(self, folder: Path, disk: BlockingCalls) -> None:
        self._folder = folder
        self._disk = disk

    async def all(self) -> list[JobTemplate]:
        """By name; one that cannot be read is left out, and stays."""
        return await self._disk.run(lambda _: self._all())

    async def existing(self, name: str) -> JobTemplate:
        known = await self.all()
        found = next((one for one in known if one.name == name), None)
        if found is None:
            near = nearest(name, [one.name for one in known])
            raise NotFound(
                text("There is no template “{name}”.", name=name),
                text("Did you mean “{nearest}”?", nearest=near)
                if near
                else text("“traindeck job template” lists all templates."),
            )
        return found

    async def save(self, template: JobTemplate, *, replaces: bool = False) -> None:
        """Conflict: there is one of this name, and it was not said that it goes."""
        content = json.dumps(asdict(template), ensure_ascii=False, indent=1).encode()
        await self._disk.run(lambda _: self._write(self._path(template.name), content, template.name, replaces))

    async def remove(self, name: str) -> None:
        await self.existing(name)
        path = self._path(name)

        def remove(_: object) -> None:
            with local_errors(path):
                path.unlink(missing_ok=True)

        await self._disk.run(remove)

    def _write(self, path: Path, content: bytes, name: str, replaces: bool) -> None:
        with local_errors(path):
            our_folder(self._folder)
            if replaces:
                write_whole(path, content)
                return
            part = path.with_suffix(".new")
            write_whole(part, content)
            try:
                move_new(part, path)
            except FileExistsError as error:
                raise Conflict(
                    text("The template “{name}” already exists.", name=name),
                    text("Nothing was changed. Enter another name, or add --replace."),
                ) from error
            finally:
                part.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{sha256(name.encode()).hexdigest()[:24]}.json"

    def _all(self) -> list[JobTemplate]:
        found = []
        with local_errors(self._folder):
            paths = sorted(self._folder.glob("*.json")) if self._folder.is_dir() else []
        for path in paths:
            try:
                content = json.loads(text_in(path))
                locked = tuple(name for name in content["locked"] if name in BY_NAME)
                template = JobTemplate(str(content["name"]), str(content["source"]), locked)
                _ = template.spec
            except (AppError, ValueError, LookupError, TypeError, RecursionError) as error:
                log.warning("the template %s cannot be read: %s", path.name, error)
                continue
            found.append(template)
        return sorted(found, key=lambda one: one.name)
