"""What is offered in place of an engine or a specification that is not."""

from __future__ import annotations

from difflib import get_close_matches

from traindeck.domain.jobs.choices import Choices, Engine, Flavor, misfit
from traindeck.domain.jobs.job_spec import JobSpec


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
    fitting = [flavor for flavor in offer.flavors if misfit(engine, flavor) is None]
    if not spec.flavor or spec.pool or wanted in fitting:
        return None
    found = get_close_matches(spec.flavor, [flavor.id for flavor in fitting], 1, 0.0)
    return next((flavor for flavor in fitting if found and flavor.id == found[0]), None)
