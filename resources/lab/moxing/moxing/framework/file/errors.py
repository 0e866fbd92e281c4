"""What can go wrong, under the names scripts catch it by."""

import errno


class MoxFileRespException(Exception):
    """OBS refused; `resp` holds its status and its words."""

    def __init__(self, resp, *args):
        super().__init__(resp, *args)
        self.resp = resp

    def __str__(self):
        return f"OBS answered {self.resp}"


class MoxFileReadException(MoxFileRespException):
    """The answer broke off."""


class MoxFileNotExistsException(FileNotFoundError, MoxFileRespException):
    """There is no such file or folder."""

    def __new__(cls, url):
        return FileNotFoundError.__new__(cls, errno.ENOENT, "No such file or directory", str(url))

    def __init__(self, url):
        FileNotFoundError.__init__(self, errno.ENOENT, "No such file or directory", str(url))
        self.resp = None

    __str__ = FileNotFoundError.__str__


class MoxFileNameDuplicateException(Exception):
    """One name is both a file and a folder, which OBS allows and a disk does not."""
