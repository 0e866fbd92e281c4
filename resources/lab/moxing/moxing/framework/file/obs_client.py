"""Speaks to the Lab's OBS, with the address and the keys the Lab gave to this job."""

import base64
import hashlib
import hmac
import http.client
import os
import threading
import time
import xml.etree.ElementTree as ElementTree
from email.utils import formatdate
from urllib.parse import quote, unquote, urlencode

from moxing.framework.file.errors import MoxFileReadException, MoxFileRespException

BLOCK = 1 << 20
_TRIES = 4
_TIMEOUT_S = 60
_own = threading.local()


def set_auth(**settings):
    """Accepted for the sake of scripts that call it: inside the Lab a job has the Lab's keys already."""


class Response:
    """What OBS answered, read whole unless it is a file."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def __repr__(self):
        words = self.body[:500].decode("utf-8", "replace")
        return f"{self.status} {words}"


def get(bucket, key, write, first=0):
    """Give the bytes of an object to `write`; False where there is none."""
    received = first
    for attempt in range(_TRIES):
        headers = {"Range": f"bytes={received}-"} if received else {}
        try:
            reply = _started("GET", bucket, key, {}, headers)
            if reply.status == 404:
                reply.read()
                return False
            if reply.status == 416:
                reply.read()
                return True
            if reply.status >= 300:
                raise _refused(reply)
            while True:
                data = reply.read(BLOCK)
                if not data:
                    break
                write(data)
                received += len(data)
            if reply.length:
                raise http.client.IncompleteRead(b"", reply.length)
            return True
        except (OSError, http.client.HTTPException) as error:
            _forget()
            if attempt == _TRIES - 1:
                raise MoxFileReadException(str(error)) from error
            time.sleep(0.2 * 2**attempt)


def head(bucket, key=""):
    """The headers of an object or a bucket, or None."""
    reply = _asked("HEAD", bucket, key)
    return None if reply.status == 404 else reply.headers


def put(bucket, key, file, size):
    """Store `file` from its beginning."""
    _asked("PUT", bucket, key, body=file, headers={"Content-Length": str(size)})


def put_copy(bucket, key, from_bucket, from_key):
    """Let OBS copy by itself; False where there is nothing to copy."""
    source = quote(f"/{from_bucket}/{from_key}", safe="/~")
    reply = _asked("PUT", bucket, key, headers={"x-obs-copy-source": source, "Content-Length": "0"})
    return reply.status != 404


def delete(bucket, key):
    _asked("DELETE", bucket, key)


def listed(bucket, prefix, delimiter=""):
    """All objects below the prefix as (key, size, modified), and the folders as (key, None, None); in order of pages."""
    marker = ""
    while True:
        query = {"prefix": prefix, "marker": marker, "max-keys": "1000", "encoding-type": "url"}
        if delimiter:
            query["delimiter"] = delimiter
        reply = _asked("GET", bucket, "", query)
        if reply.status == 404:
            return
        page = ElementTree.fromstring(reply.body)
        decode = unquote_plus if _text(page, "EncodingType") == "url" else str
        for row in _all(page, "CommonPrefixes"):
            yield decode(_text(row, "Prefix")), None, None
        last = ""
        for row in _all(page, "Contents"):
            last = decode(_text(row, "Key"))
            yield last, int(_text(row, "Size") or 0), _text(row, "LastModified")
        if _text(page, "IsTruncated") != "true":
            return
        marker = decode(_text(page, "NextMarker")) or last


def unquote_plus(text):
    return unquote(text.replace("+", " "))


def _all(parent, name):
    return [child for child in parent if child.tag.rpartition("}")[2] == name]


def _text(parent, name):
    found = _all(parent, name)
    return (found[0].text or "") if found else ""


def _asked(method, bucket, key, query=None, headers=None, body=None):
    """The whole answer; 404 is one, anything else from 300 is an error. Tried again where that can help."""
    headers = headers or {}
    for attempt in range(_TRIES):
        is_last = attempt == _TRIES - 1
        try:
            if body is not None:
                body.seek(0)
            reply = _started(method, bucket, key, query or {}, headers, body)
            answer = Response(reply.status, reply.headers, reply.read())
        except (OSError, http.client.HTTPException) as error:
            _forget()
            if is_last:
                raise MoxFileRespException(str(error)) from error
        else:
            if answer.status < 300 or (answer.status == 404 and (method != "PUT" or "x-obs-copy-source" in headers)):
                return answer
            if is_last or (answer.status < 500 and answer.status != 429):
                raise MoxFileRespException(answer)
        time.sleep(0.2 * 2**attempt)


def _started(method, bucket, key, query, headers, body=None):
    path = f"/{bucket}/{quote(key, safe='/~')}" if key else f"/{bucket}"
    signed = dict(headers)
    signed["Date"] = formatdate(usegmt=True)
    signed["Authorization"] = _authorization(method, path, signed)
    target = path + ("?" + urlencode(query, quote_via=quote) if query else "")
    connection = _connection()
    try:
        connection.request(method, target, body=body, headers=signed)
        return connection.getresponse()
    except http.client.RemoteDisconnected:
        # The other side closed a connection that was kept; nothing of this request was heard.
        _forget()
        if body is not None:
            body.seek(0)
        connection = _connection()
        connection.request(method, target, body=body, headers=signed)
        return connection.getresponse()


def _authorization(method, path, headers):
    lines = [method, "", headers.get("Content-Type", ""), headers["Date"]]
    lines += [f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("x-obs-")]
    text = "\n".join(lines + [path])
    secret = os.environ["SECRET_ACCESS_KEY"].encode("utf-8")
    digest = hmac.new(secret, text.encode("utf-8"), hashlib.sha1).digest()
    signature = base64.b64encode(digest).decode("ascii")
    return f"OBS {os.environ['ACCESS_KEY_ID']}:{signature}"


def _connection():
    """One for each thread of each process: a forked child must not share its parent's."""
    if getattr(_own, "process", None) != os.getpid():
        _own.process = os.getpid()
        _own.connection = None
    if _own.connection is None:
        if "S3_ENDPOINT" not in os.environ:
            raise RuntimeError("S3_ENDPOINT is not set: this stand-in for MoXing works inside jobs of the Lab only")
        _own.connection = http.client.HTTPConnection(os.environ["S3_ENDPOINT"], timeout=_TIMEOUT_S)
    return _own.connection


def _forget():
    connection = getattr(_own, "connection", None)
    if connection is not None:
        connection.close()
        _own.connection = None


def _refused(reply):
    return MoxFileRespException(Response(reply.status, reply.headers, reply.read()))
