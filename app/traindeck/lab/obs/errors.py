"""The refusals of the object store, with the codes and statuses the OBS wire knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Texts = Mapping[str, str]
NOTHING: Texts = {}


@dataclass(eq=False)
class ObsError(Exception):
    """A request the object store refuses, as status, code and message of its error document."""

    status: int
    code: str
    message: str
    details: Texts = field(default_factory=dict)
    headers: Texts = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


class NamedError(ObsError):
    """A refusal whose name is its code: `told` is its status, its message, and what it tells about by which names.

    It is raised with the values of these names, and where there is one with a message that says more.
    """

    told: tuple[Any, ...] = ()
    code = ""

    def __init__(self, *values: str) -> None:
        status, usual, *names = self.told
        message = values[len(names)] if len(values) > len(names) else usual
        details = dict(zip(names, values[: len(names)], strict=True))
        super().__init__(status, self.code or type(self).__name__, message, details=details)


class NoSuchBucket(NamedError):
    told = (404, "The specified bucket does not exist.", "BucketName")


class NoSuchKey(NamedError):
    """The bucket exists, the object does not; `marker` is the version that says it was deleted."""

    told = (404, "The specified key does not exist.", "Key")

    def __init__(self, key: str, *, marker: str = "") -> None:
        super().__init__(key)
        self.marker = marker


class NoSuchVersion(NamedError):
    told = (404, "The specified version does not exist.", "Key", "VersionId")


class NoSuchUpload(NamedError):
    told = (404, "The specified multipart upload does not exist. It may have been aborted or completed.", "UploadId")


class QuotaExceeded(NamedError):
    told = (403, "The quota of the bucket does not allow this much.")
    code = "InsufficientStorageSpace"


class BucketAlreadyExists(NamedError):
    """Somebody else owns a bucket of this name."""

    told = (409, "The requested bucket name is not available. Choose a different name.", "BucketName")


class BucketAlreadyOwnedByYou(NamedError):
    told = (409, "The bucket exists already and is yours.", "BucketName")


class BucketNotEmpty(NamedError):
    told = (409, "The bucket you tried to delete is not empty.", "BucketName")


class InvalidBucketName(NamedError):
    told = (400, "The specified bucket is not valid.", "BucketName")


class KeyTooLong(NamedError):
    """The key is longer than 1,024 bytes of UTF-8."""

    told = (400, "Your key is too long.")
    code = "KeyTooLongError"


class InvalidArgument(NamedError):
    """A header or parameter holds a value that means nothing."""

    told = (400, "Invalid Argument.", "ArgumentName", "ArgumentValue")


class InvalidRequest(NamedError):
    """The parts of the request contradict each other, as its message says."""

    told = (400, "")


class MalformedXML(NamedError):
    """The body is not the document this operation takes."""

    told = (400, "The XML you provided was not well-formed or did not validate.")


class BadDigest(NamedError):
    """The bytes that arrived are not the ones the client announced, as its message says."""

    told = (400, "")


class IncompleteBody(NamedError):
    """The body ended before its announced length, or went on after it."""

    told = (400, "The body does not have the length announced by its header.")


class PreconditionFailed(NamedError):
    """A condition of the request does not hold for the object as it is now."""

    told = (412, "At least one of the preconditions you specified did not hold.", "Condition")


class AccessDenied(NamedError):
    """The asking account may not do this."""

    told = (403, "Access Denied")


class MethodNotAllowed(ObsError):
    def __init__(self, *, headers: Texts = NOTHING) -> None:
        message = "The specified method is not allowed against this resource."
        super().__init__(405, "MethodNotAllowed", message, headers=headers)


class NotImplementedHere(ObsError):
    """The cloud has this operation, the Lab does not."""

    def __init__(self, what: str) -> None:
        super().__init__(501, "NotImplemented", f"The Lab does not offer {what}.")


class StorageFull(NamedError):
    """The disk of the Lab has no room for the object; nothing of it was kept."""

    told = (500, "The disk that holds the Lab is full; the object was not stored.")
    code = "InternalError"


class BodyLost(NamedError):
    """The index names an object whose file is missing or cut, as only damage from outside can cause."""

    told = (500, "The file of this object is missing or damaged in the Lab's folder.", "Key")
    code = "InternalError"
