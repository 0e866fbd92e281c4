"""The name older scripts import MoXing by; of it, the file operations alone are here."""

from moxing.framework import file

__all__ = ["file"]
