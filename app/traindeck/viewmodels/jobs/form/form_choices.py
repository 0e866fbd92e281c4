"""What can be chosen as version of the engine and as specification: what fits, and what is known of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from traindeck.domain.jobs.choices import Choices, Engine, Flavor, matching_engines, matching_flavors, misfit
from traindeck.domain.jobs.job_spec import JobSpec, Target
from traindeck.domain.jobs.prices import money_words
from traindeck.domain.texts import Text, count_text, moment_words, say, text
from traindeck.viewmodels.jobs.form.job_form import JobForm

RecentForms = Callable[[], Sequence[JobSpec]]
"""The forms of the runs there were, the newest first."""

_MOST_RECENT = 5
_DOT = " · "
_NAMED = re.compile(r"^([a-z]+)_(?=[0-9])(.+)$")
"""`cuda_12.1`, and not `x86_64`."""


SoldOutAt = Callable[[str, str], datetime | None]
"""A specification and an account: when it was last refused for want of machines, if nothing is known since."""


def _none_yet() -> Sequence[JobSpec]:
    return ()


def _never(_: str, __: str) -> datetime | None:
    return None


@dataclass(frozen=True, slots=True)
class ChoiceRow:
    """One line of the list."""

    value: str
    title: str
    facts: tuple[Text | str, ...] = ()
    why_not: Text | None = None
    """It does not fit what else is chosen."""
    is_recent: bool = False


class FormChoices:
    """Lists for what the form holds now."""

    def __init__(self, form: JobForm, recent: RecentForms = _none_yet, sold_out_at: SoldOutAt = _never) -> None:
        self._form = form
        self._sold_out_at = sold_out_at
        self._recent = recent

    @property
    def taken(self) -> datetime | None:
        """When the service told what it offers."""
        offer = self._form.state.offer
        return offer.taken if offer is not None else None

    def engines(self) -> list[str]:
        """The names, those used lately first."""
        names = dict.fromkeys(engine.name for engine in self._offer.engines)
        used = [spec.engine for spec in self._used() if spec.engine in names]
        return list(dict.fromkeys((*used, *names)))

    def look_up(self, find: Callable[[str], list[ChoiceRow]]) -> Callable[[str], list[ChoiceRow]]:
        """`find` for a list that is opened: from then on it is to be of now."""

        def found(words: str) -> list[ChoiceRow]:
            self._form.want_offer()
            return find(words)

        return found

    def versions(self, words: str = "") -> list[ChoiceRow]:
        """Of the engine that is chosen, or of all while none is."""
        spec, offer = self._form.state.spec, self._offer
        engines = [one for one in offer.engines if one.name == spec.engine or not spec.engine]
        recent = list(dict.fromkeys(used.engine_version for used in self._used()))
        flavor = offer.flavor_of(spec)
        return [_version_row(one, flavor, recent) for one in matching_engines(engines, words, recent)]

    def flavors(self, words: str = "") -> list[ChoiceRow]:
        spec, offer = self._form.state.spec, self._offer
        recent = list(dict.fromkeys(used.flavor for used in self._used()))
        engine = offer.engine_of(spec)
        return [
            ChoiceRow(one.id, one.id, tuple(self._facts(one)), misfit(engine, one, spec.nodes), one.id in recent)
            for one in matching_flavors(offer.flavors, words, recent, self._facts)
        ]

    def flavor_words(self, flavor_id: str) -> str:
        """The specification on one line; what is not offered is its name alone."""
        return self.flavor_forms(flavor_id)[0]

    def flavor_forms(self, flavor_id: str) -> list[str]:
        """The specification on one line, and in fewer and fewer words: what it has, of that what counts most."""
        found = next((one for one in self._offer.flavors if one.id == flavor_id), None)
        if found is None:
            return [flavor_id]
        facts = [say(fact) for fact in _machine(found)]
        most = facts[1:] if (found.card or found.accelerator) and found.kind not in ("", found.accelerator) else facts
        return [_DOT.join(parts) for parts in ([flavor_id, *facts], facts, *_fewer(most))] + [flavor_id]

    def version_forms(self, version: str) -> list[str]:
        """The version of the engine on one line, and in fewer and fewer words; the engine has a line of its own."""
        first, *others = version.split("-")
        name, _, number = first.partition("_")
        if not number:
            return [version]
        is_told = name.casefold() == self._form.state.spec.engine.casefold()
        parts = [number if is_told else f"{name} {number}", *(_NAMED.sub(r"\1 \2", one) for one in others)]
        return [version, *(_DOT.join(fewer) for fewer in _fewer(parts))]

    def take_version(self, version: str) -> None:
        spec = self._form.state.spec
        engines = [one for one in self._offer.engines if one.version == version]
        engine = next((one for one in engines if one.name == spec.engine), engines[0] if engines else None)
        if engine is not None:
            self._form.choose_engine(engine.name, engine.version)

    def _facts(self, flavor: Flavor) -> Iterator[Text | str]:
        yield from _machine(flavor)
        if flavor.disk:
            yield text("disk {size}", size=flavor.disk)
        if flavor.max_nodes > 1:
            yield count_text("up to {count} node", "up to {count} nodes", flavor.max_nodes)
        yield from (say("{label}: {value}", label=name, value=value) for name, value in flavor.attributes)
        if (moment := self._sold_out_at(flavor.id, self._form.state.profile)) is not None:
            yield text("was sold out on {moment}", moment=moment_words(moment))
        if (price := self._price(flavor)) is not None:
            yield price

    def _price(self, flavor: Flavor) -> Text | None:
        if flavor.is_free:
            return text("free")
        prices, account = self._form.state.prices, self._form.state.profile
        if prices is None:
            return None
        hour = prices.per_hour(flavor.id, 1, account, flavor.billing_code, flavor.billing_units)
        if hour == 0:
            return text("free")
        cost = money_words(hour, prices.currency)
        return None if cost is None else text("per hour: {cost}", cost=cost)

    @property
    def unknowns(self) -> Text | None:
        """What is said of no specification, which is not the same as free and there to be had."""
        flavors = self._offer.flavors
        if any(one.attributes for one in flavors) or self._form.state.spec.target is Target.LAB:
            return None
        if any(self._price(one) is not None for one in flavors):
            return text("Whether one is sold out shows when the job is submitted.")
        return text("Prices are not known. Whether one is sold out shows when the job is submitted.")

    @property
    def _offer(self) -> Choices:
        return self._form.state.offer or Choices((), ())

    def _used(self) -> list[JobSpec]:
        return list(self._recent())[: 10 * _MOST_RECENT]


def _fewer(parts: Sequence[str]) -> Iterator[Sequence[str]]:
    """All of them, then without the last, and so on."""
    yield from (parts[:count] for count in range(len(parts), 0, -1))


def _version_row(engine: Engine, flavor: Flavor | None, recent: Iterable[str]) -> ChoiceRow:
    facts = [part for part in (engine.name, engine.arch) if part]
    why_not = misfit(engine, flavor) if flavor is not None else None
    return ChoiceRow(engine.version, engine.version, tuple(facts), why_not, engine.version in recent)


def _machine(flavor: Flavor) -> Iterator[Text | str]:
    if flavor.kind and flavor.kind != flavor.accelerator:
        yield flavor.kind
    card = " ".join(part for part in (flavor.card, flavor.card_memory) if part) or flavor.accelerator
    if flavor.cards and card:
        yield f"{flavor.cards} × {card}"
    elif card:
        yield card
    if flavor.cores:
        yield count_text("{count} core", "{count} cores", flavor.cores)
    if flavor.memory:
        yield flavor.memory
