"""Logs read for what they tell: from files, from runs, as they grow."""
