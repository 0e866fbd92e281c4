"""What a row says that stands where a log on this disk is not what the service has."""

from __future__ import annotations

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, text
from traindeck.services.logs.log_notes import BeganAnew, CutByCloud, Gap, LogMark, Repaired


def mark_words(mark: LogMark) -> Text:
    match mark:
        case Gap():
            missing = size_words(mark.missing)
            return text("— {size} missing here: no longer available from the service —", size=missing)
        case Repaired():
            length = size_words(mark.length)
            return text("— {size} from here came as text: what is not UTF-8 was replaced —", size=length)
        case BeganAnew():
            return text("— the service started this log anew; the old one is kept next to it —")
        case CutByCloud():
            return text("— the cloud cuts logs here, at {size}; the job goes on —", size=size_words(mark.offset))
    return text("— the service no longer has this log; it keeps logs for 30 days —")
