"""The name scripts for PyTorch import MoXing by; of it, the file operations and the flags are here."""

from moxing.flags import get_flag, get_hyper_parameter, set_flag, set_hyper_parameter
from moxing.framework import file

__all__ = ["file", "get_flag", "get_hyper_parameter", "set_flag", "set_hyper_parameter"]
