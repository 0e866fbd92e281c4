"""Whether the service has what the job is to run with and on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from traindeck.domain.jobs.checks import CheckFix, CheckLevel
from traindeck.domain.jobs.choices import Choices, Engine, Flavor, misfit
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.nearest_choices import nearest_engine, nearest_flavor
from traindeck.domain.jobs.pools import RUNNING
from traindeck.domain.texts import count_text, text
from traindeck.services.jobs.checks.form_mistakes import mistakes
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, amber, green, levels, red

_IMAGE = re.compile(r"[A-Za-z0-9][\w.-]*(?::\d+)?(?:/[\w.-]+)*/[\w.-]+(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?", re.ASCII)
_NUMBER = re.compile(r"\d+")


async def _engine(job: CheckedJob) -> Iterable[CheckAnswer]:
    spec = job.spec
    if wrong := mistakes(job, "engine", "engine_version"):
        return wrong
    if not spec.engine_version:
        return []  # an image of one's own, or what an algorithm brings
    offer = await job.service.offer()
    if wrong := mistakes(job, "engine", "engine_version", offer=offer):
        ways = [_use_engine(engine) for engine in _instead(spec, offer)]
        hint = text("It was never offered in this region, or is no longer. Select another engine or version.")
        return [red(one.fact, hint, *ways, field="engine_version") for one in wrong]
    return [green(text("{engine} is offered.", engine=spec.engine_version), field="engine_version")]


def _instead(spec: JobSpec, offer: Choices) -> list[Engine]:
    """The one that is called most like it, and the newest of its kind."""
    near = nearest_engine(spec, offer)
    kind = spec.engine_version.partition("_")[0].lower()
    family = near.name if near else spec.engine
    alike = [one for one in offer.engines if one.name == family and one.version.lower().startswith(kind)]
    newest = max(alike, key=lambda one: [int(number) for number in _NUMBER.findall(one.version)], default=None)
    return [one for one in dict.fromkeys((near, newest)) if one is not None]


def _use_engine(engine: Engine) -> CheckFix:
    changes = (("engine", engine.name), ("engine_version", engine.version))
    return CheckFix(text("Use {engine}", engine=engine.version), changes)


async def _flavor(job: CheckedJob) -> Iterable[CheckAnswer]:
    if wrong := mistakes(job, "flavor"):
        return wrong
    spec = job.spec
    if not spec.flavor:
        return []
    offer = await job.service.offer()
    if wrong := mistakes(job, "flavor", offer=offer):
        near = nearest_flavor(spec, offer)
        ways = [CheckFix(text("Use {flavor}", flavor=near.id), (("flavor", near.id),))] if near else []
        hint = text("Select another specification. “traindeck flavors” lists them.")
        return [red(one.fact, hint, *ways, field="flavor") for one in wrong]
    flavor = offer.flavor_of(spec)
    return [green(text("{flavor} is offered.", flavor=flavor.name if flavor else spec.flavor), field="flavor")]


async def _nodes(job: CheckedJob) -> Iterable[CheckAnswer]:
    if wrong := mistakes(job, "nodes"):
        return wrong
    offer = await job.service.offer() if job.spec.flavor else None
    flavor = offer.flavor_of(job.spec) if offer else None
    if wrong := mistakes(job, "nodes", offer=offer):
        most = flavor.max_nodes if flavor else 1
        fewer = CheckFix(count_text("Use {count} node", "Use {count} nodes", most), (("nodes", most),))
        larger = _with_nodes(offer, job.spec) if offer else None
        ways = [fewer]
        if larger is not None:
            ways.append(CheckFix(text("Use {flavor}", flavor=larger.id), (("flavor", larger.id),)))
        hint = text("Use fewer nodes or another specification.")
        return [red(one.fact, hint, *ways, field="nodes") for one in wrong]
    return [green(count_text("{count} node", "{count} nodes", job.spec.nodes), field="nodes")]


def _with_nodes(offer: Choices, spec: JobSpec) -> Flavor | None:
    """Of the same kind, with room for so many."""
    before, engine = offer.flavor_of(spec), offer.engine_of(spec)
    for flavor in offer.flavors:
        if before is not None and flavor.kind == before.kind and misfit(engine, flavor, spec.nodes) is None:
            return flavor
    return None


async def _pool(job: CheckedJob) -> Iterable[CheckAnswer]:
    wanted = job.spec.pool.strip()
    if wrong := mistakes(job, "pool"):
        return wrong
    if not wanted:
        return []
    pools = await job.service.pools()
    pool = next((one for one in pools if one.id == wanted), None)
    if pool is None:
        named = next((one for one in pools if one.name == wanted), None)
        near = get_close_matches(wanted, [one.id for one in pools], 1, 0.0)
        usable = named.id if named else next(iter(near), None)
        ways = [CheckFix(text("Use {pool}", pool=usable), (("pool", usable),))] if usable else []
        ways.append(CheckFix(text("Use the public pool"), (("pool", ""),)))
        fact = text("The account has no resource pool “{pool}”.", pool=wanted)
        return [red(fact, text("Select another pool, or leave the field empty."), *ways, field="pool")]
    if pool.phase != RUNNING:
        fact = text("The resource pool “{pool}” is not running: {phase}.", pool=pool.name, phase=pool.phase or "–")
        return [red(fact, text("Start it in the console, or select another one."), field="pool")]
    if pool.trains is False:
        fact = text("The resource pool “{pool}” does not take training jobs.", pool=pool.name)
        return [red(fact, text("Enable training in the console, or select another one."), field="pool")]
    return [green(text("The resource pool “{pool}” is running.", pool=pool.name), field="pool")]


async def _image(job: CheckedJob) -> Iterable[CheckAnswer]:
    image = job.spec.image.strip()
    if wrong := mistakes(job, "image"):
        return wrong
    if not image:
        return []
    if not _IMAGE.fullmatch(image):
        fact = text("“{image}” is not the name of an image.", image=image)
        hint = text("Enter it as organization/image:tag, without https:// and without spaces.")
        return [red(fact, hint, field="image")]
    name = image.rpartition("/")[2]
    if ":" not in name and "@" not in name:
        fact = text("“{image}” has no tag: whatever is “latest” that day runs.", image=image)
        return [amber(fact, text("Add the tag, for example “:1.0”."), field="image")]
    return [green(text("{image} is well formed. Whether it exists shows when the job starts.", image=image))]


_SAID = levels(CheckLevel.GREEN, CheckLevel.RED, CheckLevel.NOT_CHECKED)
_ENGINE = frozenset({"engine", "engine_version", "image", "command", "algorithm_id", "subscription_id"})
_MACHINE = _ENGINE | {"flavor", "nodes", "pool"}

CHECKS = (
    JobCheck("engine", text("Engine"), _ENGINE, _engine, _SAID, is_remote=True),
    JobCheck(
        "image", text("Custom image"), _ENGINE, _image, levels(CheckLevel.GREEN, CheckLevel.AMBER, CheckLevel.RED)
    ),
    JobCheck("flavor", text("Specification"), _MACHINE, _flavor, _SAID, is_remote=True),
    JobCheck("nodes", text("Nodes"), _MACHINE, _nodes, _SAID, is_remote=True),
    JobCheck("pool", text("Resource pool"), frozenset({"pool"}), _pool, _SAID, is_remote=True),
)
