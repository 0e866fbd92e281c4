"""The few parts of the ModelArts SDK that are used, without the rest.

Its two packages import a class for each of some 1,280 models, of which a dozen are used here: 0.2 s and 40 MB. They are
put in place without being run, and look each name up in the module that has it when they are asked for it.
"""

from __future__ import annotations

import re
import sys
import threading
from functools import partial
from importlib import import_module
from importlib.util import find_spec, module_from_spec

_PACKAGES = ("huaweicloudsdkmodelarts.v1", "huaweicloudsdkmodelarts.v1.model")
_MODELS = _PACKAGES[1]
_one_at_a_time = threading.Lock()
_WORD = re.compile(r"(?<!^)(?<![A-Z])(?=[A-Z])")


def load_sparingly() -> None:
    """Where the packages are loaded already, they stay as they are."""
    with _one_at_a_time:
        for name in _PACKAGES:
            spec = None if name in sys.modules else find_spec(name)
            if spec is None:
                continue
            package = module_from_spec(spec)
            package.__getattr__ = partial(_look_up, name)  # type: ignore[method-assign]
            sys.modules[name] = package
            parent, _, own = name.rpartition(".")
            setattr(sys.modules[parent], own, package)


def _look_up(package: str, name: str) -> object:
    if not name[:1].isupper():
        raise AttributeError(f"{package} has no {name}")
    module = f"{package}.modelarts_client" if name == "ModelArtsClient" else f"{_MODELS}.{_module(name)}"
    try:
        found: object = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        raise AttributeError(f"{package} has no {name}") from error
    setattr(sys.modules[package], name, found)
    return found


def _module(name: str) -> str:
    """CreateTrainingJobRequest is in create_training_job_request."""
    return _WORD.sub("_", name).lower()
