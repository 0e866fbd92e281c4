"""Whether what the run writes is kept, and overwrites nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from traindeck.domain.jobs.checks import CheckFix, CheckLevel, use_place
from traindeck.domain.storage.objects import ObjectPath, size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.jobs.checks.form_mistakes import mistakes
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, amber, green, levels, red
from traindeck.services.jobs.checks.job_places import INPUTS, LOG, OUTPUTS, RUN, JobPlace, mistyped, places_of
from traindeck.services.jobs.checks.service_facts import LiveOutput
from traindeck.services.storage.place_facts import Missing

_HINT_OWN = text("Add {{run}}, so that each run gets a folder of its own.")


async def _outputs(job: CheckedJob) -> Iterable[CheckAnswer]:
    wrong = mistyped(job, OUTPUTS)
    known = {answer.field for answer in wrong}
    places = [place for place in places_of(job.spec, OUTPUTS) if place.field not in known]
    said = [*wrong]
    rest = []
    for place in places:
        clash = _beside_inputs(job, place) or _beside_outputs(place, places)
        if clash is None:
            rest.append(place)
        else:
            said.append(clash)
    live = await job.service.live_outputs() if any(not place.is_own for place in rest) else []
    return [*said, *(await gather_or_raise(_output(job, place, live) for place in rest))]


def _beside_inputs(job: CheckedJob, place: JobPlace) -> CheckAnswer | None:
    mine = place.whole.as_folder()
    for one in places_of(job.spec, INPUTS):
        other = one.whole.as_folder()
        if mine == other:
            fact = text("{row} is the input {input} itself: the run would overwrite it.", row=place.row, input=one.row)
            return red(fact, text("Enter another folder."), field=place.field)
        if other.holds(mine) or (not place.is_own and mine.holds(other)):
            fact = text("{row} and the input {input} lie in one folder.", row=place.row, input=one.row)
            hint = text("Enter a folder beside the input, so that results are not taken for data.")
            return amber(fact, hint, field=place.field)
    return None


def _beside_outputs(place: JobPlace, places: Sequence[JobPlace]) -> CheckAnswer | None:
    """Of two the same, the second is told."""
    before = places[: places.index(place)]
    same = next((one for one in before if one.whole.as_folder() == place.whole.as_folder()), None)
    if same is None:
        return None
    fact = text("{row} is the same folder as {other}.", row=place.row, other=same.row)
    return red(fact, text("Enter another folder."), field=place.field)


async def _output(job: CheckedJob, place: JobPlace, live: Sequence[LiveOutput]) -> CheckAnswer:
    if place.is_own:
        return green(text("{place}: every run has its own.", place=str(place.whole)), field=place.field)
    mine = place.whole.as_folder()
    for one in live:
        if one.place.holds(mine) or mine.holds(one.place):
            fact = text("{run} is writing to {place} now.", run=one.run, place=str(one.place))
            return red(fact, _HINT_OWN, place.own_folder(), field=place.field)
    return await _shared(job, place, mine)


async def _shared(job: CheckedJob, place: JobPlace, mine: ObjectPath) -> CheckAnswer:
    found = await job.service.place(mine)
    if found.missing is not None or not found.count:
        fact = text("{place} is the same for every run: the next one writes over this one.", place=str(mine))
        if found.missing is Missing.BUCKET:
            fact = text("The bucket “{bucket}” does not exist.", bucket=mine.bucket)
            return red(fact, text("Check the name and the account's region, or create the bucket."), field=place.field)
        return amber(fact, _HINT_OWN, place.own_folder(), field=place.field)
    amount = count_text(
        "{count} object, {size}", "{count} objects, {size}", found.count, size=size_words(found.size_bytes)
    )
    fact = text("{place} is not empty: {amount}.", place=str(mine), amount=amount)
    return amber(fact, _HINT_OWN, place.own_folder(), field=place.field)


async def _log(job: CheckedJob) -> Iterable[CheckAnswer]:
    if wrong := mistyped(job, LOG):
        return wrong
    if (clash := _log_in_input(job)) is not None:
        return [clash]
    if job.spec.log_to.strip():
        return [green(text("The log is kept in {place}.", place=job.spec.log_to), field=LOG)]
    if job.profile.is_lab:
        return [green(text("The log is kept on this computer."))]
    ways = _usual_log(job)
    fact = text("There is no folder for the log: the service keeps it for 30 days, and shows 5 MB of it.")
    return [amber(fact, text("Enter a folder in OBS to keep it permanently."), *ways, field=LOG)]


def _log_in_input(job: CheckedJob) -> CheckAnswer | None:
    for log in places_of(job.spec, LOG):
        for one in places_of(job.spec, INPUTS):
            if one.whole.as_folder().holds(log.whole.as_folder()):
                fact = text("The log is kept in the input {input}.", input=one.row)
                return amber(
                    fact, text("Enter a folder beside the input, so that logs are not taken for data."), field=LOG
                )
    return None


def _usual_log(job: CheckedJob) -> list[CheckFix]:
    first = next(places_of(job.spec, OUTPUTS), None)
    return [use_place(LOG, f"obs://{first.whole.bucket}/log/{RUN}/")] if first else []


async def _checkpoint(job: CheckedJob) -> Iterable[CheckAnswer]:
    wrong = mistakes(job, "checkpoint_folder", "checkpoint_pattern")
    folder = job.spec.checkpoint_folder.strip().replace("\\", "/")
    if wrong or not (folder or job.spec.checkpoint_pattern):
        return wrong
    if not any(channel.place.strip() for channel in job.spec.outputs):
        return [red(text("There is no output that checkpoints could be kept in."), _BELOW, field="checkpoint_folder")]
    if _is_elsewhere(folder):
        return [red(text("“{folder}” is not below an output.", folder=folder), _BELOW, field="checkpoint_folder")]
    return [green(_kept_in(folder or "./"))]


_BELOW = text("Enter a folder below the output, for example “ckpt/”.")


def _kept_in(folder: str) -> Text:
    return text("Checkpoints are looked for in {folder} below the output.", folder=folder)


def _is_elsewhere(folder: str) -> bool:
    return folder.startswith(("/", "~")) or ":" in folder or ".." in folder.split("/")


_FIELDS = frozenset({"inputs", "outputs", "log_to", "name"})
_SAID = levels(CheckLevel.GREEN, CheckLevel.RED)
_ASKED = levels(CheckLevel.GREEN, CheckLevel.AMBER, CheckLevel.RED, CheckLevel.NOT_CHECKED)

CHECKS = (
    JobCheck("outputs", text("Outputs"), _FIELDS, _outputs, _ASKED, is_remote=True),
    JobCheck("log", text("Log folder"), _FIELDS, _log, _SAID | {CheckLevel.AMBER}),
    JobCheck("checkpoint", text("Checkpoints"), frozenset({"checkpoint_folder", "outputs"}), _checkpoint, _SAID),
)
