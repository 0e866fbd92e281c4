"""What an account offers for jobs, and what of it fits together."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

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
    disk_bytes: int | None = None
    """Of the scratch disk, which the inputs lie on too; None: the service does not say."""


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


def nearest_engine(spec: JobSpec, offer: Choices) -> Engine | None:
    """The offered engine most like one that is not offered (any more)."""
    if not spec.engine_version or offer.engine_of(spec):
        return None
    alike = [engine for engine in offer.engines if engine.name == spec.engine] or offer.engines
    found = get_close_matches(spec.engine_version, [engine.version for engine in alike], 1, 0.0)
    return next((engine for engine in alike if found and engine.version == found[0]), None)


def nearest_flavor(spec: JobSpec, offer: Choices) -> Flavor | None:
    """The offered specification most like the wanted one among those that fit the engine."""
    engine, wanted = offer.engine_of(spec), offer.flavor_of(spec)
    fitting = [flavor for flavor in offer.flavors if engine is None or fits(engine, flavor)]
    if not spec.flavor or spec.pool or wanted in fitting:
        return None
    found = get_close_matches(spec.flavor, [flavor.id for flavor in fitting], 1, 0.0)
    return next((flavor for flavor in fitting if found and flavor.id == found[0]), None)
