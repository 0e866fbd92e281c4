"""Datasets: which layout one has, what is in it, and which of its samples make a small one."""
