"""The Lab."""
