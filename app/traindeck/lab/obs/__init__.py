"""The Lab's object storage: its bodies on disk, its index, its dialect of HTTP."""
