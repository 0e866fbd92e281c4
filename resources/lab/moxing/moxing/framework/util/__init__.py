"""The helpers of MoXing that scripts import beside the file operations."""
