"""The engines and flavors that the Lab offers, and which of them fit together."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLAVOR_TYPES = ("CPU", "GPU", "Ascend")


@dataclass(frozen=True)
class Engine:
    """A framework preset that a job can ask for, as the catalogue has it."""

    id: str = ""
    name: str = ""
    version: str = ""
    flavor_types: Sequence[str] = FLAVOR_TYPES
    v1_compatible: bool = False
    run_user: str = ""
    tags: Sequence[str] = ()
    discontinued: bool = False

    def entry(self) -> dict[str, Any]:
        """The row of the engine list."""
        image = {"cpu_image_url": "", "gpu_image_url": "", "image_version": self.version}
        return {**self.in_job(), **({"tags": self.tags} if self.tags else {}), "image_info": image}

    def in_job(self) -> dict[str, Any]:
        return {
            "engine_id": self.id,
            "engine_name": self.name,
            "engine_version": self.version,
            "v1_compatible": self.v1_compatible,
            "run_user": self.run_user,
        }


# What a job has for an engine when it brings an image and a command of its own.
OWN_IMAGE = Engine()


@dataclass(frozen=True)
class Flavor:
    """A machine size that a job can ask for, as the catalogue has it."""

    id: str
    name: str
    type: str
    max_num: int
    billing: str
    cpu: Mapping[str, Any]
    memory_gb: int
    free: bool = False
    hours_limit: int | None = None
    disk_gb: int | None = None
    gpu: Mapping[str, Any] | None = None
    npu: Mapping[str, Any] | None = None
    pool: str = ""

    @property
    def cards(self) -> int:
        accelerator = self.gpu or self.npu
        return int(accelerator["unit_num"]) if accelerator else 0

    def entry(self) -> dict[str, Any]:
        """The row of the flavor list."""
        return {
            "flavor_id": self.id,
            "flavor_name": self.name,
            "flavor_type": self.type,
            "max_num": self.max_num,
            "billing": {"code": self.billing, "unit_num": 1},
            "flavor_info": {**self._info(int), "max_num": self.max_num},
            "attributes": {},
        }

    def in_job(self) -> dict[str, Any]:
        """The `flavor_detail` of a job, where the service sends some numbers as text."""
        billing = {"code": self.billing, "unit_num": 1}
        return {"flavor_type": self.type, "billing": billing, "flavor_info": self._info(str)}

    def _info(self, spelled: Callable[[int], int | str]) -> dict[str, Any]:
        info: dict[str, Any] = {"cpu": dict(self.cpu), "memory": {"size": self.memory_gb, "unit": "GB"}}
        if self.gpu is not None:
            info["gpu"] = dict(self.gpu)
        if self.npu is not None:
            info["npu"] = {**self.npu, "unit_num": spelled(self.npu["unit_num"])}
        if self.disk_gb is not None:
            info["disk"] = {"size": spelled(self.disk_gb), "unit": "GB"}
        return info


@dataclass(frozen=True)
class Pool:
    """Machines of the user's own, as the catalogue has them."""

    id: str
    name: str

    def entry(self, flavors: Sequence[Flavor]) -> dict[str, Any]:
        """The row of the pool list."""
        return {
            "metadata": {"name": self.id, "labels": {"os.modelarts/name": self.name}},
            "spec": {
                "type": "Dedicate",
                "scope": ["Train"],
                "jobFlavors": [flavor.id for flavor in flavors],
                "resources": [{"flavor": flavor.id, "count": flavor.max_num} for flavor in flavors],
            },
            "status": {"phase": "Running", "scope": [{"scopeType": "Train", "state": "Enabled"}]},
        }


class Catalogue:
    """Looks up engines and flavors the way a job names them."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            table = tomllib.load(file)
        self._known = tuple(Engine(**{"id": row["version"], **row}) for row in table["engines"])
        self.engines = tuple(engine for engine in self._known if not engine.discontinued)
        flavors = tuple(Flavor(**row) for row in table["flavors"])
        self.flavors = tuple(flavor for flavor in flavors if not flavor.pool)
        self.pools = tuple(Pool(**row) for row in table["pools"])
        self._dedicated = {pool.id: [flavor for flavor in flavors if flavor.pool == pool.id] for pool in self.pools}

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

    def flavors_of(self, pool_id: str) -> Sequence[Flavor]:
        """The machines of a dedicated pool; none where there is no such pool."""
        return self._dedicated.get(pool_id, ())
