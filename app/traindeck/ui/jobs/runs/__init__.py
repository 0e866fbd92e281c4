"""Runs: the list of them, a page for each, and what is done with them."""
