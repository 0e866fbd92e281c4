"""The place the file operations have in MoXing."""

from moxing.framework import file

__all__ = ["file"]
