"""What is moved, by which rules, and as what."""
