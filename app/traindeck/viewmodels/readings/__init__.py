"""What the logs of runs tell, for those who look at it."""
