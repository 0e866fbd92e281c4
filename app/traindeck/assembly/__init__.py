"""Puts the services together, for the window and for the command line alike."""
