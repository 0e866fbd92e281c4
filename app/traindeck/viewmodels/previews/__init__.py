"""Previews."""
