"""What an account offers for jobs, and what of it fits together."""

from __future__ import annotations

from dataclasses import dataclass

from traindeck.domain.jobs.job_spec import JobSpec


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    version: str
    id: str
    arch: str = ""


@dataclass(frozen=True, slots=True)
class Flavor:
    id: str
    name: str
    kind: str
    cores: int | None = None
    memory: str = ""
    accelerator: str = ""
    max_nodes: int = 1


def fits(engine: Engine, flavor: Flavor) -> bool:
    """Ascend images are built for Ascend, CUDA images run on GPU and CPU."""
    if "cann" in engine.version.lower() or "aarch64" in engine.version.lower():
        return flavor.kind == "Ascend"
    return flavor.kind != "Ascend"


@dataclass(frozen=True, slots=True)
class Choices:
    """What an account offers."""

    engines: tuple[Engine, ...]
    flavors: tuple[Flavor, ...]

    def engine_of(self, spec: JobSpec) -> Engine | None:
        wanted = (spec.engine, spec.engine_version)
        return next((engine for engine in self.engines if (engine.name, engine.version) == wanted), None)

    def flavor_of(self, spec: JobSpec) -> Flavor | None:
        return next((flavor for flavor in self.flavors if flavor.id == spec.flavor), None)
