"""Previews: what is in an object, found out by reading as little of it as possible."""
