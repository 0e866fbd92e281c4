"""Fixes of scripts: each looks at a tree of files and says what they would become."""
