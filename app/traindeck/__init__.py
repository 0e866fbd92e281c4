"""TrainDeck: one window for training on ModelArts, on Apulis, or on your own laptop."""

__version__ = "0.1.0"
