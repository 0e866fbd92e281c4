"""The logs of runs on this computer."""
