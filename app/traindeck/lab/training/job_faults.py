"""What goes wrong with jobs when somebody asked for it: sold out, over quota, an early end, an account in arrears."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from traindeck.lab.training.request_body import RefusedError

SOLD_OUT = RefusedError("4992", "the resources of this flavor are sold out; choose another one or try again later")


@dataclass
class JobFaults:
    """Asked anew for every job, so that a rule may come and go while the Lab runs; without rules nothing is wrong.

    `refusals` name a flavor, or "*" for all, and say how a create request for it is refused. A flavor in `held_back`
    accepts jobs and lets them wait. `quota` and `time_limit_s` take the place of the real ones.
    """

    refusals: Mapping[str, RefusedError] = field(default_factory=dict)
    held_back: frozenset[str] = frozenset()
    quota: int | None = None
    time_limit_s: float | None = None

    def check(self, flavor_id: str) -> None:
        refusal = self.refusals.get(flavor_id) or self.refusals.get("*")
        if refusal is not None:
            raise RefusedError(refusal.code.removeprefix("ModelArts."), refusal.message, refusal.status)
