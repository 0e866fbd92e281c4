"""What jobs cost: what is charged now, the month, the prices."""
