"""What may go wrong on request; apart from how it does, for those who only name it."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What may go wrong."""

    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    ERROR = "error"
    LOST_REQUEST = "lost-request"
    LOST_ANSWER = "lost-answer"
    CUT_BODY = "cut-body"
    CLOCK_SKEW = "clock-skew"
    EXPIRED_KEY = "expired-key"
    SOLD_OUT = "sold-out"
    QUOTA = "quota"
    TIME_LIMIT = "time-limit"
