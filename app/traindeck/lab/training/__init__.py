"""The Lab's IAM and ModelArts, and the runner of their jobs."""
