"""State and intents of one panel each; QtCore only."""
