"""Random operations on objects agree with a dictionary, through restarts and kills at any moment, always."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from obs import (
    AppendObjectContent,
    CompleteMultipartUploadRequest,
    CompletePart,
    DeleteObjectsRequest,
    GetObjectHeader,
    GetObjectRequest,
    Object,
    Versions,
)

from support.examples import stories
from support.servers.killed_requests import answered_before_kill
from support.servers.lab_process import LabProcess
from support.stores.lab_clients import SIGNATURES, obs_client, s3_client
from support.stores.listing_pages import pages_v1, pages_v2
from support.stores.object_histories import (
    LEAST_PART,
    NULL,
    History,
    Kept,
    Outline,
    Upload,
    folded,
    outline,
)
from support.stores.object_strategies import CONTENTS, DELIMITERS, KEYS, METADATA, PREFIXES, SELDOM

_numbers = itertools.count()


class Objects(RuleBasedStateMachine):
    """One bucket of a real Lab, and for every key what it should keep, the newest first."""

    lab: LabProcess
    s3: Any

    @initialize(signature=st.sampled_from(SIGNATURES), has_versions=st.booleans())
    def begin(self, signature: str, has_versions: bool) -> None:
        self.model: dict[str, History] = {}
        self.uploads: list[Upload] = []
        self.versioning = ""
        self.signature = signature
        self.bucket = f"model-{next(_numbers)}"
        self.client = obs_client(self.lab, signature)
        assert self.client.createBucket(self.bucket).status == 200
        if has_versions:
            self.set_versioning("Enabled")

    def teardown(self) -> None:
        if not hasattr(self, "client"):
            return
        for upload in self.client.listMultipartUploads(self.bucket).body.upload:
            self.client.abortMultipartUpload(self.bucket, upload.key, upload.uploadId)
        for key, version, *_ in self.listed():
            assert self.client.deleteObject(self.bucket, key, versionId=version).status == 204
        gone = self.client.deleteBucket(self.bucket)
        self.client.close()
        assert gone.status == 204, gone.errorCode
        assert not self.files()

    # --- what comes in and goes out -----------------------------------------------------------------------------------

    @rule(key=KEYS, content=CONTENTS, metadata=METADATA)
    def put(self, key: str, content: bytes, metadata: str) -> None:
        answer = self.client.putContent(self.bucket, key, content, metadata={"m": metadata})
        assert answer.status == 200
        self.place(key, Kept(self.told(answer), content, metadata))

    @rule(key=KEYS, content=CONTENTS)
    def put_if_absent(self, key: str, content: bytes) -> None:
        is_there = self.current(key) is not None
        try:
            answer = self.s3.put_object(Bucket=self.bucket, Key=key, Body=content, IfNoneMatch="*")
        except ClientError as error:
            assert is_there
            assert error.response["Error"]["Code"] == "PreconditionFailed"
        else:
            assert not is_there
            self.place(key, Kept(answer.get("VersionId", NULL), content))

    @rule(key=KEYS, content=st.binary(min_size=1, max_size=50), off=st.sampled_from([0, 0, 0, 1]))
    def append(self, key: str, content: bytes, off: int) -> None:
        present = self.current(key)
        position = len(present.content or b"") if present else 0
        wanted = AppendObjectContent(content=content, position=position + off)
        answer = self.client.appendObject(self.bucket, key, wanted, metadata={"m": "appended"})
        if present and not present.is_appended:
            assert answer.errorCode == "ObjectNotAppendable"
        elif off:
            assert (answer.status, answer.errorCode) == (409, "PositionNotEqualToLength")
            assert dict(answer.header)["next-append-position"] == str(position)
        else:
            assert (answer.status, answer.body.nextPosition) == (200, position + len(content))
            self.model[key] = self.appended(key, content, self.told(answer))

    @rule(source=KEYS, to=KEYS, at=st.integers(0, 3), by_version=st.booleans())
    def copy(self, source: str, to: str, at: int, by_version: bool) -> None:
        kept = self.model.get(source, [])
        chosen = self.current(source) if not by_version else kept[at % len(kept)] if kept else None
        version = chosen.version if by_version and chosen else None
        answer = self.client.copyObject(self.bucket, source, self.bucket, to, versionId=version)
        if source == to and version is None:
            assert (answer.status, answer.errorCode) == (400, "InvalidRequest")
        elif chosen is None or chosen.content is None:
            assert answer.status in (404, 405)
        else:
            assert answer.status == 200
            self.place(to, Kept(self.told(answer), chosen.content, chosen.metadata))

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        answer = self.client.deleteObject(self.bucket, key)
        assert answer.status == 204
        self.model[key] = self.deleted(key, self.told(answer))

    @precondition(lambda self: any(self.model.values()))
    @rule(at=st.integers(0, 5))
    def delete_version(self, at: int) -> None:
        """Rather one that has others behind it."""
        histories = sorted(self.model.items(), key=lambda one: -len(one[1]))
        there = [(key, one) for key, kept in histories for one in kept]
        key, one = there[at % len(there)]
        assert self.client.deleteObject(self.bucket, key, versionId=one.version).status == 204
        self.model[key].remove(one)

    @rule(key=KEYS)
    def delete_version_that_never_was(self, key: str) -> None:
        assert self.client.deleteObject(self.bucket, key, versionId="0" * 32).status == 204

    @rule(some=st.lists(KEYS, min_size=1, max_size=6, unique=True), quiet=st.booleans())
    def delete_batch(self, some: list[str], quiet: bool) -> None:
        objects = [Object(key=key) for key in some]
        request = DeleteObjectsRequest(quiet=quiet, objects=objects, encoding_type="url")
        answer = self.client.deleteObjects(self.bucket, request)
        assert answer.status == 200
        assert not answer.body.error
        assert [one.key for one in answer.body.deleted or []] == ([] if quiet else some)
        # A quiet answer does not tell the markers it made.
        newest = {key: version for key, version, is_latest, *_ in self.listed() if is_latest}
        for key in some:
            self.model[key] = self.deleted(key, newest.get(key, NULL))

    @rule(state=st.sampled_from(["Enabled", "Enabled", "Suspended"]))
    def set_versioning(self, state: str) -> None:
        assert self.client.setBucketVersioning(self.bucket, state).status == 200
        self.versioning = state

    # --- multipart ----------------------------------------------------------------------------------------------------

    @rule(key=KEYS)
    def begin_upload(self, key: str) -> None:
        answer = self.client.initiateMultipartUpload(self.bucket, key, metadata={"m": "parts"})
        assert answer.status == 200
        self.uploads.append(Upload(key, answer.body.uploadId))

    @precondition(lambda self: self.uploads)
    @rule(
        at=st.integers(0, 5),
        number=st.sampled_from([1, 2, 3, 10_000]),
        size=st.sampled_from([0, 7, LEAST_PART, 400_000]),
    )
    def put_part(self, at: int, number: int, size: int) -> None:
        upload = self.uploads[at % len(self.uploads)]
        content = b"%05d" % number * (size // 5) + b"x" * (size % 5)
        answer = self.client.uploadPart(self.bucket, upload.key, number, upload.upload_id, content)
        assert (answer.status, answer.body.etag) == (200, f'"{hashlib.md5(content).hexdigest()}"')
        upload.parts[number] = content

    @precondition(lambda self: self.uploads)
    @rule(at=st.integers(0, 5), source=KEYS, number=st.integers(1, 3), last=st.sampled_from([None, 0, 5, 102_399]))
    def copy_part(self, at: int, source: str, number: int, last: int | None) -> None:
        upload = self.uploads[at % len(self.uploads)]
        given = {} if last is None else {"CopySourceRange": f"bytes=0-{last}"}
        present = self.current(source)
        content = present.content or b"" if present else b""
        try:
            self.s3.upload_part_copy(
                Bucket=self.bucket, Key=upload.key, UploadId=upload.upload_id, PartNumber=number,
                CopySource={"Bucket": self.bucket, "Key": source}, **given,
            )  # fmt: skip
        except ClientError as error:
            code = error.response["Error"]["Code"]
            assert code == ("NoSuchKey" if present is None else "InvalidArgument")
            assert present is None or (last is not None and last >= len(content))
        else:
            assert present is not None
            assert last is None or last < len(content)
            upload.parts[number] = content if last is None else content[: last + 1]

    @precondition(lambda self: self.uploads)
    @rule(at=st.integers(0, 5), leave_out=st.integers(0, 2))
    def complete_upload(self, at: int, leave_out: int) -> None:
        upload = self.uploads[at % len(self.uploads)]
        listed = self.client.listParts(self.bucket, upload.key, upload.upload_id).body.parts
        assert [(one.partNumber, one.size) for one in listed] == [(n, len(p)) for n, p in sorted(upload.parts.items())]
        chosen = listed[leave_out:]
        parts = [CompletePart(one.partNumber, one.etag) for one in chosen]
        request = CompleteMultipartUploadRequest(parts)
        answer = self.client.completeMultipartUpload(self.bucket, upload.key, upload.upload_id, request)
        if not chosen:
            assert (answer.status, answer.errorCode) == (400, "MalformedXML")
        elif any(one.size < LEAST_PART for one in chosen[:-1]):
            assert (answer.status, answer.errorCode) == (400, "EntityTooSmall")
        else:
            kept = self.joined(upload, [one.partNumber for one in chosen], self.told(answer))
            assert (answer.status, answer.body.etag) == (200, f'"{kept.etag}"')
            self.uploads.remove(upload)
            self.place(upload.key, kept)

    @precondition(lambda self: self.uploads)
    @rule(at=st.integers(0, 5))
    def abort_upload(self, at: int) -> None:
        upload = self.uploads.pop(at % len(self.uploads))
        assert self.client.abortMultipartUpload(self.bucket, upload.key, upload.upload_id).status == 204

    # --- looking ------------------------------------------------------------------------------------------------------

    @rule(key=KEYS, first=st.integers(0, 100), last=st.integers(0, 300_000), at=st.integers(0, 3))
    def get(self, key: str, first: int, last: int, at: int) -> None:
        present = self.current(key)
        whole = self.client.getObject(self.bucket, key, loadStreamInMemory=True)
        if present is None:
            assert whole.status == 404
        else:
            content = present.content or b""
            assert (whole.body.buffer or b"") == content
            assert dict(whole.header).get("m", "-") == present.metadata
            header = GetObjectHeader(range=f"{first}-{last}")
            part = self.client.getObject(self.bucket, key, headers=header, loadStreamInMemory=True)
            if last < first:
                assert (part.body.buffer or b"") == content
            elif first >= len(content):
                assert (part.status, part.errorCode) == (416, "InvalidRange")
            else:
                assert part.body.buffer == content[first : last + 1]
        kept = self.model.get(key, [])
        if kept:
            one = kept[at % len(kept)]
            asked = GetObjectRequest(versionId=one.version)
            answer = self.client.getObject(self.bucket, key, getObjectRequest=asked, loadStreamInMemory=True)
            assert (answer.body.buffer or b"" if answer.status == 200 else None) == one.content
            assert answer.status == (405 if one.content is None else 200)

    @rule(prefix=PREFIXES, delimiter=DELIMITERS, marker=st.sampled_from(["", "a", "a/", "a/b", "zz"]), v2=st.booleans())
    def list_pages(self, prefix: str, delimiter: str, marker: str, v2: bool) -> None:
        expected = folded((key for key in self.model if self.current(key)), prefix, delimiter, marker)
        for size in (1, 3, 1000):
            asked = (self.bucket, prefix, delimiter, marker, size)
            assert (pages_v2(self.s3, *asked) if v2 else pages_v1(self.client, *asked)) == expected

    @rule(prefix=PREFIXES, delimiter=DELIMITERS, size=st.integers(1, 4))
    def list_version_pages(self, prefix: str, delimiter: str, size: int) -> None:
        found: list[tuple[str, str]] = []
        prefixes: list[str] = []
        markers: tuple[str | None, str | None] = (None, None)
        while True:
            asked = Versions(
                prefix=prefix, delimiter=delimiter or None, max_keys=size, encoding_type="url",
                key_marker=markers[0], version_id_marker=markers[1],
            )  # fmt: skip
            body = self.client.listVersions(self.bucket, asked).body
            assert len(body.versions) + len(body.markers) + len(body.commonPrefixs) <= size
            found += [(one.key, one.versionId) for one in (*body.versions, *body.markers)]
            prefixes += [one.prefix for one in body.commonPrefixs]
            if not body.head.isTruncated:
                break
            markers = (body.head.nextKeyMarker, body.head.nextVersionIdMarker)
        names = folded((key for key, kept in self.model.items() if kept), prefix, delimiter, "")
        assert prefixes == [name for name, is_prefix in names if is_prefix]
        plain = [name for name, is_prefix in names if not is_prefix]
        expected = [(name, one.version) for name in plain for one in self.model[name]]
        assert sorted(found) == sorted(expected)
        if size == 1:
            # Several entries of one page come in two lists.
            assert found == expected

    # --- restarts and kills -------------------------------------------------------------------------------------------

    @rule(is_kill=st.booleans(), now=SELDOM)
    def restart(self, is_kill: bool, now: bool) -> None:
        if not now:
            return
        before = self.listed()
        self.client.close()
        if is_kill:
            self.lab.kill()
        self.lab.restart()
        self.client = obs_client(self.lab, self.signature)
        assert self.listed() == before
        with_content = sum(one.content is not None for kept in self.model.values() for one in kept)
        # What was left of bodies that never got whole is gone by now.
        assert len(self.files()) == with_content + sum(len(upload.parts) for upload in self.uploads)

    @rule(
        operation=st.sampled_from(["put", "append", "delete", "completion"]),
        key=KEYS,
        size=st.sampled_from([10, 300_000, 3_000_000]),
        share=st.sampled_from([0.0, 0.3, 0.9, 1.0, 1.0, 1.0]),
        wait_ms=st.integers(0, 12),
        now=SELDOM,
    )
    def kill(self, operation: str, key: str, size: int, share: float, wait_ms: int, now: bool) -> None:
        """In the middle of something."""
        if not now:
            return
        content = b"%08d" % size * (size // 8 + 1)
        present = self.current(key)
        if operation == "completion":
            self.kill_during_a_completion(size, wait_ms)
        elif operation == "delete":
            self.kill_during("DELETE", key, {}, b"", 1, wait_ms, lambda version: self.deleted(key, version))
        elif operation == "put" or (present and not present.is_appended):
            newest = Kept("", content)
            afterwards = partial(self.before_with, key, newest)
            self.kill_during("PUT", key, {}, content, share, wait_ms, afterwards)
        else:
            query = {"append": None, "position": str(len(present.content or b"") if present else 0)}
            grown = partial(self.appended, key, content, metadata="-")
            self.kill_during("POST", key, query, content, share, wait_ms, grown)

    def kill_during_a_completion(self, at: int, wait_ms: int) -> None:
        if not self.uploads:
            return
        upload = self.uploads[at % len(self.uploads)]
        numbers = sorted(upload.parts)
        if not numbers or any(len(upload.parts[number]) < LEAST_PART for number in numbers[:-1]):
            return
        etags = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{hashlib.md5(upload.parts[number]).hexdigest()}</ETag></Part>"
            for number in numbers
        )
        body = f"<CompleteMultipartUpload>{etags}</CompleteMultipartUpload>".encode()
        afterwards = partial(self.before_with, upload.key, self.joined(upload, numbers, ""))
        is_done = self.kill_during("POST", upload.key, {"uploadId": upload.upload_id}, body, 1, wait_ms, afterwards)
        open_ids = [one.uploadId for one in self.client.listMultipartUploads(self.bucket).body.upload]
        assert is_done == (upload.upload_id not in open_ids)
        if is_done:
            self.uploads.remove(upload)

    def kill_during(
        self,
        method: str,
        key: str,
        query: dict[str, str | None],
        body: bytes,
        share: float,
        wait_ms: int,
        afterwards: Callable[[str], History],
    ) -> bool:
        """Send that share of the request, kill the Lab, and take over what became of it: all or nothing."""
        sent = min(len(body), int(len(body) * share))
        signed = self.client.createSignedUrl(method, self.bucket, key, expires=60, queryParams=query)
        headers = signed.actualSignedRequestHeaders
        status = answered_before_kill(self.lab, method, signed.signedUrl, headers, body, sent, wait_ms)
        self.client.close()
        self.lab.restart()
        self.client = obs_client(self.lab, self.signature)
        old = self.model.get(key, [])
        newest = next((version for one, version, *_ in self.listed() if one == key), NULL)
        new = afterwards(newest)
        seen = self.seen(key)
        is_new = seen == outline(new)
        assert status in (0, 200, 204)
        assert is_new or (seen == outline(old) and not status), (status, seen, outline(old), outline(new))
        assert sent == len(body) or seen == outline(old)
        self.model[key] = new if is_new else old
        return is_new

    # --- what should be -----------------------------------------------------------------------------------------------

    @invariant()
    def everything_agrees(self) -> None:
        if not hasattr(self, "client"):
            return
        expected = [
            (key, one.version, at == 0, one.content is None, len(one.content or b""), one.etag)
            for key in sorted(self.model, key=str.encode)
            for at, one in enumerate(self.model[key])
        ]
        unknown = {(key, one.version) for key, kept in self.model.items() for one in kept if not one.etag}
        seen = [(*one[:5], "" if (one[0], one[1]) in unknown else one[5]) for one in self.listed()]
        assert seen == expected
        objects = self.client.listObjects(self.bucket, encoding_type="url").body.contents
        assert [one.key for one in objects] == [one[0] for one in seen if one[2] and not one[3]]
        uploads = self.s3.list_multipart_uploads(Bucket=self.bucket).get("Uploads", [])
        open_uploads = sorted((one.key, one.upload_id) for one in self.uploads)
        assert sorted((one["Key"], one["UploadId"]) for one in uploads) == open_uploads

    def current(self, key: str) -> Kept | None:
        kept = self.model.get(key)
        return kept[0] if kept and kept[0].content is not None else None

    def before(self, key: str, newest: Kept) -> History:
        """The history with one more at its front."""
        kept = self.model.get(key, [])
        if self.versioning != "Enabled":
            kept = [one for one in kept if one.version != NULL]
        return [newest, *kept]

    def before_with(self, key: str, newest: Kept, version: str) -> History:
        return self.before(key, replace(newest, version=version))

    def place(self, key: str, newest: Kept) -> None:
        self.model[key] = self.before(key, newest)

    def deleted(self, key: str, version: str) -> History:
        return self.before(key, Kept(version, None)) if self.versioning else []

    def appended(self, key: str, content: bytes, version: str, metadata: str = "appended") -> History:
        present = self.current(key)
        if present is None:
            return self.before(key, Kept(version, content, metadata, is_appended=True))
        grown = replace(present, content=(present.content or b"") + content)
        return [grown, *self.model[key][1:]]

    def joined(self, upload: Upload, numbers: list[int], version: str) -> Kept:
        pieces = tuple(upload.parts[number] for number in numbers)
        return Kept(version, b"".join(pieces), "parts", pieces)

    # --- asking the Lab -----------------------------------------------------------------------------------------------

    def told(self, answer: Any) -> str:
        return str(dict(answer.header).get("version-id", NULL))

    def seen(self, key: str) -> Outline:
        """What `outline` gives of a history, from outside."""
        versions = [(version, is_marker) for one, version, _, is_marker, *_ in self.listed() if one == key]
        answer = self.client.getObject(self.bucket, key, loadStreamInMemory=True)
        if answer.status != 200:
            return versions, None, "", ""
        head = dict(answer.header)
        etag = "" if head.get("object-type") == "Appendable" else head["etag"].strip('"')
        return versions, answer.body.buffer or b"", head.get("m", "-"), etag

    def files(self) -> list[Path]:
        return [path for path in (self.lab.root / "obs" / "bodies").rglob("*") if path.is_file()]

    def listed(self) -> list[tuple[str, str, bool, bool, int, str]]:
        """Every version as boto3 sees it, in the order of the document."""
        answer = self.s3.list_object_versions(Bucket=self.bucket)
        found = [
            (one["Key"], one["VersionId"], one["IsLatest"], False, one["Size"], one["ETag"].strip('"'))
            for one in answer.get("Versions", [])
        ]
        found += [
            (one["Key"], one["VersionId"], one["IsLatest"], True, 0, "") for one in answer.get("DeleteMarkers", [])
        ]
        # Two lists came of one document, whose order the pages of versions show; here the histories give it.
        order = {
            (key, one.version): at for key, kept in getattr(self, "model", {}).items() for at, one in enumerate(kept)
        }
        return sorted(found, key=lambda one: (one[0].encode(), not one[2], order.get((one[0], one[1]), -1)))


def played_on_a_lab(root: Path, examples: int, steps: int) -> None:
    # A shorter story is not worth the minutes of restarts it takes to find.
    how = stories(examples, steps, phases=[Phase.generate])
    with LabProcess(root) as lab:
        s3 = s3_client(lab)
        run_state_machine_as_test(type("ObjectsOfThisLab", (Objects,), {"lab": lab, "s3": s3}), settings=how)
        s3.close()
        log = (root / "lab.log").read_text("utf-8")
        assert not re.findall(r"Traceback|failed", log + lab.error_text)


def test_objects_agree_with_a_dictionary(tmp_path: Path) -> None:
    played_on_a_lab(tmp_path / "root", examples=3, steps=60)


# In rounds, as no single test may take minutes.
@pytest.mark.long
@pytest.mark.parametrize("round_", range(8))
def test_objects_agree_with_a_dictionary_for_long(tmp_path: Path, round_: int) -> None:
    played_on_a_lab(tmp_path / "root", examples=20, steps=80)
