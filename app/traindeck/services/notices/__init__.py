"""What is told without being asked for."""
