"""What OBS answers, in our words: a table of its codes, one of the statuses of answers without a code."""

from __future__ import annotations

from traindeck.domain.errors import (
    AppError,
    Conflict,
    Corrupted,
    InvalidInput,
    LedAway,
    NoBucket,
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
    led_nowhere,
    no_right,
    service_failed,
    too_many_requests,
    unknown_access_key,
    wrong_clock,
    wrong_secret_key,
)
from traindeck.services.http.proxies import LED_AWAY, LED_NOWHERE, LED_ON

NOT_OFFERED = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed")
"""What a service says to a kind of request that it does not have."""

# fmt: off
changed = Refusal(Conflict,
    text("“{place}” was changed by someone else."),
    text("Check it again before you continue."))
shorter = Refusal(Conflict,
    text("“{place}” is shorter than requested: it was replaced."),
    text("Refresh the list, then try again."))
elsewhere = Refusal(InvalidInput,
    text("The bucket “{name}” is in another region than {host}."),
    text("Use an account of the region the bucket is in."))
# The service does not know this kind of request, or took it for another one.
not_offered = Refusal(NotOffered,
    text("{host} does not support this operation for “{place}”."),
    text("The console of the service may support it. The details contain the request."))

_no_access = Refusal(NoRight,
    text("The keys {key} do not have permission to do this with “{place}”."),
    text("Check the owner of the bucket, its policy, and the permissions of the keys."))
_missing = Refusal(NotFound,
    text("“{place}” does not exist."),
    text("Check the spelling; names in OBS are case-sensitive."))
# What arrived is not what was sent; the service threw it away, or we did.
damaged = Refusal(Corrupted,
    text("“{place}” was corrupted in transit."),
    text("Nothing was stored. Try again. If it happens often, check the network."))
not_asked_for = Refusal(NotUnderstood,
    text("The list of “{place}” contains names that do not belong there."),
    text("Nothing was used. Check whether this service supports OBS listings."))
again_and_again = Refusal(NotUnderstood,
    text("The service returns the same page of the list repeatedly."),
    text("Check whether this service supports OBS listings."))

_BY_CODE = by_code({
    # About the content of an object.
    "EntityTooLarge": Refusal(InvalidInput,
        text("“{place}” is larger than the service accepts."),
        text("One object holds 48.8 TB at most; split the file.")),
    "EntityTooSmall InvalidPart InvalidPartOrder": Refusal(Conflict,
        text("“{place}” could not be assembled: a part is missing or too small."),
        text("Nothing was stored. Upload it again.")),
    "NoSuchUpload": Refusal(NotFound,
        text("The unfinished upload of “{place}” no longer exists: it was ended elsewhere."),
        text("Upload it again. A rule of the bucket may delete fragments.")),
    "KeyTooLongError": Refusal(InvalidInput,
        text("The name “{place}” is longer than 1,024 bytes."),
        text("Use shorter folder and file names.")),
    "MetadataTooLarge": Refusal(InvalidInput,
        text("“{place}” has more metadata than the service accepts."),
        text("All names and values together can have up to 8 KB. Remove some.")),
    "InvalidTagError InvalidTag": Refusal(InvalidInput,
        text("The tags of “{place}” were not accepted."),
        text("Check their number, and the characters and length of names and values. Names must be " "unique.")),
    "ObjectNotAppendable": Refusal(Conflict,
        text("Nothing can be added to the end of “{place}”."),
        text("Upload it as a whole.")),
    "PreconditionFailed": changed,
    "InvalidRange": shorter,
    # About a bucket or folder.
    "PermanentRedirect TemporaryRedirect": elsewhere,
    LED_AWAY: Refusal(LedAway,
        text("{host} redirects the request to a host that is not part of the service: {words}"),
        text("Nothing was sent there. Sign in to the network if required, and check the endpoints and "
             "the proxy of the account.")),
    LED_NOWHERE: led_nowhere,
    LED_ON: Refusal(LedAway,
        text("{host} redirects the request to {words}."),
        text("Check the OBS endpoint of the account: http or https, and its host.")),
    "BucketAlreadyOwnedByYou": Refusal(Conflict,
        text("You already have the bucket “{bucket}”."),
        text("Use it unchanged, or enter another name.")),
    "OperationAborted": Refusal(ServiceTrouble,
        text("“{place}” is in use by another operation."),
        text("Wait a moment, then try again.")),
    "InvalidBucketState": Refusal(Conflict,
        text("The bucket “{bucket}” is in a state that does not allow this."),
        text("Look at its versioning and replication in the console.")),
    "FsObjectConflict FsRenameConflict": Refusal(Conflict,
        text("“{place}” is a file instead of a folder, or the other way round."),
        text("Rename one of them; in a parallel file system a name can be only one of the two.")),
    "DirectoryNotEmpty": Refusal(Conflict,
        text("The folder “{place}” is not empty."),
        text("Delete its contents first.")),
    "FsNotSupport": Refusal(InvalidInput,
        text("“{bucket}” is a parallel file system, which does not support this."),
        text("Use an object bucket for it.")),
    "RequestPayerDenied": Refusal(NoRight,
        text("“{name}” requires the requester to pay. TrainDeck did not accept the charges."),
        text("Ask the owner for another way to the data.")),
    "NoSuchBucketPolicy NoSuchCORSConfiguration NoSuchLifecycleConfiguration NoSuchTagSet NoSuchWebsiteConfiguration":
    Refusal(NotFound,
        text("The bucket “{bucket}” has no such setting ({code})."),
        text("There is nothing to change or delete. Create the setting first.")),
    # About the request.
    "MalformedPolicy": Refusal(InvalidInput,
        text("The policy of “{bucket}” was not accepted: {words}"),
        text("Check its JSON: statements, principals, actions, and resources that begin with this bucket.")),
    "InvalidArgument InvalidDigest InvalidRequest InvalidURI MalformedACLError MalformedXML MissingContentLength "
    "MissingRequiredHeader UnexpectedContent": Refusal(InvalidInput,
        text("{host} rejected the request for “{place}”: {words}"),
        text("Check names and values. If they are correct, copy the details and attach them to an issue.")),
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
    "BadDigest IncompleteBody InvalidCRC64 RequestTimeout": damaged,
    "VirtualHostDomainRequired": Refusal(InvalidInput,
        text("{host} does not accept path-style URLs."),
        text("Turn off path-style access in the account settings.")),
    "NoSuchBucket": Refusal(NoBucket,
        text("The bucket “{bucket}” does not exist."),
        text("Check the name and the region of the account, or create the bucket.")),
    "BucketAlreadyExists": Refusal(Conflict,
        text("The bucket name “{bucket}” is already in use."),
        text("Bucket names are shared by all customers. Enter another one, for example with your own " "name in it.")),
    "BucketNotEmpty": Refusal(Conflict,
        text("The bucket “{bucket}” is not empty."),
        text("Delete its contents first, including fragments.")),
    "InvalidBucketName": Refusal(InvalidInput,
        text("“{bucket}” cannot be used as a bucket name."),
        text("A name has 3 to 63 characters (a–z, 0–9, dot, hyphen), and begins and ends with a " "letter or digit.")),
    "TooManyBuckets": Refusal(Conflict,
        text("The account has reached its limit of buckets."),
        text("Delete one that is no longer needed, or ask for a higher quota in the console.")),
    "InvalidLocationConstraint IllegalLocationConstraintException": Refusal(InvalidInput,
        text("The region of the account does not match {host}."),
        text("Select the region for the bucket.")),
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
        text("There is another “{place}” by now.", place=str(path)),
        text("It was not changed. Check which one you want to keep."),
    )


def otherwise_listed(path: ObjectPath, detail: str) -> Conflict:
    """What a service says of an object when it gives it is not what it said when it listed it."""
    return Conflict(
        text("“{place}” differs from what the service listed.", place=str(path)),
        text("Nothing was stored. List it again. If it persists, the service is not reliable."),
        detail,
    )


def need_key(path: ObjectPath) -> None:
    # Without a key the same request would mean the bucket itself.
    if path.is_bucket:
        raise InvalidInput(
            text("“{place}” is a bucket, not an object.", place=str(path)),
            text("Specify a file or folder inside it."),
        )
