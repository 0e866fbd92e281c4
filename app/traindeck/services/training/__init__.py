"""Training back ends behind one port, a module per provider."""
