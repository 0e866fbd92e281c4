"""What waits for somebody who types or looks, on a node where nobody does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from traindeck.domain.texts import Text, text
from traindeck.services.scripts.rules.frame import AMBER, RED, Fault, ScriptLook, ScriptRule, at

_ASKED = ("debug", "interactive", "isatty", "display", "show", "plot", "visual", "gui", "notebook", "ipython")
_TYPED: Mapping[str, Text] = {
    name: text("{call} waits for an input that nobody types: the job fails with EOFError.", call=name)
    for name in ("input", "raw_input", "getpass.getpass", "builtins.input", "click.prompt", "click.confirm")
} | {
    name: text("{call} opens a debugger, and nobody types there: the job fails.", call=name)
    for name in ("breakpoint", "pdb.set_trace", "ipdb.set_trace", "pudb.set_trace", "IPython.embed", "code.interact")
}
OF_NOTEBOOK = text("Remove commands of notebooks; packages are named in pip-requirements.txt beside the boot file.")
_WINDOWS = frozenset({"cv2.imshow", "cv2.waitKey", "cv2.namedWindow", "cv2.destroyAllWindows", "tkinter.Tk",
                      "turtle.Screen", "pygame.display.set_mode"})  # fmt: skip
_SCREENS = frozenset({"TkAgg", "Qt5Agg", "QtAgg", "Qt4Agg", "GTK3Agg", "WXAgg", "MacOSX"})
_PARAMETERS = text("Take the value from a running parameter, or leave the line out on the node.")
_SAVE = text("Save the picture into the output instead, for example with plt.savefig or cv2.imwrite.")


def _calls(look: ScriptLook) -> Iterable[Fault]:
    for view, call in look.all_calls():
        values = look.values(view)
        if call.around.handles("EOFError") or values.depends_on(call.around, *_ASKED):
            continue
        if call.name in _TYPED:
            yield at(RED, view, call.node, _TYPED[call.name], _PARAMETERS)
        elif call.name in _WINDOWS:
            why = text("{call} opens a window, and a node has no screen.", call=call.name)
            yield at(RED, view, call.node, why, _SAVE)
        elif call.name in ("matplotlib.pyplot.show", "pylab.show") and not _is_quiet(look):
            why = text("plt.show() shows the picture to nobody: a node has no screen.")
            yield at(AMBER, view, call.node, why, _SAVE)
        elif call.name in ("matplotlib.use", "matplotlib.pyplot.switch_backend"):
            backend = values.whole(call.argument(0, "backend"))
            if backend in _SCREENS:
                why = text("The backend {backend} needs a screen, which a node does not have.", backend=backend)
                yield at(RED, view, call.node, why, text("Use “Agg”, which writes files."))


def _is_quiet(look: ScriptLook) -> bool:
    """Who chose a backend that only writes files knows that nothing is shown."""
    for view, call in look.calls("matplotlib.use", "matplotlib.pyplot.switch_backend"):
        if str(look.values(view).whole(call.argument(0, "backend"))).lower() == "agg":
            return True
    return False


def _of_notebook(look: ScriptLook) -> Iterable[Fault]:
    """What “jupyter nbconvert --to script” makes of %… and !… (nbconvert documentation)."""
    for view, call in look.calls("get_ipython"):
        is_handled = call.around.is_tried or "NameError" in call.around.caught
        if not is_handled and not look.values(view).depends_on(call.around, *_ASKED):
            why = text("get_ipython is there in notebooks only: the job fails with NameError.")
            yield at(RED, view, call.node, why, OF_NOTEBOOK)


RULES = (
    ScriptRule("interactive", "interactive", text("Waits for a person"), _calls),
    ScriptRule("notebook-command", "interactive", text("Command of a notebook"), _of_notebook),
)
