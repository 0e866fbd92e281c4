"""What every command is given."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traindeck.cli.output import Output

if TYPE_CHECKING:
    from traindeck.assembly.core import Core
    from traindeck.assembly.data_core import DataCore

DONE = 0
FAILED = 1


@dataclass(frozen=True, slots=True)
class Call:
    """One command as it was typed, and where its answer goes."""

    options: Namespace
    output: Output

    def core(self) -> AbstractAsyncContextManager[Core]:
        """The services, built when a command needs them; they bring the SDKs along."""
        from traindeck.assembly.core import open_core
        from traindeck.store.paths import Paths

        return open_core(Paths.for_user())

    def data(self) -> AbstractAsyncContextManager[DataCore]:
        """Of the services only those for objects."""
        from traindeck.assembly.data_core import open_data_core
        from traindeck.runtime.short_life import collect_seldom
        from traindeck.store.paths import Paths

        collect_seldom()
        return open_data_core(Paths.for_user())

    def profile(self, core: Core | DataCore) -> str:
        name: str = self.options.profile or core.profiles.current
        return name


Command = Callable[[Call], Awaitable[int]]
