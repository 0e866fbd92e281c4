"""`traindeck job`."""
