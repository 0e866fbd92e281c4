"""What OBS answers, in our words."""

from __future__ import annotations

from traindeck.domain.errors import (
    AppError,
    Conflict,
    InvalidInput,
    NoRight,
    NotFound,
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
from traindeck.services.storage.obs_rare_errors import rare_error, rare_status


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
