"""The engines and flavors that the Lab offers, and which of them fit together."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLAVOR_TYPES = ("CPU", "GPU", "Ascend")


@dataclass(frozen=True)
class Engine:
    """A framework preset that a job can ask for."""

    id: str
    name: str
    version: str
    flavor_types: tuple[str, ...]
    v1_compatible: bool
    run_user: str
    tags: tuple[str, ...]
    is_discontinued: bool = False

    def entry(self) -> dict[str, Any]:
        """The row of the engine list."""
        entry: dict[str, Any] = self.in_job()
        if self.tags:
            entry["tags"] = list(self.tags)
        entry["image_info"] = {"cpu_image_url": "", "gpu_image_url": "", "image_version": self.version}
        return entry

    def in_job(self) -> dict[str, Any]:
        return {
            "engine_id": self.id,
            "engine_name": self.name,
            "engine_version": self.version,
            "v1_compatible": self.v1_compatible,
            "run_user": self.run_user,
        }


# What a job has for an engine when it brings an image and a command of its own.
OWN_IMAGE = Engine(id="", name="", version="", flavor_types=FLAVOR_TYPES, v1_compatible=False, run_user="", tags=())


@dataclass(frozen=True)
class Flavor:
    """A machine size that a job can ask for."""

    id: str
    name: str
    type: str
    max_num: int
    billing: str
    is_free: bool
    hours_limit: int | None
    cpu: Mapping[str, Any]
    memory_gb: int
    disk_gb: int | None
    gpu: Mapping[str, Any] | None
    npu: Mapping[str, Any] | None

    @property
    def cards(self) -> int:
        accelerator = self.gpu or self.npu
        return int(accelerator["unit_num"]) if accelerator else 0

    def entry(self) -> dict[str, Any]:
        """The row of the flavor list."""
        info = self._info()
        info["max_num"] = self.max_num
        if self.disk_gb is not None:
            info["disk"] = {"size": self.disk_gb, "unit": "GB"}
        return {
            "flavor_id": self.id,
            "flavor_name": self.name,
            "flavor_type": self.type,
            "max_num": self.max_num,
            "billing": {"code": self.billing, "unit_num": 1},
            "flavor_info": info,
            "attributes": {},
        }

    def in_job(self) -> dict[str, Any]:
        """The `flavor_detail` of a job, where the service sends some numbers as text."""
        info = self._info()
        if self.npu is not None:
            info["npu"]["unit_num"] = str(self.npu["unit_num"])
        if self.disk_gb is not None:
            info["disk"] = {"size": str(self.disk_gb), "unit": "GB"}
        return {"flavor_type": self.type, "billing": {"code": self.billing, "unit_num": 1}, "flavor_info": info}

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"cpu": dict(self.cpu), "memory": {"size": self.memory_gb, "unit": "GB"}}
        if self.gpu is not None:
            info["gpu"] = dict(self.gpu)
        if self.npu is not None:
            info["npu"] = dict(self.npu)
        return info


class Catalogue:
    """Looks up engines and flavors the way a job names them."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            table = tomllib.load(file)
        self._known = tuple(_engine(row) for row in table["engines"])
        self.engines = tuple(engine for engine in self._known if not engine.is_discontinued)
        self.flavors = tuple(_flavor(row) for row in table["flavors"])

    def engine(self, *, engine_id: str, name: str, version: str) -> Engine | None:
        """The engine of that id, or of that name and version; what is given must agree."""
        if not engine_id and not (name and version):
            return None
        for engine in self._known:
            wanted = ((engine_id, engine.id), (name, engine.name), (version, engine.version))
            if all(given in ("", own) for given, own in wanted):
                return engine
        return None

    def flavor(self, flavor_id: str) -> Flavor | None:
        return next((flavor for flavor in self.flavors if flavor.id == flavor_id), None)


def _engine(row: Mapping[str, Any]) -> Engine:
    return Engine(
        id=row.get("id", row["version"]),
        name=row["name"],
        version=row["version"],
        flavor_types=tuple(row["flavor_types"]),
        v1_compatible=row.get("v1_compatible", False),
        run_user=row.get("run_user", ""),
        tags=tuple(row.get("tags", ())),
        is_discontinued=row.get("discontinued", False),
    )


def _flavor(row: Mapping[str, Any]) -> Flavor:
    return Flavor(
        id=row["id"],
        name=row["name"],
        type=row["type"],
        max_num=row["max_num"],
        billing=row["billing"],
        is_free=row.get("free", False),
        hours_limit=row.get("hours_limit"),
        cpu=row["cpu"],
        memory_gb=row["memory_gb"],
        disk_gb=row.get("disk_gb"),
        gpu=row.get("gpu"),
        npu=row.get("npu"),
    )
