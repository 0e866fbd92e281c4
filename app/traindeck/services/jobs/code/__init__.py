"""The code of a run: gathered, kept by content, sent, compared and cleaned up."""
