"""The job form and the runs."""
