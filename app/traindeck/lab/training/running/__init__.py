"""A job from accepted to ended."""
