"""The place the file operations have in MoXing."""
