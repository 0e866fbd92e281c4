"""Buckets and objects: what they are called, what is set for them, who may reach them."""
