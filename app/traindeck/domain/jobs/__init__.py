"""Training jobs and the files that describe them."""
