"""Looking at datasets, and making small ones of large ones."""
