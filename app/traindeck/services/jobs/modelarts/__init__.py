"""ModelArts as a target."""
