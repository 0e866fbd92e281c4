"""Dates as no server should write them in Date, Last-Modified and Retry-After."""

_DAY = "Sun, 06 Nov 1994 08:49:37"

ODD_DATES = (
    "",
    "soon",
    "120",
    "Sun, 99 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 GMT",
    "Sun, 06 Nov 1994 25:61:61 GMT",
    "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Nov 10000 08:49:37 GMT",
    f"{_DAY} +2400",
    f"{_DAY} -2400",
    f"{_DAY} +9999",
    f"{_DAY} -9999",
    f"{_DAY} +99999999",
    f"{_DAY} +" + "9" * 30,
    f"{_DAY} -" + "9" * 5000,
    f"{_DAY} +" + "9" * 400,
    "Sun, 06 Nov " + "9" * 40 + " 08:49:37 GMT",
    "Sun, " + "9" * 40 + " Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 " + "9" * 40 + ":00:00 GMT",
    ",,,,,, :::: ++++",
    "\x00" * 20,
    "Sun, 06 Nov 1994 08:49:37 " * 2000,
)
FAR_DATES = (
    "Mon, 01 Jan 0001 00:00:00 GMT",
    "Mon, 01 Jan 0101 00:00:00 +2359",
    "Fri, 31 Dec 9999 23:59:59 GMT",
    "Fri, 31 Dec 9999 23:59:59 -2359",
    "Thu, 01 Jan 1950 00:00:00 GMT",
)


def ascii_start(words: str) -> str:
    """The name of a case."""
    return ascii(words[:40])
