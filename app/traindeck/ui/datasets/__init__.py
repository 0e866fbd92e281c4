"""Small datasets and reports, as the window shows them."""
