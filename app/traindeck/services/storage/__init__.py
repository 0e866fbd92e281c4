"""Object storage behind one port, a module per provider."""
