"""What GetObjectAttributes tells of an object: the parts of an answer to HEAD that are asked for, as a document."""

from __future__ import annotations

from collections.abc import Sequence

from traindeck.lab.obs.errors import InvalidArgument
from traindeck.lab.obs.object_headers import shown_class
from traindeck.lab.obs.records import ObjectInfo, whole_number
from traindeck.lab.obs.request import ObsRequest, element, elements
from traindeck.lab.obs.uploads import MAX_PARTS

_NAMES = ("ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize")
_MOST_PARTS = 1000


def attributes_xml(request: ObsRequest, info: ObjectInfo, sizes: Sequence[int]) -> str:
    """`sizes`: of the pieces the object was made of."""
    text = request.ours("object-attributes") or ""
    wanted = {name.strip() for name in text.split(",") if name.strip()}
    if not wanted or not wanted.issubset(_NAMES):
        message = "The x-amz-object-attributes header is missing, empty, or names an attribute that there is not."
        raise InvalidArgument("x-amz-object-attributes", text, message)
    traits = info.traits
    told = {
        "ETag": element("ETag", info.etag),
        "Checksum": _checksum(info),
        "ObjectParts": _parts(request, sizes) if "-" in info.etag else "",
        "StorageClass": element("StorageClass", shown_class(traits.storage_class, request.dialect)),
        "ObjectSize": elements(ObjectSize=info.size),
    }
    return "".join(told[name] for name in _NAMES if name in wanted)


def _checksum(info: ObjectInfo) -> str:
    traits = info.traits
    if not traits.checksums:
        return ""
    values = "".join(element(f"Checksum{name.upper()}", value) for name, value in traits.checksums.items())
    kind = element("ChecksumType", traits.checksum_type or "FULL_OBJECT")
    return f"<Checksum>{values}{kind}</Checksum>"


def _parts(request: ObsRequest, sizes: Sequence[int]) -> str:
    marker, most = _number(request, "part-number-marker", 0), _number(request, "max-parts", _MOST_PARTS)
    page = list(enumerate(sizes, start=1))[marker : marker + min(most, _MOST_PARTS)]
    last = page[-1][0] if page else marker
    numbers = elements(
        PartsCount=len(sizes), PartNumberMarker=marker, NextPartNumberMarker=last, MaxParts=most,
        IsTruncated=last < len(sizes),
    )  # fmt: skip
    rows = "".join(f"<Part>{elements(PartNumber=number, Size=size)}</Part>" for number, size in page)
    return f"<ObjectParts>{numbers}{rows}</ObjectParts>"


def _number(request: ObsRequest, name: str, usual: int) -> int:
    text = request.ours(name)
    number = usual if not text else whole_number(text, MAX_PARTS)
    if number is None:
        raise InvalidArgument(name, text or "")
    return number
