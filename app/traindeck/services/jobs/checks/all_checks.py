"""Every check there is, in the order they are told; a new one is a module and its line here."""

from __future__ import annotations

from traindeck.services.jobs.checks import (
    account,
    boot_file,
    buckets,
    code_folder,
    engine,
    form_mistakes,
    inputs,
    lab_limits,
    limits,
    outputs,
    script_files,
    script_findings,
    template,
)
from traindeck.services.jobs.checks.frame import JobCheck

ALL_CHECKS: tuple[JobCheck, ...] = (
    *form_mistakes.CHECKS,
    *template.CHECKS,
    *account.CHECKS,
    *engine.CHECKS,
    *code_folder.CHECKS,
    *boot_file.CHECKS,
    *script_files.CHECKS,
    *script_findings.CHECKS,
    *outputs.CHECKS,
    *inputs.CHECKS,
    *buckets.CHECKS,
    *limits.CHECKS,
    *lab_limits.CHECKS,
)
