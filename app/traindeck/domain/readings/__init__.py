"""What a log tells of a training: where it is, what it measures, why it failed."""
