"""Of the ModelArts SDK only what is used is loaded."""

from __future__ import annotations

import subprocess
import sys

SPARINGLY = """
import sys
from traindeck.services.jobs.modelarts.sdk_models import load_sparingly
load_sparingly()
load_sparingly()
from traindeck.services.jobs.modelarts.client import TrainingClient
from huaweicloudsdkmodelarts.v1 import CreateTrainingJobRequest, ListTrainingJobsRequest, ModelArtsClient, model
assert issubclass(TrainingClient, ModelArtsClient)
assert model.CreateTrainingJobRequest is CreateTrainingJobRequest
assert ListTrainingJobsRequest(body={}).body == {}
assert not hasattr(model, "NoSuchModelOfAnybody") and not hasattr(model, "no_such_thing")
try:
    from huaweicloudsdkmodelarts.v1 import NoSuchModelOfAnybody
except ImportError:
    pass
else:
    raise AssertionError
models = [name for name in sys.modules if name.startswith("huaweicloudsdkmodelarts.v1.model.")]
assert len(models) < 20, models
"""

BESIDE = """
import huaweicloudsdkmodelarts.v1 as before
from traindeck.services.jobs.modelarts.sdk_models import load_sparingly
load_sparingly()
import huaweicloudsdkmodelarts.v1 as after
assert before is after and "CreateTrainingJobRequest" in vars(after)
"""


def test_a_dozen_models_are_loaded_instead_of_all() -> None:
    subprocess.run([sys.executable, "-c", SPARINGLY], check=True)


def test_what_somebody_else_loaded_whole_stays_whole() -> None:
    subprocess.run([sys.executable, "-c", BESIDE], check=True)
