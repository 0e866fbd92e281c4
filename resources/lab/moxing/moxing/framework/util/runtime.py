"""What scripts change of MoXing itself."""

import logging


class MoxTimeoutError(Exception):
    """The original raises it when a call takes too long."""


def reset_logger(level=logging.INFO):
    """Set the level of all messages; the stand-in has no handlers to take away."""
    logging.getLogger().setLevel(level)
