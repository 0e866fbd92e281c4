"""The Lab: a cloud in a box on loopback, with a wire of its own."""
