"""What OBS answers, in our words."""

from __future__ import annotations

from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    Conflict,
    InvalidInput,
    NotFound,
    NotOffered,
    ServiceTrouble,
)
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.sdk_errors import (
    Answer,
    by_status,
    expired_token,
    in_arrears,
    no_right,
    too_many_requests,
    unknown_access_key,
    wrong_clock,
    wrong_secret_key,
)


def obs_error(answer: Answer, place: ObjectPath | None) -> AppError:
    """The error for a refused request about `place` (None: about the account)."""
    bucket, where = (place.bucket, str(place)) if place else ("", "")
    match answer.code:
        case "SignatureDoesNotMatch" | "TooManyWrongSignature":
            return wrong_secret_key(answer)
        case "InvalidAccessKeyId":
            return unknown_access_key(answer)
        case "ExpiredToken" | "InvalidSecurityToken" | "InvalidToken":
            return expired_token(answer)
        case "RequestTimeTooSkewed":
            return wrong_clock(answer)
        case "InArrearOrInsufficientBalance":
            return in_arrears(answer)
        case "TooManyRequests" | "SlowDown":
            return too_many_requests(answer)
        case "AccessDenied" | "AllAccessDisabled":
            return _no_access(answer, where)
        case "VirtualHostDomainRequired":
            return InvalidInput(
                text("{host} does not accept path-style addresses.", host=answer.service.host),
                text("Take “path style” out of the profile."),
                answer.detail,
            )
        case "NoSuchBucket":
            return NotFound(
                text("The bucket “{bucket}” does not exist.", bucket=bucket),
                text("Check its name and the region of the profile, or create it."),
                answer.detail,
            )
        case "NoSuchKey" | "NoSuchVersion":
            return NotFound(
                text("“{place}” does not exist.", place=where),
                text("Check the spelling; capital and small letters differ in OBS."),
                answer.detail,
            )
        case "BucketAlreadyExists":
            return Conflict(
                text("The bucket name “{bucket}” is taken.", bucket=bucket),
                text("Bucket names are shared by all customers: choose another, for example with your own name in it."),
                answer.detail,
            )
        case "BucketNotEmpty":
            return Conflict(
                text("The bucket “{bucket}” is not empty.", bucket=bucket),
                text("Delete what is in it first; unfinished uploads count too."),
                answer.detail,
            )
        case "InvalidBucketName":
            return InvalidInput(
                text("“{bucket}” cannot be a bucket name.", bucket=bucket),
                text("A name has 3 to 63 of a–z, 0–9, dot and hyphen, and begins and ends with a letter or digit."),
                answer.detail,
            )
        case "TooManyBuckets":
            return Conflict(
                text("The account has as many buckets as it may have."),
                text("Delete one that is no longer needed, or ask for a higher quota in the console."),
                answer.detail,
            )
        case "InvalidLocationConstraint" | "IllegalLocationConstraintException":
            return InvalidInput(
                text("The region of the profile does not fit {host}.", host=answer.service.host),
                text("Choose the region in which the bucket is to be."),
                answer.detail,
            )
        case "InvalidObjectState":
            return Conflict(
                text("“{place}” is archived.", place=where),
                text("Restore it in the console first; that takes minutes to hours."),
                answer.detail,
            )
        case "InsufficientStorageSpace":
            return Conflict(
                text("The bucket “{bucket}” has no space left under its quota.", bucket=bucket),
                text("Delete something, or raise the quota of the bucket."),
                answer.detail,
            )
        case "BadDigest" | "IncompleteBody" | "RequestTimeout":
            return damaged(answer, where)
        case "PreconditionFailed" | "InvalidRange":
            return changed(answer, where)
        case "NoSuchUpload":
            return NotFound(
                text("The unfinished upload of “{place}” is gone.", place=where),
                text("It was finished or removed, here or by somebody else. Begin it again."),
                answer.detail,
            )
        case "InvalidPart" | "InvalidPartOrder" | "EntityTooSmall":
            return Conflict(
                text("The parts of “{place}” do not fit together.", place=where),
                text("Nothing wrong was kept. Send it again from the beginning."),
                answer.detail,
            )
        case "OperationAborted":
            return ServiceTrouble(
                text("Somebody else is changing “{place}” right now.", place=where),
                text("Wait a moment, then try again."),
                answer.detail,
                answer.retry_after_s,
            )
        case "MethodNotAllowed" | "FsNotSupport" | "NotImplemented" | "ServiceNotImplemented":
            return _not_offered(answer)
        case "PermanentRedirect" | "TemporaryRedirect":
            return _elsewhere(answer, bucket)
        case _:
            return _about_content(answer, bucket, where) or _without_code(answer, place, where)


def _about_content(answer: Answer, bucket: str, where: str) -> AppError | None:
    """What is wrong with the thing itself or with what was to become of it."""
    match answer.code:
        case "EntityTooLarge":
            return InvalidInput(
                text("“{place}” is larger than the service takes.", place=where),
                text("Sent whole, an object may have 5 GB; split it, or pack less into one file."),
                answer.detail,
            )
        case "KeyTooLongError":
            return InvalidInput(
                text("The name in “{bucket}” is longer than 1,024 bytes.", bucket=bucket),
                text("Use shorter folder and file names."),
                answer.detail,
            )
        case "MetadataTooLarge":
            return InvalidInput(
                text("The metadata of “{place}” is longer than the service takes.", place=where),
                text("All names and values together may have 8 kB; shorten them."),
                answer.detail,
            )
        case "InvalidTagError":
            return InvalidInput(
                text("The tags of “{place}” are not what the service takes.", place=where),
                text("A key has up to 36 characters, a value up to 43, none of them , / \\ | < > = or *."),
                answer.detail,
            )
        case "MalformedPolicy":
            return InvalidInput(
                text("The policy of “{bucket}” is not one the service understands.", bucket=bucket),
                text("The details say what is wrong; begin with a template if you can."),
                answer.detail,
            )
        case "NoSuchBucketPolicy" | "NoSuchLifecycleConfiguration" | "NoSuchCORSConfiguration" | (
            "NoSuchWebsiteConfiguration"
        ):
            return NotFound(
                text("The bucket “{bucket}” has no such setting.", bucket=bucket),
                text("Nothing has to be done, unless you want to make one."),
                answer.detail,
            )
        case "BucketAlreadyOwnedByYou":
            return Conflict(
                text("The bucket “{bucket}” exists already and is yours.", bucket=bucket),
                text("Use it, or choose another name."),
                answer.detail,
            )
        case "ObjectNotAppendable" | "InvalidBucketState":
            return Conflict(
                text("“{place}” is in a state that does not allow this.", place=where),
                text("The details say which; change it in the console, then try again."),
                answer.detail,
            )
        case "FsObjectConflict" | "FsRenameConflict" | "DirectoryNotEmpty":
            return Conflict(
                text("“{place}” is in the way of another file or folder.", place=where),
                text("In a parallel file system a name is a file or a folder, never both. Rename or remove one."),
                answer.detail,
            )
        case "RequestPayerDenied":
            return AccessRefused(
                text("The bucket “{bucket}” makes its readers pay.", bucket=bucket),
                text("Ask its owner for a copy, or for reading at their cost."),
                answer.detail,
            )
        case _:
            return None


def need_key(path: ObjectPath) -> None:
    # Without a key the same request would mean the bucket itself.
    if path.is_bucket:
        raise InvalidInput(
            text("“{place}” is a bucket, not an object.", place=str(path)),
            text("Name a file or folder inside it."),
        )


def damaged(answer: Answer, where: str) -> ServiceTrouble:
    """What arrived is not what was sent; the service threw it away, or we did."""
    return ServiceTrouble(
        text("“{place}” was damaged on its way.", place=where),
        text("Nothing wrong was kept. Try again; if it happens often, check the network."),
        answer.detail,
    )


def changed(answer: Answer, where: str) -> Conflict:
    """A condition did not hold: it is not what was looked at before."""
    return Conflict(
        text("“{place}” was changed meanwhile.", place=where),
        text("What was begun fits the old content. Begin it again."),
        answer.detail,
    )


def _not_offered(answer: Answer) -> NotOffered:
    return NotOffered(
        text("{host} does not offer this.", host=answer.service.host),
        text("Parallel file systems and some services can do less than a bucket of OBS."),
        answer.detail,
    )


def _elsewhere(answer: Answer, bucket: str) -> InvalidInput:
    return InvalidInput(
        text("The bucket “{bucket}” is not in the region of the profile.", bucket=bucket),
        text("Choose its region or endpoint in the profile."),
        answer.detail,
    )


def _no_access(answer: Answer, where: str) -> AppError:
    if not where:
        return no_right(answer)
    return AccessRefused(
        text("The keys {key} may not do this with “{place}”.", key=answer.service.credentials.hint, place=where),
        text("Check whose bucket it is, its policy, and the rights of the keys."),
        answer.detail,
    )


def _without_code(answer: Answer, place: ObjectPath | None, where: str) -> AppError:
    # Answers to HEAD have no body, hence no code.
    if answer.status == 404 and place is not None:
        return NotFound(
            text("“{place}” does not exist.", place=where),
            text("Check the spelling; capital and small letters differ in OBS."),
            answer.detail,
        )
    if answer.status == 403:
        return _no_access(answer, where)
    if answer.status in (412, 416):
        return changed(answer, where)
    if answer.status in (405, 501):
        return _not_offered(answer)
    if 300 <= answer.status < 400:
        return _elsewhere(answer, place.bucket if place else "")
    return by_status(answer)
