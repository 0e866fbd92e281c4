"""What TrainDeck does, one concern a module; SDKs live here and nowhere else."""
