"""The job form."""
