"""The dialog of small datasets, and the report of one."""
