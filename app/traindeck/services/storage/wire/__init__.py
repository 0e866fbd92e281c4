"""The data plane: objects over our own HTTP connections, for many small files and few huge ones."""
