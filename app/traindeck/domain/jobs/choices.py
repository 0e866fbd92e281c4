"""What an account offers for jobs, and what of it fits together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, count_text, moment_words, text

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    version: str
    id: str
    arch: str = ""
    run_user: str = ""
    is_old: bool = False
    """It starts scripts as the service of old did: with addresses in OBS, and no folder of its own."""


@dataclass(frozen=True, slots=True)
class Flavor:
    """A specification; what the service does not tell is empty or None, never 0."""

    id: str
    name: str
    kind: str
    cores: int | None = None
    memory: str = ""
    accelerator: str = ""
    max_nodes: int = 1
    arch: str = ""
    cards: int | None = None
    card: str = ""
    card_memory: str = ""
    disk: str = ""
    billing_code: str = ""
    billing_units: int = 1
    is_free: bool = False
    pool: str = ""
    engines: tuple[str, ...] = ()
    """The engines it takes where the service names them; empty: all that are built for it."""
    attributes: tuple[tuple[str, str], ...] = ()
    """What else the service says of it, as whether it is sold out."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What an account offers, and since when it is known."""

    engines: tuple[Engine, ...]
    flavors: tuple[Flavor, ...]
    taken: datetime | None = None
    trouble: Text | None = None
    """Why it is not of now."""

    @property
    def age_words(self) -> Text | None:
        """What is to be said where it is not of now."""
        if self.trouble is None:
            return None
        when = moment_words(self.taken)
        return text("{trouble} This is what was offered on {when}.", trouble=self.trouble, when=when)

    def engine_of(self, spec: JobSpec) -> Engine | None:
        wanted = (spec.engine, spec.engine_version)
        return next((engine for engine in self.engines if (engine.name, engine.version) == wanted), None)

    def flavor_of(self, spec: JobSpec) -> Flavor | None:
        return next((flavor for flavor in self.flavors if flavor.id == spec.flavor), None)


def misfit(engine: Engine | None, flavor: Flavor, nodes: int = 1) -> Text | None:
    """Why these do not go together; None: nothing speaks against it."""
    if nodes > flavor.max_nodes:
        return count_text(
            "This specification allows at most {count} node.",
            "This specification allows at most {count} nodes.",
            flavor.max_nodes,
        )
    if engine is None:
        return None
    version = engine.version.lower()
    needs_ascend = "cann" in version or "aarch64" in version
    if needs_ascend and flavor.kind != "Ascend":
        return text("The engine is built for Ascend; this specification is {kind}.", kind=flavor.kind or "–")
    if not needs_ascend and flavor.kind == "Ascend":
        return text("The engine is not built for Ascend; this specification is Ascend.")
    if flavor.engines and not {engine.id, engine.version, engine.name} & set(flavor.engines):
        return text("This specification does not take this engine.")
    return None


_CARDS = {"Ascend": text("Ascend NPU")}
"""What a kind of specification is also called."""


def matching_flavors(
    flavors: Sequence[Flavor],
    words: str,
    recent: Sequence[str] = (),
    shown: Callable[[Flavor], Iterable[Text | str]] = lambda _: (),
) -> list[Flavor]:
    """Those that hold all words, in any of their facts and in what is `shown` of them, the ones used lately first."""

    def facts(one: Flavor) -> Iterator[str]:
        yield from (one.id, one.name, one.kind, one.accelerator, one.memory, *map(str, shown(one)))
        if (card := _CARDS.get(one.kind)) is not None:
            yield from (card.in_english(), str(card))

    return _recent_first([one for one in flavors if _holds(words, facts(one))], recent, lambda one: one.id)


def matching_engines(engines: Sequence[Engine], words: str, recent: Sequence[str] = ()) -> list[Engine]:
    found = [one for one in engines if _holds(words, (one.name, one.version, one.id))]
    return _recent_first(found, recent, lambda one: one.version)


def _holds(words: str, facts: Iterable[str]) -> bool:
    haystack = " ".join(facts).lower()
    return all(word in haystack for word in words.lower().split())


def _recent_first(found: list[Thing], recent: Sequence[str], name_of: Callable[[Thing], str]) -> list[Thing]:
    """The sort is stable, so that the others stay in the order of the service."""
    places = {name: place for place, name in enumerate(recent)}
    return sorted(found, key=lambda one: places.get(name_of(one), len(places)))
