"""What the desktop around the window offers."""
