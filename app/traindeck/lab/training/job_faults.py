"""What goes wrong with jobs when a rule asks for it: a flavor sold out, the quota used up, an early end."""

from collections.abc import Callable

from traindeck.lab.faults import PENDING, Fault, Faults, Kind
from traindeck.lab.training.catalogue import Flavor
from traindeck.lab.training.request_body import RefusedError

_SERVICE = "modelarts"
_CREATE = "POST /v2/{project_id}/training-jobs"
_HOURS = 1


class JobFaults:
    """The rules that concern jobs, asked for every job that is created; their `resource` is a pattern of flavors."""

    def __init__(self, rules: Faults) -> None:
        self._rules = rules

    def on_change(self, call: Callable[[], None]) -> None:
        self._rules.on_change(call)

    def hold(self, flavor: Flavor) -> Fault | None:
        """The rule that lets a new job of this flavor wait; raises where one refuses it."""
        if self._struck(Kind.QUOTA, flavor) is not None:
            raise RefusedError("2815", "a fault rule of the Lab says that the quota of training jobs is used up")
        sold_out = self._struck(Kind.SOLD_OUT, flavor)
        # A sold-out flavor may refuse its jobs or let them wait; the service does either.
        if sold_out is None or sold_out.body == PENDING:
            return sold_out
        message = f"the resources of the flavor {flavor.id} are sold out; choose another one or try again later"
        raise RefusedError((sold_out.code or "4992").removeprefix("ModelArts."), message)

    def is_in_force(self, fault: Fault) -> bool:
        return self._rules.is_in_force(fault)

    def time_limit_s(self, flavor: Flavor, hour_s: float) -> float | None:
        """Seconds a new job of this flavor may run; a rule that names none means an hour by the clock of the Lab."""
        struck = self._struck(Kind.TIME_LIMIT, flavor)
        return None if struck is None else struck.seconds or _HOURS * hour_s

    def _struck(self, kind: Kind, flavor: Flavor) -> Fault | None:
        return next(iter(self._rules.drawn(_SERVICE, _CREATE, flavor.id, frozenset({kind}))), None)
