"""Many small files as a few tar archives, and back."""
