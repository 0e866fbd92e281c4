"""Starts a process of a job: in the container of its worker where one can be had, else beside the Lab."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from traindeck.lab.training.running.containers import Box
from traindeck.lab.training.running.host_places import Layer
from traindeck.lab.training.running.job_environment import Launch, base_variables, own_files
from traindeck.lab.training.running.job_outcome import Work
from traindeck.lab.training.running.process_tree import start_process
from traindeck.lab.training.running.worker_places import host_name


def start_in_worker(
    work: Work,
    node: int,
    wanted: Launch,
    output: BinaryIO,
    *,
    packages: Path | None = None,
    writable: Path | None = None,
    limit: Callable[[int], None] | None = None,
) -> subprocess.Popen[bytes]:
    """`packages`: an environment the process reads beside the base; `writable`: a folder it changes beside its own."""
    places = work.sandbox.worker(work.form.tasks[node])
    means = work.containers.means(work.base)
    if not means.tool:
        return start_process(wanted.command, wanted.folder, wanted.variables, output, limit=limit)
    layers: list[Layer] = work.containers.layers(work.base, work.access.moxing, *filter(None, [packages]))
    layers += work.mounts.layers
    if writable is not None:
        layers.append(("own", str(writable), str(writable)))
    files = own_files(work.form, work.sandbox, places)
    box = Box(places, host_name(work.id, node), files, wanted.folder, layers, wanted.variables)
    command, plan = work.containers.command(means, work.base, box, wanted.command)
    # What the job's own variables do to a program that starts is not for one that is still outside.
    return start_process(command, places.root, base_variables(work.sandbox, places), output, plan, limit)
