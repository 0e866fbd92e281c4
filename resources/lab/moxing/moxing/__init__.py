"""Stands in for MoXing inside jobs of the Lab: file operations on local paths and on the Lab's own OBS."""

from moxing.flags import get_flag, get_hyper_parameter, set_flag, set_hyper_parameter
from moxing.framework import file

__all__ = ["file", "get_flag", "get_hyper_parameter", "set_flag", "set_hyper_parameter"]
__version__ = "2.0.0+lab"
