"""What is known of a script without running it."""
