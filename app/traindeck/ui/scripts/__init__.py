"""Dialogs about the scripts of a job."""
