"""Python's own functions for local files, as they were before any script shifted them."""

import builtins
import glob
import os
import shutil


class local:
    """Held here, so that the stand-in never calls itself after a shift."""

    open = staticmethod(builtins.open)
    listdir = staticmethod(os.listdir)
    mkdir = staticmethod(os.mkdir)
    makedirs = staticmethod(os.makedirs)
    remove = staticmethod(os.remove)
    rename = staticmethod(os.rename)
    replace = staticmethod(os.replace)
    scandir = staticmethod(os.scandir)
    stat = staticmethod(os.stat)
    walk = staticmethod(os.walk)
    exists = staticmethod(os.path.exists)
    isdir = staticmethod(os.path.isdir)
    isfile = staticmethod(os.path.isfile)
    getsize = staticmethod(os.path.getsize)
    glob = staticmethod(glob.glob)
    copyfile = staticmethod(shutil.copyfile)
    copytree = staticmethod(shutil.copytree)
    move = staticmethod(shutil.move)
    rmtree = staticmethod(shutil.rmtree)
