"""Does this installation hold together? For whoever built or installed it; the exit status is the result."""

from __future__ import annotations

import importlib
import ssl

from traindeck.bootstrap import Program
from traindeck.domain.errors import AppError, KeyringMissing
from traindeck.domain.texts import say

_SDKS = ("obs", "huaweicloudsdkmodelarts.v1", "aiohttp", "httptools", "keyring", "libcst", "tomlkit")


async def visit(program: Program) -> int:
    """Exit status 0 when all of it works."""
    steps = {
        say("Libraries"): _libraries,
        say("Trusted certificates"): _certificates,
        say("Keyring"): _keyring,
        say("Records"): _records,
        say("Lab"): _lab,
        say("Window"): _window,
    }
    failures = 0
    for title, step in steps.items():
        try:
            print(f"ok    {title}: {await step(program)}", flush=True)
        except (AppError, OSError, ImportError, ValueError) as error:
            failures += 1
            words = error.sentence() if isinstance(error, AppError) else f"{type(error).__name__}: {error}"
            print(f"FAIL  {title}: {words}", flush=True)
    return 1 if failures else 0


async def _libraries(program: Program) -> str:
    await program.core.disk.run(lambda _: [importlib.import_module(name) for name in _SDKS])
    return ", ".join(_SDKS)


async def _certificates(_: Program) -> str:
    # Imported here: it comes with the SDKs, which the step before may have found missing.
    import certifi

    context = ssl.create_default_context(cafile=certifi.where())
    count = len(context.get_ca_certs())
    if not count:
        raise ValueError(certifi.where())
    return str(count)


async def _keyring(program: Program) -> str:
    """A server may have none; the program runs without, so that is no failure."""
    try:
        return await program.core.secrets.backend()
    except KeyringMissing:
        return say("none: keys can only be kept for the session")


async def _records(program: Program) -> str:
    runs = await program.core.records.all(1)
    return f"{program.core.paths.database} ({len(runs)})"


async def _lab(program: Program) -> str:
    address = await program.core.lab.address()
    choices = await program.core.choices.load(address.profile.name)
    return say(
        "Engines: {engines}, specifications: {flavors}", engines=len(choices.engines), flavors=len(choices.flavors)
    )


async def _window(program: Program) -> str:
    """Painted means more than one colour."""
    picture = program.workspace.window.grab().toImage()
    points = ((x, y) for x in range(0, picture.width(), 16) for y in range(0, picture.height(), 16))
    colors = {picture.pixel(x, y) for x, y in points}
    if len(colors) < 2:
        raise ValueError(f"{picture.width()}×{picture.height()}")
    return f"{picture.width()}×{picture.height()}, {program.application.platformName()}"
