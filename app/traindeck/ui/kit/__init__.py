"""What all widgets are made of."""
