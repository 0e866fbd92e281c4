"""The module behind the file operations; scripts set its switches for large files, which change nothing here."""

from moxing.framework.file import *  # noqa: F403

_LARGE_FILE_METHOD = 1
_LARGE_FILE_TASK_NUM = 1
_NUMBER_OF_PROCESSES = 1
