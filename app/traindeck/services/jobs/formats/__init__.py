"""Job forms as other programs write them."""
