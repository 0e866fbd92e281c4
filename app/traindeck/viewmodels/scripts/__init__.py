"""Fixes of the scripts of the job that is being filled in."""
