"""What OBS answers, in our words."""

from __future__ import annotations

from traindeck.domain.errors import (
    AppError,
    Conflict,
    InvalidInput,
    NoRight,
    NotFound,
    NotOffered,
    ServiceTrouble,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.http.errors import (
    Answer,
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

_NO_SETTING = frozenset(
    {
        "NoSuchBucketPolicy",
        "NoSuchCORSConfiguration",
        "NoSuchLifecycleConfiguration",
        "NoSuchTagSet",
        "NoSuchWebsiteConfiguration",
    }
)
_NOT_ACCEPTED = frozenset(
    {
        "InvalidArgument",
        "InvalidDigest",
        "InvalidRequest",
        "InvalidURI",
        "MalformedXML",
        "MissingContentLength",
        "MissingRequiredHeader",
        "UnexpectedContent",
    }
)


def rare_error(answer: Answer, bucket: str, where: str) -> AppError | None:
    """The error for a code; None: it is not one of these."""
    return _about_content(answer, where) or _about_place(answer, bucket, where) or _about_request(answer, bucket, where)


def rare_status(answer: Answer, bucket: str, where: str) -> AppError | None:
    """The same for an answer that names no code, as those to HEAD do."""
    if 300 <= answer.status < 400:
        return _elsewhere(answer, bucket)
    match answer.status:
        case 412:
            return _changed(answer, where)
        case 416:
            return _shorter(answer, where)
        case 405 | 501:
            return not_offered(answer, where)
        case _:
            return None


def _about_content(answer: Answer, where: str) -> AppError | None:
    match answer.code:
        case "EntityTooLarge":
            return InvalidInput(
                text("“{place}” is larger than the service takes.", place=where),
                text("One object holds 48.8 TB at most; split the file."),
                answer.detail,
            )
        case "EntityTooSmall" | "InvalidPart" | "InvalidPartOrder":
            return Conflict(
                text("“{place}” could not be put together: a part of it is missing or too small.", place=where),
                text("Nothing wrong was kept. Upload it again."),
                answer.detail,
            )
        case "NoSuchUpload":
            return NotFound(
                text("The unfinished upload of “{place}” is gone: it was ended somewhere else.", place=where),
                text("Upload it again; a rule of the bucket may clear unfinished uploads away."),
                answer.detail,
            )
        case "KeyTooLongError":
            return InvalidInput(
                text("The name “{place}” is longer than 1,024 bytes.", place=where),
                text("Use shorter folder and file names."),
                answer.detail,
            )
        case "MetadataTooLarge":
            return InvalidInput(
                text("“{place}” has more metadata than the service takes.", place=where),
                text("All names and values together may have 8 KB; leave some out."),
                answer.detail,
            )
        case "InvalidTagError" | "InvalidTag":
            return InvalidInput(
                text("The tags of “{place}” were not accepted.", place=where),
                text("Check their number, and letters and length of names and values; no name may be there twice."),
                answer.detail,
            )
        case "PreconditionFailed":
            return _changed(answer, where)
        case "InvalidRange":
            return _shorter(answer, where)
        case "ObjectNotAppendable":
            return Conflict(
                text("Nothing can be added to the end of “{place}”.", place=where),
                text("Upload it as a whole."),
                answer.detail,
            )
        case _:
            return None


def _about_place(answer: Answer, bucket: str, where: str) -> AppError | None:
    match answer.code:
        case "PermanentRedirect" | "TemporaryRedirect":
            return _elsewhere(answer, bucket)
        case "BucketAlreadyOwnedByYou":
            return Conflict(
                text("You have the bucket “{bucket}” already.", bucket=bucket),
                text("Use it as it is, or choose another name."),
                answer.detail,
            )
        case "OperationAborted":
            return ServiceTrouble(
                text("Something else is just being done with “{place}”.", place=where),
                text("Wait a moment, then try again."),
                answer.detail,
            )
        case "InvalidBucketState":
            return Conflict(
                text("The bucket “{bucket}” is in a state that does not allow this.", bucket=bucket),
                text("Look at its versioning and replication in the console."),
                answer.detail,
            )
        case "FsObjectConflict" | "FsRenameConflict":
            return Conflict(
                text("“{place}” is a file where a folder is wanted, or the other way round.", place=where),
                text("Rename one of them; in a parallel file system a name can be only one of the two."),
                answer.detail,
            )
        case "DirectoryNotEmpty":
            return Conflict(
                text("The folder “{place}” is not empty.", place=where),
                text("Delete what is in it first."),
                answer.detail,
            )
        case "FsNotSupport":
            return InvalidInput(
                text("“{bucket}” is a parallel file system, which cannot do this.", bucket=bucket),
                text("Use an object bucket for it."),
                answer.detail,
            )
        case "RequestPayerDenied":
            return NoRight(
                text("The owner of “{name}” wants those who read it to pay for that; we did not agree.", name=bucket),
                text("Ask the owner for another way to the data."),
                answer.detail,
            )
        case _:
            return None


def _about_request(answer: Answer, bucket: str, where: str) -> AppError | None:
    match answer.code:
        case code if code in _NO_SETTING:
            return NotFound(
                text("The bucket “{bucket}” has no such setting ({code}).", bucket=bucket, code=answer.code),
                text("There is nothing to change or remove; make the setting first."),
                answer.detail,
            )
        case "MalformedPolicy":
            return InvalidInput(
                text("The policy of “{bucket}” was not accepted: {words}", bucket=bucket, words=_words(answer)),
                text("Check its JSON: statements, principals, actions, and resources that begin with this bucket."),
                answer.detail,
            )
        case "ServiceNotImplemented" | "NotImplemented" | "MethodNotAllowed":
            return not_offered(answer, where)
        case "InternalError" | "ServiceUnavailable":
            return service_failed(answer)
        case code if code in _NOT_ACCEPTED:
            return InvalidInput(
                text(
                    "{host} did not accept what was asked of “{place}”: {words}",
                    host=answer.service.host,
                    place=where,
                    words=_words(answer),
                ),
                text("Check names and values. If they are right, the mistake is ours: copy the details and tell us."),
                answer.detail,
            )
        case _:
            return None


def _words(answer: Answer) -> str:
    return answer.service.masked(answer.message) or answer.code


def _changed(answer: Answer, where: str) -> AppError:
    return Conflict(
        text("“{place}” is no longer what it was: somebody has changed it.", place=where),
        text("Look at it again, then decide."),
        answer.detail,
    )


def _shorter(answer: Answer, where: str) -> AppError:
    return Conflict(
        text("“{place}” is shorter than what was asked for: it has been replaced.", place=where),
        text("Refresh the list, then try again."),
        answer.detail,
    )


def _elsewhere(answer: Answer, bucket: str) -> AppError:
    return InvalidInput(
        text("The bucket “{name}” is in another region than {host}.", name=bucket, host=answer.service.host),
        text("Use an account of the region the bucket is in."),
        answer.detail,
    )


def not_offered(answer: Answer, where: str) -> AppError:
    """The service does not know this kind of request, or took it for another one."""
    return NotOffered(
        text("{host} does not offer what was asked of “{place}”.", host=answer.service.host, place=where),
        text("Another way to the same end may work; the details say what was asked."),
        answer.detail,
    )


def obs_error(answer: Answer, place: ObjectPath | None) -> AppError:
    """The error for a refused request about `place` (None: about the account)."""
    host = answer.service.host
    bucket, where = (place.bucket, str(place)) if place else (host, host)
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
            return _no_access(answer, place)
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
                text("Restore it first (Properties, Storage); that takes minutes to hours."),
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
        case _:
            rare = rare_error(answer, bucket, where)
            return rare if rare is not None else _without_code(answer, place, where)


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


def _no_access(answer: Answer, place: ObjectPath | None) -> AppError:
    if place is None:
        return no_right(answer)
    return NoRight(
        text("The keys {key} may not do this with “{place}”.", key=answer.service.credentials.hint, place=str(place)),
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
        return _no_access(answer, place)
    return rare_status(answer, place.bucket if place else where, where) or by_status(answer)
