"""What a form says to its script: the part of it that scripts agree or disagree with."""

from __future__ import annotations

import re

from traindeck.domain.jobs.choices import Flavor
from traindeck.domain.jobs.job_spec import JobSpec, wire_value
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob

_KINDS = {"Ascend": AcceleratorKind.ASCEND, "GPU": AcceleratorKind.GPU, "CPU": AcceleratorKind.CPU}
# As flavors are called: modelarts.kat1.8xlarge.public, modelarts.p3.large.public, modelarts.vm.cpu.2u.
_NAMES = (
    (re.compile(r"\bkat\d|ascend|snt\d|\bnpu\b", re.IGNORECASE), AcceleratorKind.ASCEND),
    (re.compile(r"\bp\d+[vsni]*\.|gpu|[pvt]nt\d|\bpi\d", re.IGNORECASE), AcceleratorKind.GPU),
    (re.compile(r"\bcpu\b", re.IGNORECASE), AcceleratorKind.CPU),
)
_CARDS = re.compile(r"\.(\d*)x?large\b")


def script_job_of(spec: JobSpec, flavor: Flavor | None = None, *, is_rehearsal: bool = False) -> ScriptJob:
    """`flavor` is the specification as the service tells of it; without it, its name has to do.

    Nodes of the public pool do not reach the internet; of a pool of one's own nobody knows here.
    """
    kind, cards = _by_name(spec.flavor)
    if flavor is not None:
        kind, cards = _KINDS.get(flavor.kind, kind), flavor.cards if flavor.cards is not None else cards
    is_public = not is_rehearsal and not spec.pool.strip()
    return ScriptJob(
        engine=spec.engine,
        engine_version=spec.engine_version,
        image=spec.image.strip(),
        flavor_kind=kind,
        cards=cards,
        nodes=spec.nodes,
        inputs=spec.inputs,
        outputs=spec.outputs,
        parameters=tuple((name, wire_value(value)) for name, value in spec.parameters),
        environment=tuple(name for name, _ in spec.environment),
        mounts=tuple(volume.mount for volume in spec.volumes if volume.mount),
        reaches_internet=False if is_public else None,
        is_rehearsal=is_rehearsal,
        silenced=frozenset(spec.silenced_rules),
        has_form=True,
    )


def _by_name(flavor: str) -> tuple[AcceleratorKind, int | None]:
    kind = next((kind for pattern, kind in _NAMES if pattern.search(flavor)), AcceleratorKind.UNKNOWN)
    found = _CARDS.search(flavor)
    if kind not in (AcceleratorKind.ASCEND, AcceleratorKind.GPU) or found is None:
        return kind, None
    return kind, int(found[1]) if found[1] else 1
