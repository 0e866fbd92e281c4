"""What TrainDeck is about: pure records and rules, with no Qt, no SDK, no files."""
