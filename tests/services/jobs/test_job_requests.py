"""Forms as files beside the requests they become: golden, as the SDK reads them, as the Lab takes them, and back."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import huaweicloudsdkmodelarts.v1 as sdk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.stores.way import Way
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.form_fields import EVENTS
from traindeck.domain.jobs.form.validation import validate
from traindeck.domain.jobs.job_spec import (
    Channel,
    ChannelAccess,
    ChannelStyle,
    JobSpec,
    Target,
    Volume,
    VolumeKind,
    as_template,
    wire_value,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining
from traindeck.services.jobs.modelarts.adoption import spec_of
from traindeck.services.jobs.modelarts.request import job_request

FORMS = sorted((Path(__file__).parent / "requests").glob("*.toml"))
CODE = ObjectPath("demo-bucket", "traindeck/code/digits-1/code/")
NAME = "digits-1118-1200-ab2c"
SDK_LACKS = {
    "/metadata/tags", "/spec/volumes/pfs", "/spec/volumes/obs", "/spec/resource/main_container_customized_flavor",
}  # fmt: skip
"""What the models of the SDK have no place for; the body goes as a plain document, so that nothing is lost."""


def form(path: Path) -> JobSpec:
    return job_file.parse(path.read_text(encoding="utf-8"))


def request(spec: JobSpec, name: str = NAME, code: ObjectPath | None = CODE) -> dict[str, Any]:
    return job_request(name, spec.for_run(name, "work"), code)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_the_request_is_as_it_was_looked_at(path: Path) -> None:
    """After a change that is meant: look at what `git diff` shows of the files that WRITE_GOLDEN=1 writes."""
    assert validate(form(path)) == []
    golden = path.with_suffix(".json")
    if os.environ.get("WRITE_GOLDEN"):
        written = json.dumps(request(form(path)), ensure_ascii=False, indent=1) + "\n"
        golden.write_text(written, encoding="utf-8", newline="\n")
    assert request(form(path)) == json.loads(golden.read_text(encoding="utf-8"))


def test_there_are_thirty_of_them() -> None:
    assert len(FORMS) >= 30


def places(document: object, way: str = "") -> Iterator[str]:
    """Every place that holds something; rows of a list are all the same."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, f"{way}/{key}")
    elif isinstance(document, list):
        for row in document:
            yield from places(row, way)
    else:
        yield way


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_the_models_of_the_sdk_know_every_part_of_it(path: Path) -> None:
    from huaweicloudsdkcore.utils.http_utils import sanitize_for_serialization
    from huaweicloudsdkmodelarts.v1 import ModelArtsClient

    body = request(form(path))
    job = ModelArtsClient()._deserialize(body, "Job")
    lost = set(places(body)) - set(places(sanitize_for_serialization(job)))
    assert {place for place in lost if not any(place.startswith(known) for known in SDK_LACKS)} == set()


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
async def test_the_lab_takes_it_and_tells_a_job_that_gives_the_same_form(path: Path, way: Way) -> None:
    spec, name = form(path), f"form-{secrets.token_hex(4)}"
    with way.storage() as storage:
        await storage.create_bucket("demo-bucket")
    for folder in (CODE, ObjectPath("demo-bucket", "code/digits/")):
        await way.put(b"print('hello')", folder.join("train.py"), folder.join("src/models/train.py"))
    with way.training() as training:
        if spec.algorithm_id:
            spec = replace(spec, algorithm_id=await algorithm(training, name))
        if spec.subscription_id:
            spec = replace(spec, subscription_id=await algorithm(training, name))
        body = request(spec, name)
        job = await training.create(name, spec.for_run(name, "work"), CODE)
        again = await training.form(job.id, Target.MODELARTS)
        assert again is not None
        lost = lost_of(body, request(again, name))
        if again.experiment_id:  # made for its name
            del lost["/metadata/training_experiment_reference/name"]
        assert lost == {}
        await training.stop(job.id)
        await training.delete(job.id)


async def algorithm(training: ModelArtsTraining, name: str) -> str:
    body = {"metadata": {"name": name}, **ALGORITHM}
    request = sdk.CreateAlgorithmRequest(body=body)
    made = await training._account.ask_once(lambda client: client.create_algorithm(request))
    return str(made["metadata"]["id"])


ALGORITHM = {
    "job_config": {
        "code_dir": CODE.api_form, "boot_file": CODE.join("train.py").api_form,
        "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"},
        "parameters_customization": True,
    },
}  # fmt: skip


def lost_of(body: Any, again: Any, way: str = "") -> dict[str, object]:
    """What the first request holds and the second does not, or otherwise."""
    if isinstance(body, dict):
        if not isinstance(again, dict):
            return {way: body}
        lost = [lost_of(body[key], again.get(key), f"{way}/{key}") for key in body]
        return {place: value for part in lost for place, value in part.items()}
    return {} if body == again or (body in ([], "") and again is None) else {way: body}


names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,12}", fullmatch=True)
shown = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=20)
keys = st.from_regex(r"[a-z0-9{}][a-z0-9 {}_.-]{0,8}[a-z0-9{}]", fullmatch=True)
buckets = st.from_regex(r"[a-z]{3,6}", fullmatch=True)
folders = st.builds(lambda bucket, key: f"obs://{bucket}/{as_template(key)}/", buckets, keys)
ids = st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True)
plain_folders = st.builds(lambda bucket, key: f"obs://{bucket}/{key}/", buckets, ids)
numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
scalars = st.one_of(shown, numbers, st.booleans())
json_values = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**53), 2**53), shown.filter(bool)),
    lambda inside: st.one_of(
        st.lists(inside, min_size=1, max_size=3), st.dictionaries(names, inside, min_size=1, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip


def distinct(rows: st.SearchStrategy[Any], of: Any) -> st.SearchStrategy[Any]:
    return st.lists(rows, max_size=3, unique_by=of).map(tuple)


@st.composite
def forms(draw: st.DrawFn) -> JobSpec:
    """Good forms, as the service would tell them."""
    channel = st.builds(
        Channel, names, folders, st.sampled_from(ChannelAccess), st.just(ChannelStyle.LOCAL),
        st.sampled_from(["", "/cache/data", "/home/ma-user/x"]),
    )  # fmt: skip
    channels = draw(st.lists(channel, max_size=4, unique_by=lambda one: one.name))
    cut = draw(st.integers(0, len(channels)))
    taken = {one.name for one in channels}
    parameters = draw(distinct(st.tuples(names.filter(lambda name: name not in taken), scalars), lambda row: row[0]))
    volume = st.builds(
        lambda kind, mount, source, ro: Volume(kind, source, f"/{mount}", ro),
        st.sampled_from(VolumeKind), names, plain_folders, st.booleans(),
    )  # fmt: skip
    starts = draw(st.sampled_from(["engine", "both", "command", "algorithm", "image code"]))
    spec = JobSpec(
        name=draw(names), target=Target.MODELARTS, description=draw(shown),
        workspace=draw(st.sampled_from(["", "a" * 32])), experiment=draw(shown),
        code_folder="", flavor=draw(ids), nodes=draw(st.integers(1, 64)),
        pool=draw(st.one_of(st.just(""), ids)), stop_after=draw(st.sampled_from(["none", "1h", "48h"])),
        priority=draw(st.integers(0, 3)), preemptible=draw(st.booleans()), inputs=tuple(channels[:cut]),
        outputs=tuple(channels[cut:]), log_to=draw(folders), parameters=parameters,
        environment=draw(distinct(st.tuples(names, shown), lambda row: row[0])),
        tags=draw(distinct(st.tuples(names, shown), lambda row: row[0])),
        volumes=draw(distinct(volume, lambda one: one.mount)), notify_topic=draw(ids),
        notify_events=tuple(draw(st.lists(st.sampled_from(EVENTS), max_size=3, unique=True))),
        extra=tuple((f"/spec/x-{name}", json.dumps(value, ensure_ascii=False, sort_keys=True))
                    for name, value in draw(st.dictionaries(names, json_values, max_size=2)).items()),
    )  # fmt: skip
    match starts:
        case "algorithm":
            return replace(spec, algorithm_id=draw(ids))
        case "command":
            return replace(
                spec,
                command="bash run.sh",
                image="org/image:1",
                code_url=draw(st.sampled_from(["", "obs://code-b/c/"])),
            )
        case _:
            url = "file:///home/ma-user/c/" if starts == "image code" else "obs://code-b/c d/"
            image = "org/image:1" if starts != "engine" else ""
            return replace(spec, code_url=url, boot="src/train.py", engine="E", engine_version="v-1", image=image)


def settled(spec: JobSpec) -> JobSpec:
    """As it comes back: what looks like a number is one, and maps of other settings are told part by part."""
    return replace(spec, parameters=tuple((name, str(value)) for name, value in spec.parameters), extra=())


@given(forms())
def test_a_form_comes_back_from_its_request(spec: JobSpec) -> None:
    body = job_request(spec.name, spec.for_run(spec.name, "work"), None)
    again = spec_of(json.loads(json.dumps(body)), Target.MODELARTS)
    assert [wire_value(value) for _, value in again.parameters] == [wire_value(value) for _, value in spec.parameters]
    assert settled(replace(again, parameters=())) == settled(replace(spec, parameters=()))
    assert lost_of(body, job_request(spec.name, again.for_run(spec.name), None)) == {}


@given(forms(), st.dictionaries(names, json_values, max_size=3), st.dictionaries(names, json_values, max_size=3))
def test_what_we_do_not_know_of_a_job_made_elsewhere_is_sent_again(
    spec: JobSpec, of_job: dict[str, Any], of_rows: dict[str, Any]
) -> None:
    """Through the text of the job file as well, which is how runs are kept."""
    body = job_request(spec.name, spec.for_run(spec.name, "work"), None)
    for name, value in of_job.items():
        body[f"u-{name}"] = value
        body["spec"]["resource"][f"u-{name}"] = value
    for row in (*body["algorithm"]["inputs"], *body["algorithm"]["outputs"], *body["algorithm"]["parameters"]):
        row.update({f"u-{name}": value for name, value in of_rows.items()})
    for row in body["algorithm"]["inputs"]:
        row["remote"] = {"dataset": {"id": "d1", "version_id": "v1"}}
    told = {**body, "status": {"phase": "Completed"}, "metadata": {**body["metadata"], "id": "j", "create_time": 1}}
    kept = job_file.recall(job_file.to_toml(spec_of(told, Target.MODELARTS)))
    assert lost_of(body, job_request(spec.name, kept.for_run(spec.name), None)) == {}


@pytest.mark.parametrize("document", [{}, {"metadata": []}, {"metadata": {}, "algorithm": "x"}])
def test_what_is_no_job_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        spec_of(document, Target.MODELARTS)


@pytest.mark.parametrize(
    "algorithm",
    [
        {"inputs": [None, 3, {"name": None}, {"name": "a", "remote": "x", "local_dir": 4}], "parameters": {"a": 1}},
        {
            "engine": [],
            "environments": [],
            "outputs": [{"name": "o", "access_method": "tunnel", "remote": {"obs": []}}],
        },
        {"code_dir": 3, "boot_file": ["x"], "command": None},
    ],
)
def test_odd_answers_are_read_as_far_as_they_go(algorithm: dict[str, Any]) -> None:
    spec = spec_of(
        {"metadata": {"name": "x"}, "algorithm": algorithm, "spec": {"volumes": [{}], "auto_stop": []}}, Target.LAB
    )
    assert job_file.recall(job_file.to_toml(spec)) == spec


def test_tokens_of_a_running_job_are_not_kept() -> None:
    token = secrets.token_hex(8)
    job = {"metadata": {"name": "x"}, "endpoints": {"jupyter_lab": {"url": "https://x", "token": token}}}
    assert token not in job_file.to_toml(spec_of(job, Target.MODELARTS))
