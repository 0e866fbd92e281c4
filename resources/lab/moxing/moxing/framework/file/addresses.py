"""Tells addresses of OBS from local paths, and takes them apart."""

import os

SCHEMES = ("obs://", "s3://")


class Address:
    """A bucket and a key; the scheme is kept, so that answers are spelled as the question was."""

    def __init__(self, scheme, bucket, key):
        self.scheme = scheme
        self.bucket = bucket
        self.key = key

    @property
    def folder(self):
        """The key as the beginning of all keys in the folder."""
        key = self.key.rstrip("/")
        return key + "/" if key else ""

    def url(self, key):
        return f"{self.scheme}{self.bucket}/{key}"


def text_of(url):
    text = os.fspath(url)
    return os.fsdecode(text) if isinstance(text, bytes) else text


def is_remote(url):
    """Whether this names something in OBS; anything else, even no path at all, is left to the local functions."""
    if isinstance(url, bytes):
        return url.startswith(tuple(scheme.encode() for scheme in SCHEMES))
    if isinstance(url, os.PathLike):
        url = os.fspath(url)
    return isinstance(url, str) and url.startswith(SCHEMES)


def address_of(url):
    text = text_of(url)
    scheme = next(scheme for scheme in SCHEMES if text.startswith(scheme))
    bucket, _, key = text[len(scheme) :].lstrip("/").partition("/")
    if not bucket:
        raise ValueError(f"{text!r} names no bucket")
    # People join addresses with a slash too many; as a key, that would be another folder.
    while "//" in key:
        key = key.replace("//", "/")
    return Address(scheme, bucket, key.lstrip("/"))


def join(url, name):
    return text_of(url).rstrip("/") + "/" + name if is_remote(url) else os.path.join(text_of(url), name)
