"""What ModelArts and the gateway before it answer, in our words."""

from __future__ import annotations

from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    Conflict,
    InvalidInput,
    LogGone,
    NameTaken,
    NotFound,
    ServiceTrouble,
)
from traindeck.domain.jobs.availability import SOLD_OUT
from traindeck.domain.texts import text
from traindeck.services.http.errors import (
    ErrorResponse,
    Refusal,
    by_code,
    by_status,
    in_arrears,
    no_right,
    not_understood,
    refused,
    too_many_requests,
    unknown_access_key,
    wrong_clock,
    wrong_secret_key,
)

CANNOT_STOP = "ModelArts.2796"
NO_LOG_YET = frozenset({"ModelArts.2776", "ModelArts.2818", "ModelArts.2820"})
NO_LOG_FOLDER = "ModelArts.2822"
_SAYS_ENOUGH = frozenset({407, 408, 429})
"""Statuses that gateways and proxies send with a page of their own, however they call themselves in it."""
NO_METRICS_YET = frozenset({"ModelArts.2777"})


def is_gone(answer: ErrorResponse) -> bool:
    """The service does not know the job; a page that is missing for another reason says nothing about it."""
    if answer.code == "ModelArts.2775":
        return True
    return answer.status == 404 and answer.code.startswith("ModelArts.") and answer.code != "ModelArts.2786"


def modelarts_error(answer: ErrorResponse) -> AppError:
    if answer.message.lstrip().startswith("<"):
        # A page for people, not an answer of the service; some statuses say enough without it.
        says_enough = answer.status >= 500 or answer.status in _SAYS_ENOUGH
        return by_status(answer) if says_enough else not_understood(answer)
    rule = _BY_CODE.get(answer.code.removeprefix("ModelArts."))
    if rule is None:
        rule = refused if answer.status == 404 else by_status
    return rule(answer, "", "")


def _identity(answer: ErrorResponse, *_: str) -> AppError:
    """One code for three causes; only the message tells them apart."""
    message = answer.message.lower()
    if "signature expired" in message:
        return wrong_clock(answer)
    if "not exist" in message:
        return unknown_access_key(answer)
    return wrong_secret_key(answer)


# fmt: off
_BY_CODE = by_code({
    "APIGW.0301": _identity,
    "0206 2784 APIGW.0307": wrong_secret_key,
    "0108 0112 APIGW.0302 APIGW.0310 APIGW.0402": no_right,
    "2837 4116 4118": in_arrears,
    "2799 APIGW.0308": too_many_requests,
    "0210 2786": Refusal(AccessRefused,
        text("The project of the account does not belong to these keys."),
        text("Check region and project. An empty project is looked up.")),
    "2785": Refusal(AccessRefused,
        text("ModelArts is not authorized for this account."),
        text("Open ModelArts in the console once and grant it access under Permission Management.")),
    "2751": Refusal(NameTaken,
        text("A job of this name already exists."),
        text("Enter another name.")),
    "2775": Refusal(NotFound,
        text("The service no longer has this job."),
        text("It was deleted, possibly in the web console. Its record on this computer is kept.")),
    "2819": Refusal(LogGone,
        text("The service no longer has this log."),
        text("It keeps logs for 30 days. What was downloaded before is on this computer.")),
    "2757 2791 2802": Refusal(InvalidInput,
        text("The code directory in OBS was not found."),
        text("Submit again, so that the code is uploaded anew; check the bucket's region.")),
    "2758": Refusal(InvalidInput,
        text("The boot file was not found in the code directory."),
        text("Check its name in the form, and that no ignore rule leaves it out.")),
    "2759 2760 2761": Refusal(InvalidInput,
        text("The code directory is too large for ModelArts. The limit is 5 GB, 1,000 files and 32 " "levels."),
        text("Exclude data and weights with ignore rules, and put them into the input.")),
    "2780 2832": Refusal(InvalidInput,
        text("This engine is no longer available."),
        text("Select another engine or version.")),
    "2763 2781 2840": Refusal(InvalidInput,
        text("This specification is not available, or does not match the engine."),
        text("Select another specification. “traindeck flavors” lists them.")),
    "2793": Refusal(InvalidInput,
        text("This specification does not allow so many nodes."),
        text("Use fewer nodes or another specification.")),
    "2765 2766 2767 2768 2769 2770 2788 2816 2825": Refusal(InvalidInput,
        text("A running parameter was not accepted: {words}"),
        text("Check names and values. Names must be unique.")),
    "2806 2810 2845": Refusal(InvalidInput,
        text("The image was not accepted: {words}"),
        text("Check the image (organization/image:tag) and the start command.")),
    "2815 2833": Refusal(Conflict,
        text("The quota for training jobs is used up."),
        text("Stop or delete jobs you no longer need; a free specification allows few at a time.")),
    "3976 4992 6716": Refusal(ServiceTrouble,
        SOLD_OUT,
        text("Try again later, or select another specification.")),
    "2878": Refusal(ServiceTrouble,
        text("The state of the job is changing."),
        text("Try again in a moment.")),
    "2796 2813": Refusal(Conflict,
        text("The job is in a state that does not allow this."),
        text("Refresh its state, then try again if needed.")),
})
