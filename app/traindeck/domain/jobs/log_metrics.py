"""The numbers a training prints: what each was last, lowest and highest."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from traindeck.domain.jobs.run_query import Metric

MOST_METRICS = 100
_MOST_LINE = 4096

# What is measured, not what is set or counted; `val_loss`, `top-1/acc` and `eval.f1` have one of these as a part.
_MEASURES = frozenset({
    "loss", "acc", "accuracy", "f1", "auc", "ap", "map", "bleu", "rouge", "ppl", "perplexity", "precision", "recall",
    "iou", "miou", "dice", "psnr", "ssim", "fid", "reward", "return", "mse", "mae", "rmse", "mape", "nll", "wer", "cer",
    "r2", "score", "top1", "top5",
})  # fmt: skip
_PAIR = re.compile(
    rb"(?<![\w./-])([A-Za-z][\w./-]{0,59})(\s*[=:]\s*|\s+)([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w])"
)
_PARTS = re.compile(r"[_./-]+")


def is_measure(name: str) -> bool:
    return any(part.lower() in _MEASURES for part in _PARTS.split(name))


class LogMetrics:
    """Fed with the lines of a log in their order."""

    def __init__(self) -> None:
        self.found: dict[str, Metric] = {}
        self._known: dict[bytes, str] = {}

    def take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            for match in _PAIR.finditer(line[:_MOST_LINE]):
                name = self._named(match[1])
                # “error 404” and “score 3 of 7” are words; “loss 0.182” is a number that was measured.
                if name and (match[2].strip() or b"." in match[3] or b"e" in match[3].lower()):
                    self._add(name, float(match[3]))

    def _named(self, word: bytes) -> str:
        if (known := self._known.get(word)) is not None:
            return known
        name = word.decode(errors="replace").rstrip("./-")
        name = name if is_measure(name) else ""
        if len(self._known) < 10 * MOST_METRICS:
            self._known[word] = name
        return name

    def _add(self, name: str, value: float) -> None:
        if not math.isfinite(value):
            return
        before = self.found.get(name)
        if before is not None:
            self.found[name] = Metric(value, min(before.lowest, value), max(before.highest, value))
        elif len(self.found) < MOST_METRICS:
            self.found[name] = Metric(value, value, value)
