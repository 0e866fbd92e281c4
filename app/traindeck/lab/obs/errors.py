"""The refusals of the object store, with the codes and statuses the OBS wire knows."""

from __future__ import annotations

from collections.abc import Mapping


class ObsError(Exception):
    """A request the object store refuses, as status, code and message of its error document."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = dict(details or {})
        self.headers = dict(headers or {})

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


class NoSuchBucket(ObsError):
    """The bucket does not exist."""

    def __init__(self, bucket: str) -> None:
        super().__init__(404, "NoSuchBucket", "The specified bucket does not exist.", details={"BucketName": bucket})


class NoSuchKey(ObsError):
    """The bucket exists, the object does not; `marker` is the version that says it was deleted."""

    def __init__(self, key: str, *, marker: str = "") -> None:
        super().__init__(404, "NoSuchKey", "The specified key does not exist.", details={"Key": key})
        self.marker = marker


class NoSuchVersion(ObsError):
    """The object has no version of this id."""

    def __init__(self, key: str, version: str) -> None:
        details = {"Key": key, "VersionId": version}
        super().__init__(404, "NoSuchVersion", "The specified version does not exist.", details=details)


class NoSuchUpload(ObsError):
    """The multipart upload never was, was aborted, or is complete."""

    def __init__(self, upload_id: str) -> None:
        message = "The specified multipart upload does not exist. It may have been aborted or completed."
        super().__init__(404, "NoSuchUpload", message, details={"UploadId": upload_id})


class QuotaExceeded(ObsError):
    """The bucket would hold more than its quota."""

    def __init__(self) -> None:
        super().__init__(403, "InsufficientStorageSpace", "The quota of the bucket does not allow this much.")


class BucketAlreadyExists(ObsError):
    """Somebody else owns a bucket of this name."""

    def __init__(self, bucket: str) -> None:
        message = "The requested bucket name is not available. Choose a different name."
        super().__init__(409, "BucketAlreadyExists", message, details={"BucketName": bucket})


class BucketAlreadyOwnedByYou(ObsError):
    """The asking account made a bucket of this name before."""

    def __init__(self, bucket: str) -> None:
        message = "The bucket exists already and is yours."
        super().__init__(409, "BucketAlreadyOwnedByYou", message, details={"BucketName": bucket})


class BucketNotEmpty(ObsError):
    """A bucket that still holds objects cannot be deleted."""

    def __init__(self, bucket: str) -> None:
        message = "The bucket you tried to delete is not empty."
        super().__init__(409, "BucketNotEmpty", message, details={"BucketName": bucket})


class InvalidBucketName(ObsError):
    """The name breaks the naming rule of buckets."""

    def __init__(self, bucket: str) -> None:
        super().__init__(400, "InvalidBucketName", "The specified bucket is not valid.", details={"BucketName": bucket})


class KeyTooLong(ObsError):
    """The key is longer than 1,024 bytes of UTF-8."""

    def __init__(self) -> None:
        super().__init__(400, "KeyTooLongError", "Your key is too long.")


class InvalidArgument(ObsError):
    """A header or parameter holds a value that means nothing."""

    def __init__(self, name: str, value: str, message: str = "Invalid Argument.") -> None:
        details = {"ArgumentName": name, "ArgumentValue": value}
        super().__init__(400, "InvalidArgument", message, details=details)


class InvalidRequest(ObsError):
    """The parts of the request contradict each other."""

    def __init__(self, message: str) -> None:
        super().__init__(400, "InvalidRequest", message)


class MalformedXML(ObsError):
    """The body is not the document this operation takes."""

    def __init__(self, message: str = "The XML you provided was not well-formed or did not validate.") -> None:
        super().__init__(400, "MalformedXML", message)


class BadDigest(ObsError):
    """The bytes that arrived are not the ones the client announced."""

    def __init__(
        self, code: str = "BadDigest", message: str = "The checksum you sent is not that of the body."
    ) -> None:
        super().__init__(400, code, message)


class IncompleteBody(ObsError):
    """The body ended before its announced length, or went on after it."""

    def __init__(self) -> None:
        super().__init__(400, "IncompleteBody", "The body does not have the length announced by its header.")


class PreconditionFailed(ObsError):
    """A condition of the request does not hold for the object as it is now."""

    def __init__(self, condition: str) -> None:
        message = "At least one of the preconditions you specified did not hold."
        super().__init__(412, "PreconditionFailed", message, details={"Condition": condition})


class AccessDenied(ObsError):
    """The asking account may not do this."""

    def __init__(self, message: str = "Access Denied") -> None:
        super().__init__(403, "AccessDenied", message)


class NotImplementedHere(ObsError):
    """The cloud has this operation, the Lab does not."""

    def __init__(self, what: str) -> None:
        super().__init__(501, "NotImplemented", f"The Lab does not offer {what}.")


class StorageFull(ObsError):
    """The disk of the Lab has no room for the object; nothing of it was kept."""

    def __init__(self) -> None:
        super().__init__(500, "InternalError", "The disk that holds the Lab is full; the object was not stored.")


class BodyLost(ObsError):
    """The index names an object whose file is missing or cut, as only damage from outside can cause."""

    def __init__(self, key: str) -> None:
        message = "The file of this object is missing or damaged in the Lab's folder."
        super().__init__(500, "InternalError", message, details={"Key": key})
