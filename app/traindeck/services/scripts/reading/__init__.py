"""What the code of a script says, found out by following it without running it."""
