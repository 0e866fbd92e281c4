"""Inputs and outputs of a job, and the flags under which scripts usually want to know their folders."""

from __future__ import annotations

from collections.abc import Iterable

from traindeck.domain.scripts.script_job import ScriptJob

DATA, TRAIN = "data_url", "train_url"
_DATA_WORDS = (
    "data_path", "data_dir", "data_root", "dataset_path", "dataset_dir", "dataset_root", "data_folder",
    "train_data_dir", "train_data", "train_path", "data", "dataset", "root", "input_dir", "input",
    "input_path", "imagenet_dir",
)  # fmt: skip
_TRAIN_WORDS = (
    "output_dir", "output_path", "output", "out_dir", "out", "save_dir", "save_path", "save_folder", "ckpt_dir",
    "ckpt_path", "checkpoint_dir", "checkpoint_path", "save_checkpoint_path", "model_dir", "model_path", "work_dir",
    "result_dir", "results_dir", "result_path", "log_dir", "logdir", "train_dir",
)  # fmt: skip


def channel_names(job: ScriptJob) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of inputs and of outputs; those that the platform's own examples use where the form names none."""
    if not job.has_form and not job.channels:
        return (DATA,), (TRAIN,)
    return tuple(one.name for one in job.inputs), tuple(one.name for one in job.outputs)


def flag_for(name: str, words: Iterable[str], *, is_input: bool) -> str | None:
    """Of these flags the one that means this folder; None: there is none."""
    there = {word.lstrip("-").replace("-", "_").lower(): word for word in words if word.startswith("--")}
    if name.lower() in there:
        return there[name.lower()]
    usual = _DATA_WORDS if is_input else _TRAIN_WORDS
    return next((there[word] for word in usual if word in there), None)
