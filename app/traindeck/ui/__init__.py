"""Widgets: build, bind, nothing else."""
