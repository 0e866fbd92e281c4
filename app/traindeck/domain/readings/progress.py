"""Where a training is and how long it will take: from its own counters and the time between them."""

from __future__ import annotations

from traindeck.domain.readings.line_reader import LineFacts
from traindeck.domain.readings.reading import Progress

_MOST_SEEN = 256
_BACK_FOR_RESTART = 3
"""So often it has to be behind where it was: of several processes in one log some are a little later."""
_SLACK = 0.98
_LEAST_SHARE = 1e-9


class ProgressTracker:
    """Fed with what the lines said, in their order."""

    def __init__(self) -> None:
        self.epoch: float | None = None
        self.epochs: int | None = None
        self.step: int | None = None
        self.steps: int | None = None
        self.restarts = 0
        self.news_at: float | None = None
        self._told_steps: int | None = None
        self._expected_epochs: int | None = None
        self._expected_steps: int | None = None
        self._told_left: tuple[float, float | None] | None = None
        self._first_epoch: float | None = None
        self._epoch_is_done = False
        self._steps_start_anew: bool | None = None
        """Whether each epoch counts its steps from the beginning; None: nobody knows yet."""
        self._step_before: int | None = None
        self._most_steps = 0
        self._bars_ended = 0
        self._seen: list[tuple[float, float]] = []
        self._stride, self._passed = 1, 0
        self._measure = ""
        self._furthest = 0.0
        self._behind = 0
        self._has_strong = False

    def take(self, facts: LineFacts, at: float | None) -> None:
        if facts.is_total:
            self._take_totals(facts)
            return
        if facts.epoch is None and facts.step is None:
            return
        if facts.is_beside:
            # Whoever validates after an epoch has done it.
            if facts.epoch is not None and self.epoch == facts.epoch:
                self._epoch_is_done = True
                self._note(at)
            return
        is_strong = facts.is_measured or facts.epoch is not None
        if not is_strong and self._has_strong and self.steps is not None and facts.steps not in (None, self.steps):
            return  # a bar of something else
        if is_strong and not self._has_strong and facts.steps not in (None, self.steps):
            self._forget_weak()
        self._has_strong = self._has_strong or is_strong
        if facts.seconds_left is not None:
            self._told_left = facts.seconds_left, at
        before = self.epoch, self.step
        self._take_epoch(facts)
        self._take_step(facts)
        if before != (self.epoch, self.step) or self._epoch_is_done:
            self._note(at)

    def move(self, seconds: float) -> None:
        """Its clock was another one than that of what comes now."""
        self._seen = [(at + seconds, share) for at, share in self._seen]
        self.news_at = None if self.news_at is None else self.news_at + seconds

    def forget_times(self) -> None:
        self._seen.clear()

    def expect(self, epochs: int | None, steps: int | None) -> None:
        """What the settings of a run say; what the log says counts more."""
        self._expected_epochs, self._expected_steps = epochs, steps

    def progress(self, now: float | None = None) -> Progress:
        share = self._share()
        left = self._seconds_left(share, now)
        # A whole number of epochs is shown as one.
        return Progress(self.epoch, self.epochs, self.step, self._all_steps(), share, left, self.restarts, self.news_at)

    def place(self) -> tuple[float | None, float | None]:
        """Step over the whole training and epoch, for the axes of a curve."""
        step: float | None = self.step
        if step is not None and self._steps_start_anew and self.epoch is not None:
            first = self._first_epoch or 0.0
            step += (self.epoch - first) * (self._all_steps() or self._most_steps)
        epoch = self.epoch
        if epoch is not None and epoch == int(epoch) and self.step and self._steps_start_anew and self._all_steps():
            epoch = epoch - (self._first_epoch or 0.0) + min(1.0, self.step / (self._all_steps() or 1))
        return step, epoch

    def _take_totals(self, facts: LineFacts) -> None:
        if self.epochs is None and facts.epochs is not None and facts.epochs >= (self.epoch or 0):
            self.epochs = facts.epochs
        if facts.steps is not None:
            self._told_steps = facts.steps

    def _forget_weak(self) -> None:
        self.step = self.steps = None
        self._seen.clear()
        self._furthest, self._bars_ended = 0.0, 0

    def _take_epoch(self, facts: LineFacts) -> None:
        if facts.epochs is not None and facts.epochs > 0:
            self.epochs = facts.epochs
        if facts.epoch is None:
            return
        if self.epoch is None:
            self._first_epoch = facts.epoch if facts.epoch in (0.0, 1.0) else None
        elif int(facts.epoch) == int(self.epoch) + 1:
            self._see_whether_steps_start_anew(facts)
        self._epoch_is_done = facts.step is None and facts.is_measured and not facts.is_bar
        if facts.epoch == 0.0 and self.epoch is not None and self.restarts:
            self._first_epoch = 0.0
        if facts.epoch != int(facts.epoch) and self.epochs is None and self._steps_start_anew is None:
            self._steps_start_anew = False
        if self.epoch is not None and int(facts.epoch) != int(self.epoch) and facts.step is None:
            self._step_before = self.step
            if self._steps_start_anew is not False and self.step is not None:
                self.step = 0
        self.epoch = facts.epoch

    def _see_whether_steps_start_anew(self, facts: LineFacts) -> None:
        if facts.step is None or self.step is None:
            return
        if self.step > 0 or self._most_steps:
            self._steps_start_anew = facts.step <= max(self.step, self._most_steps)

    def _take_step(self, facts: LineFacts) -> None:
        if facts.step is None:
            return
        if facts.steps is not None and facts.steps > 0:
            self.steps = facts.steps
        if self.step is not None and facts.step < self.step and self.epoch is None and facts.is_bar:
            self._bars_ended += 1
        # The epoch stood on a line of its own: the steps below it begin anew or go on. A bar may be drawn twice.
        is_drawn_again = facts.step == self._step_before != self.steps
        if self._step_before is not None and facts.epoch is None and not is_drawn_again:
            self._steps_start_anew = facts.step <= self._step_before
            self._step_before = None
        self._most_steps = max(self._most_steps, facts.step)
        self.step = facts.step
        if facts.epoch is None:
            self._epoch_is_done = False

    def _all_steps(self) -> int | None:
        if self.steps is not None:
            return self.steps
        if self._steps_start_anew and self._most_steps:
            return self._most_steps
        return self._told_steps or self._expected_steps

    def _all_epochs(self) -> int | None:
        return self.epochs or self._expected_epochs

    def _share(self) -> float | None:
        steps, step = self._all_steps(), self.step
        is_of_all = steps is not None and steps == (self._told_steps or self._expected_steps)
        by_steps = min(1.0, step / steps) if step is not None and steps else None
        if is_of_all and by_steps is not None:
            return by_steps
        if (epochs := self._all_epochs()) and self.epoch is not None:
            return self._share_of_epochs(self.epoch, epochs, by_steps)
        if by_steps is not None and not self._bars_ended:
            # Steps of an epoch say nothing of all when nobody knows how many epochs there are.
            return by_steps if self.epoch is None or self._steps_start_anew is False else None
        return None

    def _share_of_epochs(self, epoch: float, epochs: int, by_steps: float | None) -> float:
        whole = int(epoch)
        if epoch != whole:
            return min(1.0, epoch / epochs)
        if self._steps_start_anew is False and by_steps is not None and self.steps is not None:
            return by_steps
        first = 1 if self._first_epoch is None and epochs >= epoch else int(self._first_epoch or 0)
        done = whole - first
        if self._steps_start_anew is False and self.step is not None and done > 0 and not self._epoch_is_done:
            inside = 0.0
        else:
            inside = 1.0 if self._epoch_is_done else (by_steps or 0.0)
        # Counted from 0 to the number itself, there is one more than the number says.
        return min(1.0, max(0.0, (done + inside) / max(epochs, whole + 1 - first)))

    def _note(self, at: float | None) -> None:
        share = self._share()
        if at is not None:
            self.news_at = at
        measure = "share" if share is not None else "step" if self.epoch is None else "epoch"
        if measure != self._measure:
            self._measure, self._furthest, self._behind = measure, 0.0, 0
        if share is None:
            self._watch_for_restart(self._place_of_all())
            return
        if self._watch_for_restart(share):
            return
        if at is None or share < _LEAST_SHARE or (self._seen and share <= self._seen[-1][1]):
            if at is not None and not self._seen:
                self._seen.append((at, share))
            return
        if len(self._seen) == 1 and at == self._seen[0][0]:
            # What came at once with the first of it, as to one who comes back, tells nothing of how long it took.
            self._seen[0] = (at, share)
            return
        self._passed += 1
        if self._passed < self._stride:
            return
        self._passed = 0
        self._seen.append((at, share))
        if len(self._seen) > _MOST_SEEN:
            del self._seen[1::2]
            self._stride *= 2

    def _place_of_all(self) -> float:
        return self.epoch if self.epoch is not None else float(self.step or 0)

    def _watch_for_restart(self, place: float) -> bool:
        """Whether it is behind where it was; often enough, and it began anew."""
        if place >= self._furthest * _SLACK:
            self._furthest = max(self._furthest, place)
            self._behind = 0
            return False
        self._behind += 1
        if self._behind >= _BACK_FOR_RESTART:
            self.restarts += 1
            self._furthest, self._behind = place, 0
            self._seen.clear()
            self._stride = 1
        return True

    def _seconds_left(self, share: float | None, now: float | None) -> float | None:
        if share is not None and share >= 1.0:
            return 0.0
        rate = self._rate() if share is not None else None
        if share is not None and rate is not None:
            left, since = (1.0 - share) / rate, self._seen[-1][0]
        elif self._told_left is not None:
            left, told_at = self._told_left
            if told_at is None:
                return left
            since = told_at
        else:
            return None
        # What went by since the last news is gone from it, as long as there is some.
        return left if now is None else max(left - max(0.0, now - since), left * 0.02)

    def _rate(self) -> float | None:
        """The middle of the speeds over stretches of half of all that was seen: a slow start and pauses count less."""
        half = max(1, len(self._seen) // 2)
        rates = sorted(
            (later[1] - earlier[1]) / (later[0] - earlier[0])
            for earlier, later in zip(self._seen, self._seen[half:], strict=False)
            if later[0] > earlier[0] and later[1] > earlier[1]
        )
        return rates[len(rates) // 2] if rates else None
