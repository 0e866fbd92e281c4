"""Jobs from the form to the run: sending, following, acting on them."""
