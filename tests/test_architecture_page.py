"""ARCHITECTURE.md tells the truth: its drawing is drawn from the imports, and every path it names is there."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from support.sources import source

ROOT = Path(__file__).parents[1]
APP = ROOT / "app"
PACKAGE = APP / "traindeck"
PAGE = ROOT / "ARCHITECTURE.md"

LAYERS = ("ui", "cli", "viewmodels", "assembly", "services", "store", "lab", "runtime", "domain")
LINE = 118


def room_of(module: str) -> tuple[str, str]:
    """The layer and the room of a module; a module beside the rooms is a room of that name."""
    parts = module.split(".")[1:]
    layer = parts[0] if parts and parts[0] in LAYERS else "roots"
    return layer, parts[1] if layer != "roots" and len(parts) > 1 else ""


def imports(path: Path) -> set[str]:
    """The modules of ours that are imported when this one is."""
    found = set()
    for module, name, _ in source(path).imports:
        if name and module.split(".")[0] == "traindeck":
            whole = f"{module}.{name}"
            as_path = APP.joinpath(*whole.split("."))
            is_module = as_path.with_suffix(".py").exists() or (as_path / "__init__.py").exists()
            found.add(whole if is_module else module)
    return found


def drawn() -> str:
    """The rooms of each layer, and what each leans on in its own layer; then what each layer leans on."""
    rooms: dict[str, dict[str, set[str]]] = {layer: defaultdict(set) for layer in LAYERS}
    layers: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(APP).with_suffix("").parts).removesuffix(".__init__")
        layer, room = room_of(module)
        if layer != "roots" and room:
            rooms[layer][room] |= set()
        for other in imports(path):
            other_layer, other_room = room_of(other)
            if other_layer == layer:
                if room != other_room and room and other_room and layer != "roots":
                    rooms[layer][room].add(other_room)
            elif other_layer != "roots":
                layers[layer].add(other_layer)
    lines = []
    for layer in ("roots", *LAYERS):
        order = [name for name in LAYERS if name in layers[layer]]
        lines.append(f"{layer} → {', '.join(order)}" if order else layer)
        for room, others in sorted(rooms.get(layer, {}).items()):
            line = f"    {room}" + (f" → {', '.join(sorted(others))}" if others else "")
            while len(line) > LINE:
                cut = line.rindex(", ", 0, LINE) + 1
                lines.append(line[:cut])
                line = " " * 8 + line[cut:].lstrip()
            lines.append(line)
    return "\n".join(lines)


def test_the_drawing_is_true() -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(r"^```rooms\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    assert found, "the page has no block ```rooms"
    assert found.group(1) == drawn(), "draw it anew: PYTHONPATH=app:tests python tests/test_architecture_page.py"


def test_every_named_path_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    named = re.findall(r"`((?:app|tests|resources|packaging|\.ci|\.github)(?:/[\w.*-]+)+/?)`", page)
    # Inside the tables paths are told from the package on.
    named += [f"app/traindeck/{path}" for path in re.findall(rf"`((?:{'|'.join(LAYERS)})(?:/[\w.-]+)+/?)`", page)]
    assert len(named) > 40
    assert [path for path in named if not (list(ROOT.glob(path)) if "*" in path else (ROOT / path).exists())] == []


def test_every_room_is_walked_into_sideways() -> None:
    """A room of the view-models or the window has the name of a room of the services, or is one of the frame's own."""
    own = {"shell", "kit", "qt", "previews", "lab"}
    services = {path.name for path in (PACKAGE / "services").iterdir() if path.is_dir()}
    for layer in ("viewmodels", "ui"):
        names = {path.name for path in (PACKAGE / layer).iterdir() if path.is_dir() and path.name != "__pycache__"}
        assert names <= services | own, layer


if __name__ == "__main__":
    print(drawn())
