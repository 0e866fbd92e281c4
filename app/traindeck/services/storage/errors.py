"""What OBS answers, in our words: a table of its codes, one of the statuses of answers without a code."""

from __future__ import annotations

from traindeck.domain.errors import (
    AppError,
    Conflict,
    InvalidInput,
    LedAway,
    NoRight,
    NotFound,
    NotOffered,
    NotUnderstood,
    Occupied,
    ServiceTrouble,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.http.errors import (
    ErrorResponse,
    Refusal,
    by_code,
    by_status,
    expired_token,
    in_arrears,
    no_right,
    service_failed,
    too_many_requests,
    unknown_access_key,
    wrong_clock,
    wrong_secret_key,
)
from traindeck.services.http.proxies import LED_AWAY, LED_ON

NOT_OFFERED = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed")
"""What a service says to a kind of request that it does not have."""

# fmt: off
changed = Refusal(Conflict,
    text("“{place}” is no longer what it was: somebody has changed it."),
    text("Look at it again, then decide."))
shorter = Refusal(Conflict,
    text("“{place}” is shorter than what was asked for: it has been replaced."),
    text("Refresh the list, then try again."))
elsewhere = Refusal(InvalidInput,
    text("The bucket “{name}” is in another region than {host}."),
    text("Use an account of the region the bucket is in."))
# The service does not know this kind of request, or took it for another one.
not_offered = Refusal(NotOffered,
    text("{host} does not offer what was asked of “{place}”."),
    text("Its own console may offer it in another way; the details say what was asked."))

_no_access = Refusal(NoRight,
    text("The keys {key} may not do this with “{place}”."),
    text("Check whose bucket it is, its policy, and the rights of the keys."))
_missing = Refusal(NotFound,
    text("“{place}” does not exist."),
    text("Check the spelling; capital and small letters differ in OBS."))
# What arrived is not what was sent; the service threw it away, or we did.
damaged = Refusal(ServiceTrouble,
    text("“{place}” was damaged on its way."),
    text("Nothing wrong was kept. Try again; if it happens often, check the network."))
not_asked_for = Refusal(NotUnderstood,
    text("The list of “{place}” names what does not belong there."),
    text("Nothing of it was taken. Look whether this service speaks the list of OBS."))
again_and_again = Refusal(NotUnderstood,
    text("The service gives the same page of its list again and again."),
    text("Look whether this service speaks the list of OBS."))

_BY_CODE = by_code({
    # About the content of an object.
    "EntityTooLarge": Refusal(InvalidInput,
        text("“{place}” is larger than the service takes."),
        text("One object holds 48.8 TB at most; split the file.")),
    "EntityTooSmall InvalidPart InvalidPartOrder": Refusal(Conflict,
        text("“{place}” could not be put together: a part of it is missing or too small."),
        text("Nothing wrong was kept. Upload it again.")),
    "NoSuchUpload": Refusal(NotFound,
        text("The unfinished upload of “{place}” is gone: it was ended somewhere else."),
        text("Upload it again; a rule of the bucket may clear unfinished uploads away.")),
    "KeyTooLongError": Refusal(InvalidInput,
        text("The name “{place}” is longer than 1,024 bytes."),
        text("Use shorter folder and file names.")),
    "MetadataTooLarge": Refusal(InvalidInput,
        text("“{place}” has more metadata than the service takes."),
        text("All names and values together may have 8 KB; leave some out.")),
    "InvalidTagError InvalidTag": Refusal(InvalidInput,
        text("The tags of “{place}” were not accepted."),
        text("Check their number, and letters and length of names and values; no name may be there twice.")),
    "ObjectNotAppendable": Refusal(Conflict,
        text("Nothing can be added to the end of “{place}”."),
        text("Upload it as a whole.")),
    "PreconditionFailed": changed,
    "InvalidRange": shorter,
    # About a bucket or folder.
    "PermanentRedirect TemporaryRedirect": elsewhere,
    LED_AWAY: Refusal(LedAway,
        text("{host} wants this request to go to another address, which is not part of the service: {words}"),
        text("Nothing was sent there. Sign in to the network if it asks for that, and check the addresses and the "
             "proxy of the account.")),
    LED_ON: Refusal(LedAway,
        text("{host} does not answer, but sends the request on to {words}."),
        text("Check the address of OBS in the account: http or https, and its host.")),
    "BucketAlreadyOwnedByYou": Refusal(Conflict,
        text("You have the bucket “{bucket}” already."),
        text("Use it as it is, or choose another name.")),
    "OperationAborted": Refusal(ServiceTrouble,
        text("Something else is just being done with “{place}”."),
        text("Wait a moment, then try again.")),
    "InvalidBucketState": Refusal(Conflict,
        text("The bucket “{bucket}” is in a state that does not allow this."),
        text("Look at its versioning and replication in the console.")),
    "FsObjectConflict FsRenameConflict": Refusal(Conflict,
        text("“{place}” is a file where a folder is wanted, or the other way round."),
        text("Rename one of them; in a parallel file system a name can be only one of the two.")),
    "DirectoryNotEmpty": Refusal(Conflict,
        text("The folder “{place}” is not empty."),
        text("Delete what is in it first.")),
    "FsNotSupport": Refusal(InvalidInput,
        text("“{bucket}” is a parallel file system, which cannot do this."),
        text("Use an object bucket for it.")),
    "RequestPayerDenied": Refusal(NoRight,
        text("The owner of “{name}” wants those who read it to pay for that; we did not agree."),
        text("Ask the owner for another way to the data.")),
    "NoSuchBucketPolicy NoSuchCORSConfiguration NoSuchLifecycleConfiguration NoSuchTagSet NoSuchWebsiteConfiguration":
    Refusal(NotFound,
        text("The bucket “{bucket}” has no such setting ({code})."),
        text("There is nothing to change or remove; make the setting first.")),
    # About the request.
    "MalformedPolicy": Refusal(InvalidInput,
        text("The policy of “{bucket}” was not accepted: {words}"),
        text("Check its JSON: statements, principals, actions, and resources that begin with this bucket.")),
    "InvalidArgument InvalidDigest InvalidRequest InvalidURI MalformedACLError MalformedXML MissingContentLength "
    "MissingRequiredHeader UnexpectedContent": Refusal(InvalidInput,
        text("{host} did not accept what was asked of “{place}”: {words}"),
        text("Check names and values. If they are right, the mistake is ours: copy the details and tell us.")),
    "ServiceNotImplemented NotImplemented MethodNotAllowed": not_offered,
    "InternalError ServiceUnavailable": service_failed,
    # About anything.
    "SignatureDoesNotMatch TooManyWrongSignature": wrong_secret_key,
    "InvalidAccessKeyId": unknown_access_key,
    "ExpiredToken InvalidSecurityToken InvalidToken": expired_token,
    "RequestTimeTooSkewed": wrong_clock,
    "InArrearOrInsufficientBalance": in_arrears,
    "TooManyRequests SlowDown": too_many_requests,
    "AccessDenied AllAccessDisabled": _no_access,
    "NoSuchKey NoSuchVersion": _missing,
    "BadDigest IncompleteBody RequestTimeout": damaged,
    "VirtualHostDomainRequired": Refusal(InvalidInput,
        text("{host} does not accept path-style addresses."),
        text("Take “path style” out of the profile.")),
    "NoSuchBucket": Refusal(NotFound,
        text("The bucket “{bucket}” does not exist."),
        text("Check its name and the region of the profile, or create it.")),
    "BucketAlreadyExists": Refusal(Conflict,
        text("The bucket name “{bucket}” is taken."),
        text("Bucket names are shared by all customers: choose another, for example with your own name in it.")),
    "BucketNotEmpty": Refusal(Conflict,
        text("The bucket “{bucket}” is not empty."),
        text("Delete what is in it first; unfinished uploads count too.")),
    "InvalidBucketName": Refusal(InvalidInput,
        text("“{bucket}” cannot be a bucket name."),
        text("A name has 3 to 63 of a–z, 0–9, dot and hyphen, and begins and ends with a letter or digit.")),
    "TooManyBuckets": Refusal(Conflict,
        text("The account has as many buckets as it may have."),
        text("Delete one that is no longer needed, or ask for a higher quota in the console.")),
    "InvalidLocationConstraint IllegalLocationConstraintException": Refusal(InvalidInput,
        text("The region of the profile does not fit {host}."),
        text("Choose the region in which the bucket is to be.")),
    "InvalidObjectState": Refusal(Conflict,
        text("“{place}” is archived."),
        text("Restore it first (Properties, Storage); that takes minutes to hours.")),
    "InsufficientStorageSpace": Refusal(Conflict,
        text("The bucket “{bucket}” has no space left under its quota."),
        text("Delete something, or raise the quota of the bucket.")),
})
# fmt: on

# Answers to HEAD have no body, hence no code.
_BY_STATUS = dict.fromkeys(range(300, 400), elsewhere) | {
    405: not_offered,
    412: changed,
    416: shorter,
    501: not_offered,
}
_OF_PLACES = {403: _no_access, 404: _missing}


def obs_error(answer: ErrorResponse, place: ObjectPath | None) -> AppError:
    """The error for a refused request about `place` (None: about the account)."""
    rule = _BY_CODE.get(answer.code)
    if rule is None and place is not None:
        rule = _OF_PLACES.get(answer.status)
    if rule is None:
        rule = _BY_STATUS.get(answer.status, by_status)
    if place is None:
        host = answer.service.host
        if rule is elsewhere and not answer.code:
            rule = by_status  # there is no bucket that could be in another region
        return no_right(answer) if rule is _no_access else rule(answer, host, host)
    return rule(answer, str(place), place.bucket)


def occupied(path: ObjectPath) -> Occupied:
    return Occupied(
        text("There is another “{place}” by now.", place=str(path)), text("It was left alone. Look which is wanted.")
    )


def otherwise_listed(path: ObjectPath, detail: str) -> Conflict:
    """What a service says of an object when it gives it is not what it said when it listed it."""
    return Conflict(
        text("“{place}” is not what the service listed.", place=str(path)),
        text("Nothing of it was kept. List it again; if it stays so, the service cannot be relied on."),
        detail,
    )


def need_key(path: ObjectPath) -> None:
    # Without a key the same request would mean the bucket itself.
    if path.is_bucket:
        raise InvalidInput(
            text("“{place}” is a bucket, not an object.", place=str(path)),
            text("Name a file or folder inside it."),
        )
