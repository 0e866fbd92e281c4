"""The form: its fields, its file, its templates, and what is wrong with them."""
