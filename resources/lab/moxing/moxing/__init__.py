"""Stands in for MoXing inside jobs of the Lab: file operations on local paths and on the Lab's own OBS."""

from moxing.framework import file

__all__ = ["file"]
__version__ = "2.0.0+lab"
