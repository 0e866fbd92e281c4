"""`traindeck profile`."""
