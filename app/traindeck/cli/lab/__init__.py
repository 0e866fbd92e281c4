"""`traindeck lab`."""
